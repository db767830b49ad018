//! Deliveries in the asynchronous form. Their lease is extended, and their loss waited for, as of every hold.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::submit::{Ticket, submit};
use crate::text;
use crate::types::{dlock_held_t, dlock_op_t, dlock_port_t, id, wait};

/// Removes a job that is done (see dlock_delivery_ack()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_delivery_ack(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_delivery_ack";
    // SAFETY: the caller's promise, see the header.
    unsafe { submit(op, Ticket { port, user_data, out_op }, error, |state| Ok(ops::delivery_ack(state, id(held)))) }
}

/// Puts a job back (see dlock_delivery_nack()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_delivery_nack(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    delay_ms: i64,
    reason: *const c_char,
    reason_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_delivery_nack";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let reason = text::bytes(reason, reason_len, "reason", op)?.to_vec();
            Ok(ops::delivery_nack(state, id(held), wait(delay_ms), reason))
        })
    }
}

/// Puts a job back that was not begun (see dlock_delivery_give_back()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes
/// on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_delivery_give_back(
    port: *const dlock_port_t,
    held: *const dlock_held_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_delivery_give_back";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| Ok(ops::delivery_give_back(state, id(held))))
    }
}
