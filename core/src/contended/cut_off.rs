//! What becomes of the waiters of a line whose contender is cut off.

use std::sync::Arc;

use super::Primitive;
use super::object::Contended;

/// Fails all waiters when it is dropped before it is disarmed, as when the contender panics.
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
            shared.cut_off();
        }
    }
}
