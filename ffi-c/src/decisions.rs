//! Batches of a rate limiter: many keys in one call.

use std::ffi::c_char;

use libdlock::{Error, Result};
use libdlock_bridge::ops;

use crate::call::call;
use crate::decision::dlock_decision_t;
use crate::error::{DLOCK_OK, dlock_error_t, dlock_status_t, refuse, refuse_for};
use crate::out::{SizedArray, put_each, sized_array};
use crate::rate_limiter::{dlock_rate_limiter_t, refused};
use crate::text;
use crate::types::id;

/// An item of a batch: a key, and how many tokens are asked for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_keyed_cost_t {
    /// Not NUL-terminated, or a NUL that does not count.
    pub key: *const c_char,
    /// Bytes of the key.
    pub key_len: usize,
    /// How many tokens.
    pub cost: i64,
}

/// As dlock_rate_limiter_try_acquire_keyed() of each of `count` items, in one round trip for every 256 of them. 1 to 10000 items;
/// a key may occur several times. DLOCK_OK says that each item was answered: `out_statuses`, an array of `count`, has for each what
/// a single call would have returned, and so have `out_decisions` and `out_errors`, arrays of as many that may be NULL. Their
/// first elements begin with DLOCK_DECISION_INIT and DLOCK_ERROR_INIT. What is wrong with one item is its own status, and no
/// matter of the others. When a reply was lost, each item of that write has DLOCK_OUTCOME_UNKNOWN: count its tokens as spent.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rate_limiter_try_acquire_many(
    limiter: *const dlock_rate_limiter_t,
    items: *const dlock_keyed_cost_t,
    count: usize,
    out_statuses: *mut dlock_status_t,
    out_decisions: *mut dlock_decision_t,
    out_errors: *mut dlock_error_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rate_limiter_try_acquire_many";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let items = read(items, count, op)?;
            if out_statuses.is_null() {
                return Err(refuse(op, "out_statuses is NULL: there is nowhere to put the answers"));
            }
            let decisions = optional(out_decisions, "out_decisions", op)?;
            let errors = optional(out_errors, "out_errors", op)?;
            let keys: Vec<Vec<u8>> = items.iter().map(|(key, _)| key.clone()).collect();
            let answers = state.wait(ops::limiter_acquire_many(state, id(limiter), items), None)?.0;
            let name = ops::limiter_key(state, id(limiter), None).unwrap_or_default();
            let told = answers.iter().zip(&keys).map(|(answer, key)| match answer {
                Ok(decision) if decision.allowed => None,
                Ok(decision) => Some(refused(decision).on(&[&name, ":", &String::from_utf8_lossy(key)].concat())),
                Err(error) => Some(error.clone()),
            });
            let told: Vec<Option<Error>> = told.collect();
            let statuses = told.iter().map(|error| error.as_ref().map_or(DLOCK_OK, |error| error.kind().code()));
            put_each(out_statuses, count, statuses, op)?;
            if let Some(decisions) = decisions {
                let each = answers.iter().map(|answer| match answer {
                    Ok(decision) => dlock_decision_t::of(decision),
                    Err(_) => dlock_decision_t::EMPTY,
                });
                decisions.put_each(each);
            }
            if let Some(errors) = errors {
                errors
                    .put_each(told.iter().map(|error| error.as_ref().map_or(dlock_error_t::EMPTY, dlock_error_t::of)));
            }
            Ok(())
        })
    }
}

/// More items are a wild length. Core says how many there may be.
const ITEMS_MAX: usize = 1 << 20;

/// The items at `start`.
///
/// # Safety
/// As the header says: `start` is NULL or readable for `count` items, and each key for its length.
unsafe fn read(start: *const dlock_keyed_cost_t, count: usize, op: &'static str) -> Result<Vec<(Vec<u8>, i64)>> {
    if count > ITEMS_MAX {
        return Err(refuse_for(op, format_args!("a batch of {count} was asked for"), "1 to 10000 items"));
    }
    if start.is_null() && count > 0 {
        return Err(refuse(op, format!("items is NULL with a count of {count}")));
    }
    let item = |at: usize| {
        // SAFETY: not null, and `at` is below `count`, for which it is readable by the promise.
        let dlock_keyed_cost_t { key, key_len, cost } = unsafe { start.add(at).read_unaligned() };
        // SAFETY: passed on.
        Ok((unsafe { text::bytes(key, key_len, "key", op)? }.to_vec(), cost))
    };
    (0..count).map(item).collect()
}

/// # Safety
/// As [`sized_array`].
unsafe fn optional<T>(start: *mut T, what: &str, op: &'static str) -> Result<Option<SizedArray<T>>> {
    // SAFETY: passed on.
    if start.is_null() { Ok(None) } else { unsafe { sized_array(start, what, op) }.map(Some) }
}
