//! Latches in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::latch::dlock_latch_t;
use crate::submit::{Ticket, submit};
use crate::types::{dlock_op_t, dlock_port_t, id, wait};

/// Gives a latch a count (see dlock_latch_try_set_count()); completes with DLOCK_COMPLETION_FLAG: whether it was open.
/// Cancelled, it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_latch_try_set_count(
    port: *const dlock_port_t,
    latch: *const dlock_latch_t,
    count: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_latch_try_set_count", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::latch_try_set_count(state, id(latch), count))
        })
    }
}

/// Counts a latch down (see dlock_latch_count_down()); completes with DLOCK_COMPLETION_NUMBER: what is left. Cancelled, it may
/// have counted or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_latch_count_down(
    port: *const dlock_port_t,
    latch: *const dlock_latch_t,
    by: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_latch_count_down", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::latch_count_down(state, id(latch), by))
        })
    }
}

/// Asks for the count of a latch; completes with DLOCK_COMPLETION_NUMBER.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_latch_count(
    port: *const dlock_port_t,
    latch: *const dlock_latch_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_latch_count", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::latch_count(state, id(latch)))
        })
    }
}

/// Waits until a latch is open, at most `wait_ms` (see dlock_latch_wait()); completes with DLOCK_COMPLETION_FLAG: whether it
/// was open then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_latch_wait(
    port: *const dlock_port_t,
    latch: *const dlock_latch_t,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_latch_wait", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::latch_wait(state, id(latch), wait(wait_ms)))
        })
    }
}

/// Removes a latch (see dlock_latch_delete()); completes with DLOCK_COMPLETION_FLAG: whether it was there. Cancelled, it may be
/// done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_latch_delete(
    port: *const dlock_port_t,
    latch: *const dlock_latch_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_latch_delete", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::latch_delete(state, id(latch)))
        })
    }
}
