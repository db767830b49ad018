//! The sockets under both kinds of connection. They differ from those of std and tokio in two ways: no write raises SIGPIPE,
//! and a reply of absurd size ends the connection before it takes memory.

use std::io::{self, Read, Write};
use std::net::TcpStream as BlockingTcp;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as BlockingUnix;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::{SendFlags, send};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use super::framing::{Absurd, Framing};

/// Sends without SIGPIPE: a host that has not ignored that signal must survive a server that goes away. `write` raises it, and
/// so do std's `UnixStream` and every vectored write.
fn send_quietly(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    // Where there is no such flag, std has set SO_NOSIGPIPE on the socket.
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    Ok(send(socket, bytes, flags)?)
}

/// What a connection's own end was about, when its bytes made no sense; for the task that only hears that it ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Cause(Arc<OnceLock<Absurd>>);

impl Cause {
    /// How the connection ended, to stand behind the server's name.
    pub(super) fn how(&self) -> &'static str {
        self.0.get().map_or("closed the connection", |absurd| absurd.how())
    }
}

/// A socket of the runtime.
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

/// What the redis crate reads from and writes to.
pub(super) struct Stream {
    socket: Socket,
    framing: Framing,
    cause: Cause,
}

impl Stream {
    pub(super) fn new(socket: Socket, cause: Cause) -> Stream {
        Stream { socket, framing: Framing::default(), cause }
    }
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let stream = self.get_mut();
        let before = buffer.filled().len();
        ready!(match &mut stream.socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_read(context, buffer),
            Socket::Unix(socket) => Pin::new(socket).poll_read(context, buffer),
        })?;
        if let Err(absurd) = stream.framing.feed(&buffer.filled()[before..]) {
            buffer.set_filled(before);
            let _ = stream.cause.0.set(absurd);
            return Poll::Ready(Err(absurd.into()));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            let sent = match &self.socket {
                Socket::Tcp(socket) => {
                    ready!(socket.poll_write_ready(context))?;
                    socket.try_io(Interest::WRITABLE, || send_quietly(socket, bytes))
                }
                Socket::Unix(socket) => {
                    ready!(socket.poll_write_ready(context))?;
                    socket.try_io(Interest::WRITABLE, || send_quietly(socket, bytes))
                }
            };
            match sent {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                other => return Poll::Ready(other),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().socket {
            Socket::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
            Socket::Unix(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}

/// The same for a thread that blocks.
pub(super) struct BlockingStream {
    socket: BlockingSocket,
    framing: Framing,
}

pub(super) enum BlockingSocket {
    Tcp(BlockingTcp),
    Unix(BlockingUnix),
}

impl BlockingStream {
    pub(super) fn new(socket: BlockingSocket) -> BlockingStream {
        BlockingStream { socket, framing: Framing::default() }
    }

    pub(super) fn set_timeouts(&self, limit: Duration) -> io::Result<()> {
        match &self.socket {
            BlockingSocket::Tcp(socket) => {
                socket.set_read_timeout(Some(limit)).and(socket.set_write_timeout(Some(limit)))
            }
            BlockingSocket::Unix(socket) => {
                socket.set_read_timeout(Some(limit)).and(socket.set_write_timeout(Some(limit)))
            }
        }
    }

    pub(super) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match &self.socket {
            BlockingSocket::Tcp(socket) => socket.set_nonblocking(on),
            BlockingSocket::Unix(socket) => socket.set_nonblocking(on),
        }
    }
}

impl Read for BlockingStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = match &mut self.socket {
            BlockingSocket::Tcp(socket) => socket.read(buffer),
            BlockingSocket::Unix(socket) => socket.read(buffer),
        }?;
        self.framing.feed(&buffer[..length])?;
        Ok(length)
    }
}

impl Write for BlockingStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &self.socket {
            BlockingSocket::Tcp(socket) => send_quietly(socket, bytes),
            BlockingSocket::Unix(socket) => send_quietly(socket, bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
