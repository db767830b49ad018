//! TCP alone, by std and tokio: Windows has no SIGPIPE, and neither of the two has its Unix-domain sockets.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream as BlockingTcp;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// A socket of the runtime.
pub(in super::super) struct Socket(TcpStream);

impl From<TcpStream> for Socket {
    fn from(socket: TcpStream) -> Socket {
        Socket(socket)
    }
}

impl Socket {
    /// There is none; the URL was refused already.
    pub(in super::super) async fn local(_path: &Path) -> io::Result<Socket> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(feature = "tls")]
impl Socket {
    /// Reads what has arrived, as far as the runtime knows, without waiting for more.
    pub(in super::super) fn arrived(&self) -> impl Read + '_ {
        Arrived(&self.0)
    }
}

#[cfg(feature = "tls")]
struct Arrived<'a>(&'a TcpStream);

#[cfg(feature = "tls")]
impl Read for Arrived<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(buffer)
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().0).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().0).poll_shutdown(context)
    }
}

/// A socket of a thread that blocks.
pub(in super::super) struct BlockingSocket(BlockingTcp);

impl From<BlockingTcp> for BlockingSocket {
    fn from(socket: BlockingTcp) -> BlockingSocket {
        BlockingSocket(socket)
    }
}

impl BlockingSocket {
    /// There is none; the URL was refused already.
    pub(in super::super) fn local(_path: &Path) -> io::Result<BlockingSocket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(in super::super) fn set_timeouts(&self, limit: Duration) -> io::Result<()> {
        self.0.set_read_timeout(Some(limit)).and(self.0.set_write_timeout(Some(limit)))
    }

    pub(in super::super) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.0.set_nonblocking(on)
    }
}

impl Read for BlockingSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for BlockingSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
