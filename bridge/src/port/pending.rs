//! An operation on its way to its one completion.
//!
//! Whoever finishes first completes it: the operation itself, or a cancellation; or the port goes, and nobody does. All of
//! them, and every step of the operation, take turns under one mutex. So when a cancellation returns, the operation's
//! answer is either queued already or will never be: a caller who asks again at once does not meet a grant of its own that
//! is about to be given back.

use super::queue::Queue;
use crate::sync::{Arc, Mutex, lock};

pub(crate) struct Pending<T, W> {
    queue: Arc<Queue<T>>,
    /// What is being done; nothing once that is over.
    work: Mutex<Option<W>>,
}

/// Where a step of the work has led to.
pub(crate) enum Advance<T> {
    /// It goes on.
    Pending,
    /// It is over: completed by this step, or before.
    Over,
    /// It is over, and there is no port left to bring its completion.
    Undelivered(T),
}

impl<T, W> Pending<T, W> {
    pub(crate) fn new(queue: Arc<Queue<T>>, work: W) -> Self {
        Self { queue, work: Mutex::new(Some(work)) }
    }

    /// Takes one step of the work, unless it is over; what the step gives is the one completion.
    pub(crate) fn advance(&self, step: impl FnOnce(&mut W) -> Option<T>) -> Advance<T> {
        let mut work = lock(&self.work);
        let Some(item) = work.as_mut().map(step) else {
            return Advance::Over;
        };
        let Some(item) = item else {
            return Advance::Pending;
        };
        let done = work.take();
        let pushed = self.queue.push(item);
        drop(work);
        // Not under the mutex: what ends here may be large.
        drop(done);
        pushed.map_or_else(Advance::Undelivered, |()| Advance::Over)
    }

    /// Ends the work with `item` as its completion, unless it is over. Gives the work, for the caller to drop.
    pub(crate) fn end(&self, item: T) -> Option<W> {
        let mut work = lock(&self.work);
        let ended = work.take()?;
        // A closed port has nobody left to tell.
        let _ = self.queue.push(item);
        Some(ended)
    }

    /// Ends the work without a completion: its port has gone. Gives the work, for the caller to drop.
    pub(crate) fn abandon(&self) -> Option<W> {
        lock(&self.work).take()
    }
}
