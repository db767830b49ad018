//! Count-down latches.

use std::ffi::c_char;

use libdlock_bridge::{HandleKind, ops};

use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::Out;
use crate::text;
use crate::types::{dlock_cancel_t, dlock_client_t, handle, id, optional_id, wait};

/// A count-down latch, by name.
pub struct dlock_latch_t(());

/// Makes a latch with a name of 1 to 512 bytes of UTF-8. No I/O. A latch that is not on the server is open: give it a count with
/// dlock_latch_try_set_count() before anybody waits. DLOCK_INVALID_NAME for a name that is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_latch_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    out_latch: *mut *mut dlock_latch_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_latch_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_latch, "out_latch", op)?;
            out.put(handle(ops::latch_open(state, id(client), text::name(name, name_len, op)?)?));
            Ok(())
        })
    }
}

/// Gives the handle up; the latch stays. Calls that wait go on.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_latch_free(latch: *mut dlock_latch_t) -> dlock_status_t {
    free("dlock_latch_free", HandleKind::Latch, latch)
}

/// Writes the latch's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
/// always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_latch_name(
    latch: *const dlock_latch_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_latch_name", into, error, |state| ops::latch_name(state, id(latch))) }
}

/// Gives the latch this count, 1 to 9007199254740991, if it is open; `out_set` gets whether it was: false, and nothing changed,
/// when it has a count. The count has no time to live: it stays until it is counted down or deleted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_latch_try_set_count(
    latch: *const dlock_latch_t,
    count: i64,
    out_set: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_latch_try_set_count", out_set, error, |state| {
            state.wait(ops::latch_try_set_count(state, id(latch), count), None)
        })
    }
}

/// Counts down by `by`, 1 to 9007199254740991, or by what is left if that is less. It counts once, also when the reply is lost and
/// the request is sent again; DLOCK_OUTCOME_UNKNOWN when no repeat could find out. `out_left`, which may be NULL, gets what is
/// left: 0 when the latch is open. One that is open stays so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_latch_count_down(
    latch: *const dlock_latch_t,
    by: i64,
    out_left: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_latch_count_down", error, |state| {
            let left = state.wait(ops::latch_count_down(state, id(latch), by), None)?;
            if let Ok(out) = Out::required(out_left, "out_left", "dlock_latch_count_down") {
                out.put(left);
            }
            Ok(())
        })
    }
}

/// Asks the server for the count, 0 when the latch is open.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_latch_count(
    latch: *const dlock_latch_t,
    out_count: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_latch_count", out_count, error, |state| state.wait(ops::latch_count(state, id(latch)), None)) }
}

/// Waits until the latch is open, at most `wait_ms`: -1 for ever, 0 asks once. `out_open` gets whether it was open then; it is
/// required, because DLOCK_OK alone does not say so. A latch that was deleted, or is gone with the server's data, is open.
/// DLOCK_CONNECTION when the server did not answer for operation_timeout. `cancel` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_latch_wait(
    latch: *const dlock_latch_t,
    wait_ms: i64,
    cancel: *const dlock_cancel_t,
    out_open: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_latch_wait", out_open, error, |state| {
            let waiting = ops::latch_wait(state, id(latch), wait(wait_ms));
            state.wait(state.with_cancel(optional_id(cancel), waiting), None)
        })
    }
}

/// Removes the latch; `out_deleted`, which may be NULL, gets whether it was there. A latch that is not there is open: callers of
/// libdlock that wait find that out within their poll_interval. Redisson's go on waiting, since nobody tells them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_latch_delete(
    latch: *const dlock_latch_t,
    out_deleted: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_latch_delete", error, |state| {
            let deleted = state.wait(ops::latch_delete(state, id(latch)), None)?;
            if let Ok(out) = Out::required(out_deleted, "out_deleted", "dlock_latch_delete") {
                out.put(deleted);
            }
            Ok(())
        })
    }
}
