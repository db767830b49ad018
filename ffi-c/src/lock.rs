//! Locks, held by the calling thread.

use std::ffi::c_char;

use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{Handle, HandleKind, State, this_thread};

use crate::acquire::{How, hand_out};
use crate::call::{Buffer, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::{Out, sized, sized_out};
use crate::text;
use crate::types::{
    dlock_acquire_options_t, dlock_client_t, dlock_detached_t, dlock_held_t, dlock_inspection_t, dlock_lock_options_t,
    dlock_lock_t, handle, id, lease, reentrant,
};

/// Makes a lock with a name of 1 to 512 bytes of UTF-8. No I/O. `options` may be NULL. DLOCK_INVALID_NAME for a name that
/// is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    options: *const dlock_lock_options_t,
    out_lock: *mut *mut dlock_lock_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_lock, "out_lock", op)?;
            let name = text::name(name, name_len, op)?;
            let (lease_ms, watchdog_lease_ms, reentrant) = if options.is_null() {
                (0, 0, None)
            } else {
                let options = sized(options, "options", op)?;
                (options.lease_ms, options.watchdog_lease_ms, reentrant(options.reentrant, op)?)
            };
            let (lease, watchdog_lease) = (lease(lease_ms), lease(watchdog_lease_ms));
            out.put(handle(ops::lock_open(state, id(client), name, lease, watchdog_lease, reentrant)?));
            Ok(())
        })
    }
}

/// Gives the handle up. Holds of the lock stay; other handles of the same name do too.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_lock_free(lock: *mut dlock_lock_t) -> dlock_status_t {
    free("dlock_lock_free", HandleKind::Lock, lock)
}

/// Writes the lock's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
/// is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_name(
    lock: *const dlock_lock_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_lock_name", into, error, |state| ops::lock_name(state, id(lock))) }
}

/// Acquires the lock for the calling thread, which may hold it already (see `reentrant`). `options` may be NULL: waits for
/// ever. DLOCK_BUSY if it was not acquired within the wait. `out_held` may be NULL when neither token nor loss matter;
/// otherwise free what it gets with dlock_held_free(), before or after the release. The hold ends with
/// dlock_lock_release() by the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_acquire(
    lock: *const dlock_lock_t,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let how = How::read(options, op)?;
            acquire(state, id(lock), &how, out_held)
        })
    }
}

/// Acquires the lock if it is free, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue head:
/// after that it is DLOCK_BUSY also when the lock is free. On a server that is gone it tries for operation_timeout, 10 s by
/// default. Otherwise as dlock_lock_acquire().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_try_acquire(
    lock: *const dlock_lock_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_lock_try_acquire", error, |state| acquire(state, id(lock), &How::TRY, out_held)) }
}

/// Acquires the lock for the hold itself and for no thread: any thread may release it, with dlock_held_release(), and a second
/// acquire, by this thread too, waits for the first. Otherwise as dlock_lock_acquire(). `out_held` gets the hold: free it with
/// dlock_held_free() after the release, for without one the lease has to run out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_take(
    lock: *const dlock_lock_t,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_take";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_held, "out_held", op)?;
            let how = How::read(options, op)?;
            let taking = ops::lock_acquire(state, id(lock), Holding::ByHandle, how.wait_ms, how.lease_ms);
            out.put(handle(how.wait(state, taking)?.handle));
            Ok(())
        })
    }
}

/// Undoes one acquire of the calling thread; the last one frees the lock. DLOCK_NOT_HELD when the thread does not hold it
/// (any more: a lease that ran out is told here too).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_release(lock: *const dlock_lock_t, error: *mut dlock_error_t) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_lock_release", error, |state| {
            let holder = this_thread();
            if ops::lock_release_reentry(state, id(lock), holder, None)? {
                return Ok(());
            }
            state.wait(ops::lock_release(state, id(lock), holder, None), None)
        })
    }
}

/// Makes the calling thread's hold last `lease_ms` (100 to 86400000) from now, or as long as it did if that is longer. Asks
/// the server in any case. DLOCK_NOT_HELD when the thread does not hold the lock or has lost it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_extend(
    lock: *const dlock_lock_t,
    lease_ms: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_lock_extend", error, |state| {
            state.wait(ops::lock_extend(state, id(lock), this_thread(), lease_ms), None)
        })
    }
}

/// Frees the lock whoever holds it. A hold of this client is lost when this returns; another client is sent a message and
/// looks at once; until then only its fencing token protects the resource. `out_was_held` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_force_release(
    lock: *const dlock_lock_t,
    out_was_held: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_force_release";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let was_held = state.wait(ops::lock_force_release(state, id(lock)), None)?;
            if let Ok(out) = Out::required(out_was_held, "out_was_held", op) {
                out.put(was_held);
            }
            Ok(())
        })
    }
}

/// Asks the server who holds the lock. Begin the answer with DLOCK_INSPECTION_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_inspect(
    lock: *const dlock_lock_t,
    out_inspection: *mut dlock_inspection_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_inspect";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_inspection, "out_inspection", op)?;
            let seen = state.wait(ops::lock_inspect(state, id(lock)), None)?;
            out.put(dlock_inspection_t::of(&seen));
            Ok(())
        })
    }
}

/// How many times the calling thread holds the lock; 0 when it does not, or has lost it. No I/O. An answer of 0 tells the
/// thread of a loss: its next acquire begins anew, as after any error that told it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_hold_count(
    lock: *const dlock_lock_t,
    out_count: *mut u32,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_hold_count";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_count, "out_count", op)?;
            out.put(ops::lock_hold_count(state, id(lock), this_thread())?);
            Ok(())
        })
    }
}

/// A handle of the hold that the calling thread has, lost or not, to ask for its token or loss. DLOCK_NOT_HELD when it has
/// none. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_held(
    lock: *const dlock_lock_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_held";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_held, "out_held", op)?;
            let held = ops::lock_held(state, id(lock), this_thread())?;
            out.put(handle(held.ok_or_else(not_held)?.handle));
            Ok(())
        })
    }
}

/// Ends the calling thread's hold without releasing the lock, and writes a text with which a thread of this or another
/// process takes it over (dlock_lock_attach()) while the lease lasts. Begin the answer with DLOCK_DETACHED_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_detach(
    lock: *const dlock_lock_t,
    out_detached: *mut dlock_detached_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_detach";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_detached, "out_detached", op)?;
            let text = state.wait(ops::lock_detach(state, id(lock), this_thread()), None)?;
            out.put(dlock_detached_t::of(&text)?);
            Ok(())
        })
    }
}

/// Takes a detached hold over for the calling thread, as if it had acquired the lock. DLOCK_NOT_HELD when that hold is
/// over. `out_held` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_attach(
    lock: *const dlock_lock_t,
    detached: *const c_char,
    detached_len: usize,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_attach";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let detached = text::bytes(detached, detached_len, "detached hold", op)?.to_vec();
            let holding = Holding::ByHolder(this_thread());
            let held = state.wait(ops::lock_attach(state, id(lock), holding, detached), None)?;
            hand_out(state, held, out_held)
        })
    }
}

unsafe fn acquire(state: &'static State, lock: Handle, how: &How, out_held: *mut *mut dlock_held_t) -> Result<()> {
    let holder = this_thread();
    let plain = out_held.is_null() && how.cancel.is_none();
    if plain && ops::lock_reenter(state, lock, holder, how.wait_ms, how.lease_ms)? {
        return Ok(());
    }
    let holding = Holding::ByHolder(holder);
    let acquiring = ops::lock_acquire(state, lock, holding, how.wait_ms, how.lease_ms);
    let held = how.wait(state, acquiring)?;
    // SAFETY: passed on.
    unsafe { hand_out(state, held, out_held) }
}

fn not_held() -> Error {
    Error::new(ErrorKind::NotHeld, "held", "the calling thread does not hold this lock")
}
