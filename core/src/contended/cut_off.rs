//! What becomes of the waiters of a line whose contender is cut off.

use std::sync::Arc;
use std::thread;

use super::Primitive;
use super::object::Contended;
use crate::ended::ended;
use crate::step::Step;
use crate::task::Life;

/// Fails all waiters when it is dropped before it is disarmed: the contender panics, or its runtime is shut down.
pub(super) struct CutOffOnDrop<P: Primitive>(Option<Arc<Contended<P>>>);

impl<P: Primitive> CutOffOnDrop<P> {
    pub(super) fn new(shared: &Arc<Contended<P>>) -> CutOffOnDrop<P> {
        CutOffOnDrop(Some(shared.clone()))
    }

    pub(super) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl<P: Primitive> Drop for CutOffOnDrop<P> {
    fn drop(&mut self) {
        if let Some(shared) = self.0.take()
            && !shared.client().tasks.leak_if_forked(&shared)
        {
            // What does not panic is dropped by a runtime that is shut down. The client may learn that a moment later.
            let closed = (!thread::panicking()).then(|| ended(P::Acquire::OP, Life::Closed));
            shared.cut_off(closed);
        }
    }
}
