//! An operation on its way to its one completion.
//!
//! Whoever finishes first completes it: the operation itself, a cancellation, or the port that is being freed. The
//! others get back what they brought, so that a grant that comes after its cancellation can be undone.

use super::queue::Queue;
use crate::sync::{Arc, AtomicBool, Ordering};

pub(crate) struct Pending<T> {
    queue: Arc<Queue<T>>,
    open: AtomicBool,
}

impl<T> Pending<T> {
    pub(crate) fn new(queue: Arc<Queue<T>>) -> Self {
        Self { queue, open: AtomicBool::new(true) }
    }

    /// Delivers `item` as the one completion; gives it back when there already was one or the port is closed.
    pub(crate) fn complete(&self, item: T) -> Result<(), T> {
        if !self.open.swap(false, Ordering::AcqRel) {
            return Err(item);
        }
        self.queue.push(item)
    }
}
