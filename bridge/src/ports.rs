//! Completion ports over their handles: made, drained, closed.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use libdlock::{Error, ErrorKind, Result};

use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::outcome::{Granted, Outcome};
use crate::port::wake::{Descriptor, Parked, Wake};
use crate::port::{Completion, PortEntry, What};
use crate::state::State;

impl HandleEnd for PortEntry {
    /// Operations under way are cancelled without a completion, completions that nobody drained are undone.
    fn freed(self: Arc<Self>, state: &'static State, port: Handle) -> Result<()> {
        self.closed.store(true, Ordering::SeqCst);
        let abandoned = state.abandon_operations(port);
        // In any case: what completes now finds no queue, and is undone.
        state.close_port(&self);
        abandoned
    }
}

impl State {
    /// A new port with a descriptor to poll, see [`State::port_fd`].
    ///
    /// # Errors
    /// `Internal` when the process has no descriptor left.
    pub fn port_new(&self) -> Result<Handle> {
        let descriptor = Descriptor::new().map_err(|error| {
            Error::new(ErrorKind::Internal, "port", format!("no descriptor for a completion port: {error}"))
        })?;
        self.port_with(Wake::Descriptor(descriptor))
    }

    /// A new port for a host that leaves a thread of its own in [`State::drain_wait`].
    pub fn port_parked(&self) -> Result<Handle> {
        self.port_with(Wake::Parked(Parked::default()))
    }

    /// A new port that calls `signal` when it gets something while it was empty, once for all that comes until it is empty
    /// again: so the host must then drain everything. `signal` runs on any thread, with the port locked: it must neither
    /// block nor call the library.
    pub fn port_calling(&self, signal: Box<dyn Fn() + Send + Sync>) -> Result<Handle> {
        self.port_with(Wake::Calling(signal))
    }

    fn port_with(&self, wake: Wake) -> Result<Handle> {
        self.insert(Arc::new(PortEntry::new(wake)))
    }

    /// The descriptor to poll (a socket on Windows): readable while the port has completions. Never read from it, never close it.
    ///
    /// # Errors
    /// `InvalidArgument` for a port that was made without one.
    pub fn port_fd(&self, port: Handle) -> Result<i32> {
        match self.port(port)?.queue.wake() {
            Wake::Descriptor(descriptor) => Ok(descriptor.fd()),
            Wake::Parked(_) | Wake::Calling(_) => Err(other_wake("a descriptor")),
        }
    }

    /// As [`State::drain`], but the calling thread sleeps until there is something, at most for `timeout` (none: for ever).
    ///
    /// # Errors
    /// `Closed` as soon as the port is freed; `InvalidArgument` for a port that was not made by [`State::port_parked`].
    pub fn drain_wait(&self, port: Handle, max: usize, timeout: Option<Duration>) -> Result<Vec<Completion>> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let entry = self.port(port)?;
        let Wake::Parked(parked) = entry.queue.wake() else {
            return Err(other_wake("a thread to wake"));
        };
        loop {
            let rung = parked.sleep(deadline);
            let taken = self.drain(port, max)?;
            // Another thread may have drained what rang.
            if !rung || !taken.is_empty() {
                return Ok(taken);
            }
        }
    }

    /// Takes up to `max` completions, oldest first; none is an answer. What a completion carries (a held lock, a client)
    /// belongs to the host from here on.
    pub fn drain(&self, port: Handle, max: usize) -> Result<Vec<Completion>> {
        Ok(self.port(port)?.take(max))
    }

    /// Closes the queue of a port that is no longer in the table.
    pub(crate) fn close_port(&'static self, port: &PortEntry) {
        port.queue.close().into_iter().for_each(|completion| self.undo_completion(completion));
    }

    pub(crate) fn port(&self, port: Handle) -> Result<Arc<PortEntry>> {
        self.get(port, "port")
    }

    /// Lets go of what a completion that nobody gets has brought.
    pub(crate) fn undo_completion(&'static self, completion: Completion) {
        let What::Done(Ok(outcome)) = completion.what else {
            return;
        };
        outcome.handles().for_each(|handle| self.undo(handle));
        if let Outcome::Granted(granted) = outcome {
            self.give_back(granted);
        }
    }

    /// Brings back permits of a counting semaphore that did not reach their caller. The release has begun when this returns:
    /// a client that is closed next carries it out.
    pub fn give_back(&'static self, granted: Granted) {
        let mut release = Box::pin(granted.give_back());
        let begun = self.within(|| release.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
        if !begun.is_ok_and(|done| done) {
            self.spawn(release);
        }
    }
}

fn other_wake(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "port", format!("this port was made without {what}"))
}
