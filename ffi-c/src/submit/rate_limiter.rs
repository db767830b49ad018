//! Rate limiters in the asynchronous form.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::rate_limiter::dlock_rate_limiter_t;
use crate::submit::{Ticket, submit};
use crate::text;
use crate::types::{dlock_op_t, dlock_port_t, id, wait};

/// Takes `cost` tokens of a limiter, waiting for them at most `wait_ms` (see dlock_rate_limiter_acquire()); completes with
/// DLOCK_COMPLETION_DECISION, whose status is DLOCK_OK or DLOCK_LIMITED. A cancelled operation gives its tokens back, as a
/// cancelled wait does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    cost: i64,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rate_limit", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_acquire(state, id(limiter), None, cost, wait(wait_ms)))
        })
    }
}

/// Fills a limiter's bucket, for everybody; completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_reset(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rate_limit_reset", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_reset(state, id(limiter), None))
        })
    }
}

/// As dlock_submit_rate_limit(), of one key of many; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_keyed(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    cost: i64,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let key = text::name(key, key_len, op)?.to_vec();
            Ok(ops::limiter_acquire(state, id(limiter), Some(key), cost, wait(wait_ms)))
        })
    }
}

/// As dlock_submit_rate_limit_reset(), of one key of many; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_reset_keyed(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_reset_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let key = text::name(key, key_len, op)?.to_vec();
            Ok(ops::limiter_reset(state, id(limiter), Some(key)))
        })
    }
}
