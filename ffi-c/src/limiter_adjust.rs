//! What a rate limiter is told outside of a decision.

use std::ffi::c_char;

use libdlock_bridge::ops;

use crate::call::call;
use crate::decision::dlock_decision_t;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::rate_limiter::{dlock_rate_limiter_t, tell_decision};
use crate::text;
use crate::types::{id, wait};

/// Takes `cost` tokens now, for use when they are there, within `wait_ms` (-1: whenever that is): `usable_after_us` of the
/// decision says how long that is. The caller keeps to that time; nothing waits here. DLOCK_LIMITED when it would be longer. The
/// decision is written with DLOCK_OK and DLOCK_LIMITED alike; `out_decision` may be NULL. What is not wanted after all goes back
/// with dlock_rate_limiter_reward(). DLOCK_INVALID_ARGUMENT under DLOCK_ALGORITHM_REDISSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_reserve(
    limiter: *const dlock_rate_limiter_t,
    cost: i64,
    wait_ms: i64,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_reserve";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let reserving = ops::limiter_reserve(state, id(limiter), None, cost, wait(wait_ms));
            tell_decision(state, id(limiter), None, out_decision, || state.wait(reserving, None))
        })
    }
}

/// Takes `tokens`, 1 to the burst, whether or not they are there: who comes next waits the longer for it. For a request that turned
/// out to cost more than it was let in for. DLOCK_OUTCOME_UNKNOWN when no reply came. DLOCK_INVALID_ARGUMENT under
/// DLOCK_ALGORITHM_REDISSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_penalty(
    limiter: *const dlock_rate_limiter_t,
    tokens: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_penalty";
    // SAFETY: the caller's promise, see the header.
    unsafe { call(op, error, |state| state.wait(ops::limiter_penalty(state, id(limiter), None, tokens), None)) }
}

/// Gives `tokens`, 1 to the burst, back, as if they had not been taken: never more than were. What waits already keeps its time.
/// Errors as of dlock_rate_limiter_penalty().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_reward(
    limiter: *const dlock_rate_limiter_t,
    tokens: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_reward";
    // SAFETY: the caller's promise, see the header.
    unsafe { call(op, error, |state| state.wait(ops::limiter_reward(state, id(limiter), None, tokens), None)) }
}

/// Grants nothing to anybody for `length_ms` from now on, whatever the rates would allow; 0 ends it. The last call counts. Those
/// that wait, or come to wait, get their tokens after it; what was reserved keeps its time, and what other clients have fetched
/// ahead can be used for another second. 0 to 100 years.
/// DLOCK_INVALID_ARGUMENT under DLOCK_ALGORITHM_REDISSON.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_block(
    limiter: *const dlock_rate_limiter_t,
    length_ms: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_block";
    // SAFETY: the caller's promise, see the header.
    unsafe { call(op, error, |state| state.wait(ops::limiter_block(state, id(limiter), None, length_ms), None)) }
}

/// As dlock_rate_limiter_reserve(), of one key; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_reserve_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    cost: i64,
    wait_ms: i64,
    out_decision: *mut dlock_decision_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_reserve_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?;
            let reserving = ops::limiter_reserve(state, id(limiter), Some(key.to_vec()), cost, wait(wait_ms));
            tell_decision(state, id(limiter), Some(key), out_decision, || state.wait(reserving, None))
        })
    }
}

/// As dlock_rate_limiter_penalty(), of one key; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_penalty_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    tokens: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_penalty_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?;
            state.wait(ops::limiter_penalty(state, id(limiter), Some(key.to_vec()), tokens), None)
        })
    }
}

/// As dlock_rate_limiter_reward(), of one key; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_reward_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    tokens: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_reward_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?;
            state.wait(ops::limiter_reward(state, id(limiter), Some(key.to_vec()), tokens), None)
        })
    }
}

/// As dlock_rate_limiter_block(), of one key; see dlock_rate_limiter_acquire_keyed().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_block_keyed(
    limiter: *const dlock_rate_limiter_t,
    key: *const c_char,
    key_len: usize,
    length_ms: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_block_keyed";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let key = text::name(key, key_len, op)?;
            state.wait(ops::limiter_block(state, id(limiter), Some(key.to_vec()), length_ms), None)
        })
    }
}
