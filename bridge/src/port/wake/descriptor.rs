//! A descriptor that a host can poll, made readable and not readable again.

use std::io::{self, ErrorKind, Read};
#[cfg(windows)]
use std::net::{Ipv4Addr, TcpListener, TcpStream};
#[cfg(unix)]
use std::os::fd::AsRawFd;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(windows)]
use std::os::windows::io::AsRawSocket;

#[cfg(unix)]
type Stream = UnixStream;
#[cfg(windows)]
type Stream = TcpStream;

/// A connected pair of sockets; a byte in flight means "come and drain". Sockets rather than a pipe because std can make
/// them non-blocking: a host that reads the byte by mistake, or a forked child that shares the descriptor, must not make
/// [`Wake::clear`] hang.
pub(crate) struct Descriptor {
    reader: Stream,
    writer: Stream,
}

impl Descriptor {
    pub(crate) fn new() -> io::Result<Self> {
        let (reader, writer) = pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { reader, writer })
    }

    /// What a host polls.
    pub(crate) fn fd(&self) -> i32 {
        #[cfg(unix)]
        return self.reader.as_raw_fd();
        // Of a handle of Windows 32 bits count.
        #[cfg(windows)]
        return self.reader.as_raw_socket() as i32;
    }

    /// Makes the descriptor readable. The queue rings at most once between two clears, so there is always room; should a
    /// host have closed the descriptor under us there is nobody left to wake.
    pub(super) fn ring(&self) {
        while send(&self.writer).is_err_and(|error| error.kind() == ErrorKind::Interrupted) {}
    }

    /// Takes the byte back: the descriptor is not readable any more.
    pub(super) fn clear(&self) {
        while let Err(error) = (&self.reader).read(&mut [0; 8]) {
            if error.kind() != ErrorKind::Interrupted {
                return;
            }
        }
    }
}

#[cfg(unix)]
fn pair() -> io::Result<(Stream, Stream)> {
    UnixStream::pair()
}

/// Over the loopback, as what a host polls on Windows are sockets.
#[cfg(windows)]
fn pair() -> io::Result<(Stream, Stream)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let writer = TcpStream::connect(listener.local_addr()?)?;
    writer.set_nodelay(true)?;
    let ours = writer.local_addr()?;
    // Another process may connect to the port, too, before the listener is gone.
    for _ in 0..100 {
        let (reader, from) = listener.accept()?;
        if from == ours {
            return Ok((reader, writer));
        }
    }
    Err(ErrorKind::ConnectionRefused.into())
}

/// Not by `write`, which raises SIGPIPE in a host that has closed the descriptor.
#[cfg(unix)]
fn send(writer: &Stream) -> io::Result<usize> {
    use rustix::net::SendFlags;
    #[cfg(target_vendor = "apple")]
    let flags = SendFlags::empty();
    #[cfg(not(target_vendor = "apple"))]
    let flags = SendFlags::NOSIGNAL;
    Ok(rustix::net::send(writer, &[1], flags)?)
}

#[cfg(windows)]
fn send(mut writer: &Stream) -> io::Result<usize> {
    io::Write::write(&mut writer, &[1])
}
