//! The completion port: where finished operations and log events queue up until the host comes for them.
//!
//! * Every operation submitted has exactly one completion, whatever happens: its result, `Cancelled` from
//!   [`State::cancel`](crate::State::cancel), or `Internal` when it panicked. Only freeing the port ends operations without
//!   one.
//! * Threads of the runtime never enter the host: it drains when it likes.
//! * What comes too late (a grant after its cancellation) is undone: nobody is left holding something unknown.

pub(crate) mod near;
mod op;
pub(crate) mod pending;
pub(crate) mod queue;
pub(crate) mod wake;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libdlock::Result;
use libdlock::event::{Event, Level};

pub(crate) use self::op::{Carrier, OpEntry, Work};
use self::queue::Queue;
use self::wake::Wake;
use crate::handle::Handle;
use crate::outcome::Outcome;

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
    pub(crate) queue: Arc<Queue<Completion>>,
    pub(crate) closed: AtomicBool,
    logs: AtomicUsize,
    logs_dropped: AtomicUsize,
}

impl PortEntry {
    pub(crate) fn new(wake: Wake) -> Self {
        Self {
            queue: Arc::new(Queue::new(wake)),
            closed: AtomicBool::new(false),
            logs: AtomicUsize::new(0),
            logs_dropped: AtomicUsize::new(0),
        }
    }

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

    /// Takes up to `max` completions out, oldest first.
    pub(crate) fn take(&self, max: usize) -> Vec<Completion> {
        let taken = self.queue.drain(max);
        let logs = taken.iter().filter(|completion| matches!(completion.what, What::Log(_))).count();
        if logs > 0 {
            self.logs.fetch_sub(logs, Ordering::AcqRel);
        }
        taken
    }
}
