//! How a port tells its host to come and drain. A port has one of three ways, chosen for what the host can wait on.

use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::sync::lock;

/// Rung by the queue when it gets its first item, cleared when its last one is taken: at most one wake-up is under way.
pub(crate) enum Wake {
    /// A descriptor to poll: event loops (asyncio) and C.
    Descriptor(Descriptor),
    /// A thread of the host sleeps in the port: Java.
    Parked(Parked),
    /// A function that signals the host's loop: Node. It is called with the queue locked, by whatever thread completed an
    /// operation, so it may do nothing but signal.
    Calling(Box<dyn Fn() + Send + Sync>),
}

impl Wake {
    pub(crate) fn ring(&self) {
        match self {
            Self::Descriptor(descriptor) => descriptor.ring(),
            Self::Parked(parked) => parked.ring(),
            Self::Calling(call) => call(),
        }
    }

    pub(crate) fn clear(&self) {
        match self {
            Self::Descriptor(descriptor) => descriptor.clear(),
            Self::Parked(parked) => parked.clear(),
            // A host that comes and finds nothing goes again.
            Self::Calling(_) => {}
        }
    }
}

/// A connected pair of sockets; a byte in flight means "come and drain". Sockets rather than a pipe because std can make
/// them non-blocking: a host that reads the byte by mistake, or a forked child that shares the descriptor, must not make
/// [`Wake::clear`] hang.
pub(crate) struct Descriptor {
    reader: UnixStream,
    writer: UnixStream,
}

impl Descriptor {
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
    fn ring(&self) {
        // Not by `write`, which raises SIGPIPE in such a host.
        #[cfg(target_vendor = "apple")]
        let flags = SendFlags::empty();
        #[cfg(not(target_vendor = "apple"))]
        let flags = SendFlags::NOSIGNAL;
        while let Err(Errno::INTR) = send(&self.writer, &[1], flags) {}
    }

    /// Takes the byte back: the descriptor is not readable any more.
    fn clear(&self) {
        while let Err(error) = (&self.reader).read(&mut [0; 8]) {
            if error.kind() != ErrorKind::Interrupted {
                return;
            }
        }
    }
}

/// What a host's thread sleeps on: a futex, half the price of a socket.
#[derive(Default)]
pub(crate) struct Parked {
    rung: Mutex<bool>,
    changed: Condvar,
}

impl Parked {
    fn ring(&self) {
        *lock(&self.rung) = true;
        self.changed.notify_all();
    }

    fn clear(&self) {
        *lock(&self.rung) = false;
    }

    /// Sleeps until rung, at most until `deadline`; says whether it was.
    pub(crate) fn sleep(&self, deadline: Option<Instant>) -> bool {
        let mut rung = lock(&self.rung);
        while !*rung {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            rung = match left {
                None => self.changed.wait(rung).unwrap_or_else(std::sync::PoisonError::into_inner),
                Some(Duration::ZERO) => return false,
                Some(left) => {
                    self.changed.wait_timeout(rung, left).unwrap_or_else(std::sync::PoisonError::into_inner).0
                }
            };
        }
        true
    }
}
