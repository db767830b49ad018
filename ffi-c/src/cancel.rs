//! Cancel tokens.

use crate::call::{call, free, make};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::types::{dlock_cancel_t, id};
use libdlock_bridge::HandleKind;

/// Makes a cancel token, to be given to calls that may block and fired from another thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_cancel_new(
    out_cancel: *mut *mut dlock_cancel_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { make("dlock_cancel_new", (out_cancel, "out_cancel"), error, || Ok(()), |state, ()| state.cancel_new()) }
}

/// Ends every call that was given the token with DLOCK_CANCELLED, now and from now on. Callable from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_cancel_fire(cancel: *const dlock_cancel_t, error: *mut dlock_error_t) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_cancel_fire", error, |state| state.cancel_fire(id(cancel))) }
}

/// Frees a cancel token. Calls that were given it go on.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_cancel_free(cancel: *mut dlock_cancel_t) -> dlock_status_t {
    free("dlock_cancel_free", HandleKind::Cancel, cancel)
}
