//! Counting semaphores: permits that nobody holds.

use std::ffi::c_char;

use libdlock_bridge::{CountingSemaphoreInspection, HandleKind, ops};

use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::{Out, sized_out};
use crate::text;
use crate::types::{dlock_cancel_t, dlock_client_t, handle, id, optional_id, wait};

/// A counting semaphore, by name: permits without owner or lease, as Redisson's RSemaphore has them. Permits of a process that
/// died never come back by themselves; who shares none with Redisson uses dlock_semaphore_t.
pub struct dlock_counting_semaphore_t(());

/// How many permits a counting semaphore has, as the server sees it. Begin with DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_counting_semaphore_inspection_t {
    /// `sizeof(dlock_counting_semaphore_inspection_t)`.
    pub struct_size: usize,
    /// Whether the semaphore is there; the first release makes one that is not.
    pub exists: bool,
    /// How many permits are available: negative after more were taken away than there were, 0 when the semaphore is not there.
    pub available: i64,
    /// How many processes stand in the queue.
    pub queued: u64,
}

impl dlock_counting_semaphore_inspection_t {
    pub(crate) const EMPTY: Self = Self { struct_size: size_of::<Self>(), exists: false, available: 0, queued: 0 };

    pub(crate) fn of(seen: &CountingSemaphoreInspection) -> Self {
        Self { exists: seen.exists, available: seen.available, queued: seen.queued, ..Self::EMPTY }
    }
}

/// Makes a counting semaphore with a name of 1 to 512 bytes of UTF-8. No I/O. One that is not on the server has no permits:
/// dlock_counting_semaphore_try_set_permits() makes it. DLOCK_INVALID_NAME for a name that is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    out_semaphore: *mut *mut dlock_counting_semaphore_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_counting_semaphore_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_semaphore, "out_semaphore", op)?;
            out.put(handle(ops::counting_semaphore_open(state, id(client), text::name(name, name_len, op)?)?));
            Ok(())
        })
    }
}

/// Gives the handle up. Permits that were acquired through it stay acquired.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_counting_semaphore_free(semaphore: *mut dlock_counting_semaphore_t) -> dlock_status_t {
    free("dlock_counting_semaphore_free", HandleKind::CountingSemaphore, semaphore)
}

/// Writes the semaphore's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
/// is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_name(
    semaphore: *const dlock_counting_semaphore_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    let op = "dlock_counting_semaphore_name";
    // SAFETY: the caller's promise, see the header.
    unsafe { tell(op, into, error, |state| ops::counting_semaphore_name(state, id(semaphore))) }
}

/// Makes the semaphore with `permits`, 0 to 2147483647, if it is not there; `out_made` gets whether this call has. It stays until
/// somebody deletes its key. DLOCK_WRONG_TYPE when the key is something else, as for all calls that ask the server; a semaphore
/// of which permits are taken under leases (dlock_semaphore_t) is something else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_try_set_permits(
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    out_made: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_counting_semaphore_try_set_permits", out_made, error, |state| {
            state.wait(ops::counting_semaphore_try_set_permits(state, id(semaphore), permits), None)
        })
    }
}

/// Acquires `permits`, 1 to 2147483647, all at once, waiting at most `wait_ms`: -1 for ever, 0 not at all. Waiters are served in
/// the order of arrival, few permits not before many. After DLOCK_OK they are the caller's until somebody releases them, and
/// stay taken if it dies. DLOCK_BUSY if they were not available within the wait. After every other status than DLOCK_OK,
/// DLOCK_CANCELLED and DLOCK_OUTCOME_UNKNOWN included, the caller has none: what the server granted all the same is given back
/// in the background. `cancel` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_acquire(
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    wait_ms: i64,
    cancel: *const dlock_cancel_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_counting_semaphore_acquire", error, |state| {
            let acquiring = ops::counting_semaphore_acquire(state, id(semaphore), permits, wait(wait_ms));
            state.wait(state.with_cancel(optional_id(cancel), acquiring), None).map(drop)
        })
    }
}

/// Acquires `permits` if so many are available, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue
/// head: after that it is DLOCK_BUSY also when so many are available. Otherwise as dlock_counting_semaphore_acquire().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_try_acquire(
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_counting_semaphore_try_acquire", error, |state| {
            state.wait(ops::counting_semaphore_acquire(state, id(semaphore), permits, Some(0)), None).map(drop)
        })
    }
}

/// Brings back `permits`, 1 to 2147483647, whoever has acquired them, and wakes those whose turn it is. Nothing stops a release of
/// permits that nobody acquired. After DLOCK_OUTCOME_UNKNOWN they may have been released or not, and may yet be: a second call
/// would release others. DLOCK_INVALID_ARGUMENT when there would be more than 2147483647.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_release(
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_counting_semaphore_release", error, |state| {
            state.wait(ops::counting_semaphore_release(state, id(semaphore), permits), None)
        })
    }
}

/// Changes how many permits are available by `permits`, up to 2147483647 in either direction: negative takes away, without
/// waiting, and may leave fewer than none. Makes a semaphore that is not there. DLOCK_INVALID_ARGUMENT for 0; otherwise as
/// dlock_counting_semaphore_release().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_add_permits(
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_counting_semaphore_add_permits", error, |state| {
            state.wait(ops::counting_semaphore_add_permits(state, id(semaphore), permits), None)
        })
    }
}

/// Takes all permits that are available, past those that wait; `out_permits` gets how many there were. A negative number becomes
/// 0, and is what it gets. DLOCK_OUTCOME_UNKNOWN when the reply was lost: the number is lost with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_drain(
    semaphore: *const dlock_counting_semaphore_t,
    out_permits: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_counting_semaphore_drain", out_permits, error, |state| {
            state.wait(ops::counting_semaphore_drain(state, id(semaphore)), None)
        })
    }
}

/// Asks the server how many permits are available. Begin the answer with DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_counting_semaphore_inspect(
    semaphore: *const dlock_counting_semaphore_t,
    out_inspection: *mut dlock_counting_semaphore_inspection_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_counting_semaphore_inspect";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_inspection, "out_inspection", op)?;
            let seen = state.wait(ops::counting_semaphore_inspect(state, id(semaphore)), None)?;
            out.put(dlock_counting_semaphore_inspection_t::of(&seen));
            Ok(())
        })
    }
}
