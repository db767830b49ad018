//! What a thread that submits an operation has woken by it: carried on by the same thread before it goes back to its host.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

use super::op::OpEntry;

/// One submission carries on so many other operations at most; the rest is the runtime's.
const AT_MOST: usize = 64;

thread_local! {
    /// Those that were woken; `None` while this thread submits nothing.
    static WOKEN: RefCell<Option<VecDeque<Arc<OpEntry>>>> = const { RefCell::new(None) };
}

/// Runs `submit`, then the steps of those operations that were woken meanwhile on this thread.
pub(crate) fn while_submitting(submit: impl FnOnce()) {
    // A host's callback may submit within a submission: the outer one carries all of it on.
    let begin = |woken: &RefCell<Option<VecDeque<_>>>| {
        let mut woken = woken.borrow_mut();
        let outermost = woken.is_none();
        woken.get_or_insert_default();
        outermost
    };
    // A thread that is ending keeps nothing.
    let Ok(outermost) = WOKEN.try_with(begin) else { return submit() };
    let _end = outermost.then_some(End);
    submit();
    if outermost {
        for _ in 0..AT_MOST {
            let Some(op) = WOKEN.with_borrow_mut(|woken| woken.as_mut().and_then(VecDeque::pop_front)) else { return };
            op.step();
        }
    }
}

/// Keeps a woken operation for this thread; gives it back when the thread submits nothing.
pub(super) fn keep(op: Arc<OpEntry>) -> Option<Arc<OpEntry>> {
    // A thread that ends keeps nothing.
    let mut op = Some(op);
    let _ = WOKEN.try_with(|woken| {
        if let Ok(mut woken) = woken.try_borrow_mut()
            && let Some(woken) = woken.as_mut()
        {
            woken.extend(op.take());
        }
    });
    op
}

/// The end of a submission, however it comes: what is left goes to the runtime.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let left = WOKEN.with_borrow_mut(Option::take);
        left.into_iter().flatten().for_each(OpEntry::step_elsewhere);
    }
}
