//! What every acquire has in common, whatever is acquired: its arguments, its wait, and the hold that it hands out.

use std::future::Future;

use libdlock::Result;
use libdlock_bridge::{Handle, HandleKind, Held, State};

use crate::out::{Out, sized};
use crate::types::{dlock_acquire_options_t, dlock_held_t, handle, lease, optional_id, wait};

/// The arguments of an acquire, checked as far as this layer does.
pub(crate) struct How {
    pub(crate) wait_ms: Option<i64>,
    pub(crate) lease_ms: Option<i64>,
    pub(crate) cancel: Option<Handle>,
}

impl How {
    /// Without a wait.
    pub(crate) const TRY: Self = Self { wait_ms: Some(0), lease_ms: None, cancel: None };

    /// # Safety
    /// As the header says for options.
    pub(crate) unsafe fn read(options: *const dlock_acquire_options_t, op: &'static str) -> Result<Self> {
        if options.is_null() {
            return Ok(Self { wait_ms: None, lease_ms: None, cancel: None });
        }
        // SAFETY: passed on.
        let given = unsafe { sized(options, "options", op)? };
        Ok(Self { wait_ms: wait(given.wait_ms), lease_ms: lease(given.lease_ms), cancel: optional_id(given.cancel) })
    }

    /// Waits on the calling thread for what acquires, until the cancel token ends it.
    pub(crate) fn wait<F>(&self, state: &'static State, acquiring: F) -> Result<Held>
    where
        F: Future<Output = Result<Held>> + Send + 'static,
    {
        state.wait(state.with_cancel(self.cancel, acquiring), None)
    }
}

/// Gives the caller the handle of a hold, or gives the handle up for a caller that does not want one.
///
/// # Safety
/// As the header says: `out_held` is NULL or writable.
pub(crate) unsafe fn hand_out(state: &'static State, held: Held, out_held: *mut *mut dlock_held_t) -> Result<()> {
    // SAFETY: passed on.
    match unsafe { Out::required(out_held, "out_held", "held") } {
        Ok(out) => {
            out.put(handle(held.handle));
            Ok(())
        }
        Err(_) => state.free(HandleKind::Held, held.handle),
    }
}
