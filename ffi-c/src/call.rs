//! What every exported function does around its own work.

use std::ffi::c_char;

use libdlock::{Error, Result};
use libdlock_bridge::{Handle, HandleKind, State, enter, enter_or_restart, guard};

use crate::error::{DLOCK_OK, dlock_error_t, dlock_status_t};
use crate::out::{Out, sized_out};
use crate::text;
use crate::types::{handle, id};

/// Runs the body of `export` with this process's state; a panic or an error becomes a status and fills `error` in.
///
/// # Safety
/// As the header says: `error` is NULL or a writable `dlock_error_t`.
pub(crate) unsafe fn call(
    export: &'static str,
    error: *mut dlock_error_t,
    body: impl FnOnce(&'static State) -> Result<()>,
) -> dlock_status_t {
    // SAFETY: passed on.
    unsafe { guarded(export, error, || body(enter()?)) }
}

/// As [`call`], for an object that is made of the arguments alone, which `read` checks: after a shutdown it starts the library
/// again. Its handle goes to `out`, which errors call `out_name`.
///
/// # Safety
/// As [`call`], and `out` is NULL or writable.
pub(crate) unsafe fn make<T, A>(
    export: &'static str,
    (out, out_name): (*mut *mut T, &str),
    error: *mut dlock_error_t,
    read: impl FnOnce() -> Result<A>,
    make: impl FnOnce(&'static State, A) -> Result<Handle>,
) -> dlock_status_t {
    let body = || {
        // SAFETY: passed on.
        let out = unsafe { Out::required(out, out_name, export) };
        match out.and_then(|out| Ok((out, read()?))) {
            Ok((out, arguments)) => {
                out.put(handle(make(enter_or_restart()?, arguments)?));
                Ok(())
            }
            Err(refused) => enter().and(Err(refused)),
        }
    };
    // SAFETY: passed on.
    unsafe { guarded(export, error, body) }
}

unsafe fn guarded(
    export: &'static str,
    error: *mut dlock_error_t,
    body: impl FnOnce() -> Result<()>,
) -> dlock_status_t {
    let result = guard(export, || {
        if !error.is_null() {
            // Before the work, not after: a caller that cannot be told why it failed is not served at all.
            // SAFETY: passed on.
            let _fits = unsafe { sized_out(error, "error", export)? };
        }
        body()
    });
    // SAFETY: passed on.
    unsafe { status(result, error) }
}

/// The status of `result`, whose error fills `error` in.
///
/// # Safety
/// As [`call`].
pub(crate) unsafe fn status(result: Result<()>, error: *mut dlock_error_t) -> dlock_status_t {
    match result {
        Ok(()) => DLOCK_OK,
        // SAFETY: passed on.
        Err(cause) => unsafe { report(&cause, error) },
    }
}

/// As [`call`], for a call with one answer.
///
/// # Safety
/// As [`call`], and `out` is NULL or writable.
pub(crate) unsafe fn ask<T>(
    op: &'static str,
    out: *mut T,
    error: *mut dlock_error_t,
    answer: impl FnOnce(&'static State) -> Result<T>,
) -> dlock_status_t {
    // SAFETY: passed on.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out, "the out parameter", op)?;
            out.put(answer(state)?);
            Ok(())
        })
    }
}

/// Where a call writes a text.
pub(crate) struct Buffer {
    pub(crate) start: *mut c_char,
    pub(crate) size: usize,
    pub(crate) out_len: *mut usize,
}

/// As [`ask`], for a text: with a NUL to the buffer, and its bytes without the NUL to the length.
///
/// # Safety
/// As [`call`], and the buffer is as the header says: NULL or writable, in each part.
pub(crate) unsafe fn tell(
    op: &'static str,
    into: Buffer,
    error: *mut dlock_error_t,
    answer: impl FnOnce(&'static State) -> Result<String>,
) -> dlock_status_t {
    // SAFETY: passed on.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(into.out_len, "out_len", op)?;
            let answer = answer(state)?;
            text::copy(into.start, into.size, &answer, op)?;
            out.put(answer.len());
            Ok(())
        })
    }
}

/// As [`call`], for `_free`: NULL is no object and nothing to do.
pub(crate) fn free<T>(export: &'static str, kind: HandleKind, object: *const T) -> dlock_status_t {
    let result = guard(export, || if object.is_null() { Ok(()) } else { enter()?.free(kind, id(object)) });
    result.map_or_else(|cause| cause.kind().code(), |()| DLOCK_OK)
}

unsafe fn report(cause: &Error, error: *mut dlock_error_t) -> dlock_status_t {
    if !error.is_null() {
        // SAFETY: passed on. An error struct of a wrong size is not written to.
        if let Ok(error) = unsafe { sized_out(error, "error", "error") } {
            error.put(dlock_error_t::of(cause));
        }
    }
    cause.kind().code()
}
