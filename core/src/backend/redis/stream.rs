//! What the protocol is read from and written to, for both kinds of connection: a reply of absurd size ends the connection
//! before it takes memory. What is counted are the bytes of the protocol, behind TLS.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::bounded::Bounded;
use super::framing::{Absurd, Framing};
use super::tls::Fault;
use super::transport::{BlockingTransport, Transport};

/// Why a connection was ended from this side; for those who only hear that it ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Cause(Arc<OnceLock<Why>>);

#[derive(Debug)]
enum Why {
    Absurd(Absurd),
    Tls(Fault),
}

impl Cause {
    /// How the connection ended, to stand behind the server's name.
    pub(super) fn how(&self) -> &str {
        match self.0.get() {
            Some(Why::Absurd(absurd)) => absurd.how(),
            Some(Why::Tls(fault)) => fault.how(),
            None => "closed the connection",
        }
    }

    fn note(&self, why: Why) {
        // The first one is the cause of those that follow.
        let _ = self.0.set(why);
    }
}

/// What the redis crate reads from and writes to.
pub(super) struct Stream {
    transport: Transport,
    framing: Framing,
    cause: Cause,
}

impl Stream {
    pub(super) fn new(transport: Transport, cause: Cause) -> Stream {
        Stream { transport, framing: Framing::default(), cause }
    }

    fn failed(&self, error: io::Error) -> io::Error {
        if let Some(fault) = Fault::of(&error) {
            self.cause.note(Why::Tls(fault.clone()));
        }
        error
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut stream.transport).poll_read(context, buffer)).map_err(|error| stream.failed(error))?;
        if let Err(absurd) = stream.framing.feed(&buffer.filled()[before..]) {
            buffer.set_filled(before);
            stream.cause.note(Why::Absurd(absurd));
            return Poll::Ready(Err(absurd.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stream = self.get_mut();
        Pin::new(&mut stream.transport).poll_write(context, bytes).map_err(|error| stream.failed(error))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        Pin::new(&mut stream.transport).poll_flush(context).map_err(|error| stream.failed(error))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().transport).poll_shutdown(context)
    }
}

/// The same for a thread that blocks.
pub(super) struct BlockingStream {
    transport: BlockingTransport,
    framing: Framing,
}

impl BlockingStream {
    pub(super) fn new(transport: BlockingTransport) -> BlockingStream {
        BlockingStream { transport, framing: Framing::default() }
    }

    pub(super) fn socket(&mut self) -> &mut Bounded {
        self.transport.socket()
    }
}

impl Read for BlockingStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.transport.read(buffer)?;
        self.framing.feed(&buffer[..length])?;
        Ok(length)
    }
}

impl Write for BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.transport.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.transport.flush()
    }
}
