//! The completion port: where finished operations and log events queue up until the host comes for them.
//!
//! * Every operation submitted has exactly one completion, whatever happens: its result, `Cancelled` from
//!   [`State::cancel`], or `Internal` when it panicked. Only freeing the port ends operations without one.
//! * Threads of the runtime never enter the host: it drains when it likes.
//! * What comes too late (a grant after its cancellation) is undone: nobody is left holding something unknown.

mod near;
pub(crate) mod pending;
pub(crate) mod queue;
mod submit;
pub(crate) mod wake;

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use libdlock::event::{Event, Level};
use libdlock::{Error, ErrorKind, Result};

use self::queue::Queue;
pub(crate) use self::submit::OpEntry;
use self::wake::{Descriptor, Parked, Wake};
use crate::handle::Handle;
use crate::kinds::Object;
use crate::ops::{Outcome, undo};
use crate::state::State;

/// Log events that may wait in one port; more are counted and dropped, so that a host that forgets to drain does not grow.
const LOG_MAX: usize = 1024;

/// One thing that happened.
#[derive(Debug)]
pub struct Completion {
    /// The operation, or 0 for a log event.
    pub op: Handle,
    /// What the host gave with the operation, or with the client whose event it is.
    pub user_data: u64,
    /// What came of it.
    pub what: What,
}

/// What a [`Completion`] carries.
#[derive(Debug)]
pub enum What {
    /// The operation's result.
    Done(Result<Outcome>),
    /// Something a client says about itself.
    Log(Event),
}

pub(crate) struct PortEntry {
    queue: Arc<Queue<Completion>>,
    pub(crate) closed: AtomicBool,
    logs: AtomicUsize,
    logs_dropped: AtomicUsize,
}

impl PortEntry {
    /// Queues a log event of a client that was opened with `user_data`.
    pub(crate) fn log(&self, user_data: u64, event: &Event) {
        if self.logs.fetch_add(1, Ordering::AcqRel) >= LOG_MAX {
            self.logs.fetch_sub(1, Ordering::AcqRel);
            self.logs_dropped.fetch_add(1, Ordering::AcqRel);
            return;
        }
        let mut event = event.clone();
        let dropped = self.logs_dropped.swap(0, Ordering::AcqRel);
        if dropped > 0 {
            event.level = event.level.max(Level::Warn);
            event.message =
                format!("{} ({dropped} events before this one were dropped: nobody drained the port)", event.message);
        }
        // A closed port has no reader left.
        let _ = self.queue.push(Completion { op: 0, user_data, what: What::Log(event) });
    }

    fn take(&self, max: usize) -> Vec<Completion> {
        let taken = self.queue.drain(max);
        let logs = taken.iter().filter(|completion| matches!(completion.what, What::Log(_))).count();
        if logs > 0 {
            self.logs.fetch_sub(logs, Ordering::AcqRel);
        }
        taken
    }
}

impl Object for PortEntry {
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
        let port = PortEntry {
            queue: Arc::new(Queue::new(wake)),
            closed: AtomicBool::new(false),
            logs: AtomicUsize::new(0),
            logs_dropped: AtomicUsize::new(0),
        };
        self.insert(Arc::new(port))
    }

    /// The descriptor to poll: readable while the port has completions. Never read from it, never close it.
    ///
    /// # Errors
    /// `InvalidArgument` for a port that was made without one.
    pub fn port_fd(&self, port: Handle) -> Result<RawFd> {
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
    fn undo_completion(&'static self, completion: Completion) {
        if let What::Done(Ok(outcome)) = completion.what {
            undo(self, &outcome);
        }
    }
}

fn other_wake(what: &str) -> Error {
    Error::new(ErrorKind::InvalidArgument, "port", format!("this port was made without {what}"))
}
