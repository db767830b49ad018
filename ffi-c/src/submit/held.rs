//! Holds of any kind that are their handles' own in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::submit::{Ticket, submit};
use crate::types::{dlock_held_t, dlock_op_t, dlock_port_t, id, wait};

/// Releases a hold that is the handle's own; completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_release(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_release", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_release(state, id(held)))
        })
    }
}

/// Extends a hold that is the handle's own (see dlock_lock_extend()); completes with DLOCK_COMPLETION_DONE. Cancelled, it may
/// be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_extend(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    lease_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_extend", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_extend(state, id(held), lease_ms))
        })
    }
}

/// Detaches a hold that is the handle's own (see dlock_lock_detach()); completes with DLOCK_COMPLETION_TEXT. Cancelled, the
/// hold stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_detach(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_detach", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_detach(state, id(held)))
        })
    }
}

/// Turns a hold of a write side that is the handle's own into one of the read side (see dlock_held_downgrade()); completes with
/// DLOCK_COMPLETION_HELD. Cancelled, the hold still writes, or both sides are released.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_downgrade(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_downgrade", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_downgrade(state, id(held)))
        })
    }
}

/// Waits until a hold is over (see dlock_held_wait_lost()); completes with DLOCK_COMPLETION_LOSS, or with DLOCK_BUSY when
/// it was not over within `wait_ms`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_wait_lost(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_wait_lost", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::held_wait_lost(state, id(held), wait(wait_ms)))
        })
    }
}
