//! What a host waits on: a descriptor that is readable while the port has something for it.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// A connected pair of sockets; a byte in flight means "come and drain". Sockets rather than a pipe because std can make
/// them non-blocking: a host that reads the byte by mistake, or a forked child that shares the descriptor, must not make
/// [`Wake::clear`] hang.
pub(crate) struct Wake {
    reader: UnixStream,
    writer: UnixStream,
}

impl Wake {
    pub(crate) fn new() -> std::io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        reader.set_nonblocking(true)?;
        writer.set_nonblocking(true)?;
        Ok(Self { reader, writer })
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.reader.as_raw_fd()
    }

    /// Makes the descriptor readable. The queue rings at most once between two clears, so there is always room; should a
    /// host have closed the descriptor under us there is nobody left to wake.
    pub(crate) fn ring(&self) {
        while let Err(error) = (&self.writer).write(&[1]) {
            if error.kind() != ErrorKind::Interrupted {
                return;
            }
        }
    }

    /// Takes the byte back: the descriptor is not readable any more.
    pub(crate) fn clear(&self) {
        while let Err(error) = (&self.reader).read(&mut [0; 8]) {
            if error.kind() != ErrorKind::Interrupted {
                return;
            }
        }
    }
}
