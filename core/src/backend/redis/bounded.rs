//! A blocking socket that is read for so long and no longer, also when a signal interrupts it or the answer comes in pieces.

use std::io::{self, IoSlice, Read, Write};
use std::time::Duration;

use super::quiet::BlockingSocket;
use crate::time::{Clock, Tick};

/// The socket below TLS, if there is TLS: a record may come in pieces, too.
pub(super) struct Bounded {
    socket: BlockingSocket,
    patience: Duration,
    clock: Clock,
    since: Tick,
    reads: u32,
}

impl Bounded {
    pub(super) fn new(socket: BlockingSocket, patience: Duration, clock: &Clock) -> io::Result<Bounded> {
        socket.set_timeouts(patience)?;
        Ok(Bounded { socket, patience, clock: clock.clone(), since: clock.now(), reads: 0 })
    }

    /// From `now` on the present patience is counted.
    pub(super) fn begin(&mut self, now: Tick) {
        (self.since, self.reads) = (now, 0);
    }

    /// The former patience.
    pub(super) fn set_patience(&mut self, patience: Duration) -> io::Result<Duration> {
        self.socket.set_timeouts(patience)?;
        Ok(std::mem::replace(&mut self.patience, patience))
    }

    pub(super) fn set_nonblocking(&self, on: bool) -> io::Result<()> {
        self.socket.set_nonblocking(on)
    }
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            // The first read has the socket's own time-out, which is as long.
            if self.reads > 0 && self.clock.now().since(self.since) >= self.patience {
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.reads += 1;
            match self.socket.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.write(bytes)
    }

    fn write_vectored(&mut self, pieces: &[IoSlice<'_>]) -> io::Result<usize> {
        self.socket.write_vectored(pieces)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
