//! TCP and Unix-domain sockets that send with a flag against SIGPIPE.

use std::io::{self, IoSlice, Read, Write};
use std::net::TcpStream as BlockingTcp;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream as BlockingUnix;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

#[cfg(feature = "tls")]
use rustix::net::{RecvFlags, recv};
use rustix::net::{SendAncillaryBuffer, SendFlags, send, sendmsg};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

// Where there is no such flag, std has set SO_NOSIGPIPE on the socket.
#[cfg(target_vendor = "apple")]
const QUIETLY: SendFlags = SendFlags::empty();
#[cfg(not(target_vendor = "apple"))]
const QUIETLY: SendFlags = SendFlags::NOSIGNAL;

/// Sends without SIGPIPE: a host that has not ignored that signal must survive a server that goes away. `write` raises it, and
/// so do std's `UnixStream` and every vectored write.
fn send_quietly(socket: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    Ok(send(socket, bytes, QUIETLY)?)
}

/// The same for several pieces. TLS has a record of its own for each message of a handshake: sent one by one, a server that
/// refuses the first would answer the second with a reset, and with that its reason would be lost.
fn send_all_quietly(socket: impl AsFd, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
    Ok(sendmsg(socket, pieces, &mut SendAncillaryBuffer::default(), QUIETLY)?)
}

/// A socket of the runtime.
pub(in super::super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl From<TcpStream> for Socket {
    fn from(socket: TcpStream) -> Socket {
        Socket::Tcp(socket)
    }
}

impl AsyncRead for Socket {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(socket) => Pin::new(socket).poll_read(context, buffer),
            Socket::Unix(socket) => Pin::new(socket).poll_read(context, buffer),
        }
    }
}

impl Socket {
    /// Connects to a socket of this machine.
    pub(in super::super) async fn local(path: &Path) -> io::Result<Socket> {
        Ok(Socket::Unix(UnixStream::connect(path).await?))
    }

    /// Reads what has arrived, without waiting for more.
    #[cfg(feature = "tls")]
    pub(in super::super) fn arrived(&self) -> impl Read + '_ {
        Arrived(match self {
            Socket::Tcp(socket) => socket.as_fd(),
            Socket::Unix(socket) => socket.as_fd(),
        })
    }

    /// Sends as soon as the socket takes something.
    fn poll_send(
        &self,
        context: &mut Context<'_>,
        send: impl Fn(BorrowedFd<'_>) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let sent = match self {
                Socket::Tcp(socket) => {
                    ready!(socket.poll_write_ready(context))?;
                    socket.try_io(Interest::WRITABLE, || send(socket.as_fd()))
                }
                Socket::Unix(socket) => {
                    ready!(socket.poll_write_ready(context))?;
                    socket.try_io(Interest::WRITABLE, || send(socket.as_fd()))
                }
            };
            match sent {
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
                other => return Poll::Ready(other),
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_send(context, |socket| send_quietly(socket, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_send(context, |socket| send_all_quietly(socket, pieces))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Socket::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
            Socket::Unix(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}

#[cfg(feature = "tls")]
struct Arrived<'a>(BorrowedFd<'a>);

#[cfg(feature = "tls")]
impl Read for Arrived<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(recv(self.0, buffer, RecvFlags::DONTWAIT)?.0)
    }
}

/// A socket of a thread that blocks.
pub(in super::super) enum BlockingSocket {
    Tcp(BlockingTcp),
    Unix(BlockingUnix),
}

impl From<BlockingTcp> for BlockingSocket {
    fn from(socket: BlockingTcp) -> BlockingSocket {
        BlockingSocket::Tcp(socket)
    }
}

impl BlockingSocket {
    /// Connects to a socket of this machine.
    pub(in super::super) fn local(path: &Path) -> io::Result<BlockingSocket> {
        Ok(BlockingSocket::Unix(BlockingUnix::connect(path)?))
    }

    pub(in super::super) fn set_timeouts(&self, limit: Duration) -> io::Result<()> {
        match self {
            BlockingSocket::Tcp(socket) => {
                socket.set_read_timeout(Some(limit)).and(socket.set_write_timeout(Some(limit)))
            }
            BlockingSocket::Unix(socket) => {
                socket.set_read_timeout(Some(limit)).and(socket.set_write_timeout(Some(limit)))
            }
        }
    }

    pub(in super::super) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        match self {
            BlockingSocket::Tcp(socket) => socket.set_nonblocking(on),
            BlockingSocket::Unix(socket) => socket.set_nonblocking(on),
        }
    }
}

impl AsFd for BlockingSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            BlockingSocket::Tcp(socket) => socket.as_fd(),
            BlockingSocket::Unix(socket) => socket.as_fd(),
        }
    }
}

impl Read for BlockingSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            BlockingSocket::Tcp(socket) => socket.read(buffer),
            BlockingSocket::Unix(socket) => socket.read(buffer),
        }
    }
}

impl Write for BlockingSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        send_quietly(self, bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        send_all_quietly(self, pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
