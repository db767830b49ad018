//! What a rate limiter is told outside of a decision, in the asynchronous form.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::rate_limiter::dlock_rate_limiter_t;
use crate::submit::{Ticket, submit};
use crate::text;
use crate::types::{dlock_op_t, dlock_port_t, id, wait};

/// As dlock_rate_limiter_reserve(); completes with DLOCK_COMPLETION_DECISION, whose status is DLOCK_OK or DLOCK_LIMITED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_reserve(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    cost: i64,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_reserve";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_reserve(state, id(limiter), None, cost, wait(wait_ms)))
        })
    }
}

/// As dlock_rate_limiter_penalty(); completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_penalty(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    tokens: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_penalty";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_penalty(state, id(limiter), None, tokens))
        })
    }
}

/// As dlock_rate_limiter_reward(); completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_reward(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    tokens: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_reward";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_reward(state, id(limiter), None, tokens))
        })
    }
}

/// As dlock_rate_limiter_block(); completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_block(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    length_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_block";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::limiter_block(state, id(limiter), None, length_ms))
        })
    }
}

/// As dlock_rate_limiter_reserve_keyed(); completes with DLOCK_COMPLETION_DECISION, whose status is DLOCK_OK or DLOCK_LIMITED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_reserve_keyed(
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
    let op = "dlock_submit_rate_limit_reserve_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let key = text::name(key, key_len, op)?.to_vec();
            Ok(ops::limiter_reserve(state, id(limiter), Some(key), cost, wait(wait_ms)))
        })
    }
}

/// As dlock_rate_limiter_penalty_keyed(); completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_penalty_keyed(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    tokens: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_penalty_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let key = text::name(key, key_len, op)?.to_vec();
            Ok(ops::limiter_penalty(state, id(limiter), Some(key), tokens))
        })
    }
}

/// As dlock_rate_limiter_reward_keyed(); completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_reward_keyed(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    tokens: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_reward_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let key = text::name(key, key_len, op)?.to_vec();
            Ok(ops::limiter_reward(state, id(limiter), Some(key), tokens))
        })
    }
}

/// As dlock_rate_limiter_block_keyed(); completes with DLOCK_COMPLETION_DONE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rate_limit_block_keyed(
    port: *const dlock_port_t,
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    length_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rate_limit_block_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let key = text::name(key, key_len, op)?.to_vec();
            Ok(ops::limiter_block(state, id(limiter), Some(key), length_ms))
        })
    }
}
