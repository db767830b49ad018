//! Several locks as one: all of them held by the calling thread or by a handle, or none.

use std::ffi::c_char;

use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{HandleKind, State, this_thread};

use crate::acquire::{How, hand_out};
use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t, refuse, refuse_for};
use crate::out::{Out, sized};
use crate::text;
use crate::types::{
    dlock_acquire_options_t, dlock_client_t, dlock_held_t, dlock_lock_options_t, handle, id, lease, reentrant,
};

/// Several locks that are acquired and released as one.
pub struct dlock_lock_all_t(());

/// More names are a wild length. Core says how many different ones there may be.
const NAMES_MAX: usize = 4096;

/// Makes a handle of the locks of these names, 1 to 100 different ones; a name that is given twice counts once. `names` has
/// `names_len` texts and `name_lens` their bytes; with NULL for `name_lens` each ends with a NUL. No I/O. `options`, of each
/// lock, may be NULL. DLOCK_INVALID_NAME for a name that is refused, DLOCK_INVALID_ARGUMENT for too many names and for none.
///
/// A dlock_lock_t of one of the names excludes the set, and the set excludes it: they are the same locks. All of them are held
/// or none, and sets that overlap never block each other for ever, in whatever order their names are given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_open(
    client: *const dlock_client_t,
    names: *const *const c_char,
    name_lens: *const usize,
    names_len: usize,
    options: *const dlock_lock_options_t,
    out_set: *mut *mut dlock_lock_all_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_all_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_set, "out_set", op)?;
            let names = names_at(names, name_lens, names_len, op)?;
            let given = if options.is_null() { DEFAULTS } else { sized(options, "options", op)? };
            let (lease_ms, watchdog_ms) = (lease(given.lease_ms), lease(given.watchdog_lease_ms));
            let reentrant = reentrant(given.reentrant, op)?;
            out.put(handle(ops::lock_all_open(state, id(client), &names, lease_ms, watchdog_ms, reentrant)?));
            Ok(())
        })
    }
}

/// Gives the handle up. Holds stay; other handles of the same names do too.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_lock_all_free(set: *mut dlock_lock_all_t) -> dlock_status_t {
    free("dlock_lock_all_free", HandleKind::LockAll, set)
}

/// How many locks they are, of different names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_len(
    set: *const dlock_lock_all_t,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_lock_all_len", out_len, error, |state| Ok(ops::lock_all_names(state, id(set))?.len())) }
}

/// Writes the name of the lock at place `at`, from 0 on, and a NUL to `buffer`, and its bytes without the NUL to `out_len`. The
/// places are in the order of the names' bytes, which is that in which the locks are waited for. A buffer of DLOCK_NAME_SIZE is
/// always large enough; one that is not is DLOCK_INVALID_ARGUMENT, as is a place from dlock_lock_all_len() on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_name(
    set: *const dlock_lock_all_t,
    at: usize,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_all_name";
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe {
        tell(op, into, error, |state| {
            let mut names = ops::lock_all_names(state, id(set))?;
            if at >= names.len() {
                return Err(refuse_for(op, format_args!("the place is {at}"), format!("0 to {}", names.len() - 1)));
            }
            Ok(names.swap_remove(at))
        })
    }
}

/// Acquires all of them for the calling thread, which may hold some or all of them already (see `reentrant`), or none. If all
/// are free that is one request. Otherwise it waits for them one after the other, in the order of their keys; what it has by
/// then is renewed, and given back if the wait ends without the rest.
///
/// `options` may be NULL: waits for ever. The wait is that for all of them together. DLOCK_BUSY if not all were acquired within
/// it; the error names the lock that was in the way. DLOCK_DEADLOCK, at once, when the thread holds one of them and would have
/// to wait for one whose key comes before: two threads could wait for each other. DLOCK_LOST, once, when the thread has lost
/// one of them and was not told yet. `out_held` may be NULL when neither tokens nor loss matter; otherwise free what it gets
/// with dlock_held_free(), before or after the release. The hold ends with dlock_lock_all_release() by the same thread.
///
/// The hold is lost when one of them is lost: dlock_held_lost_name() says which. Each has a fencing token of its own, which
/// dlock_held_token_of() gives; dlock_held_token() is 0, and dlock_held_owner() empty.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_acquire(
    set: *const dlock_lock_all_t,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_all_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let how = How::read(options, op)?;
            acquire(state, set, &how, out_held)
        })
    }
}

/// Acquires all of them if all are to be had, without waiting; DLOCK_BUSY if not. May jump each queue, at most twice per queue
/// head: after that it is DLOCK_BUSY also when they are free. Otherwise as dlock_lock_all_acquire().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_try_acquire(
    set: *const dlock_lock_all_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_lock_all_try_acquire", error, |state| acquire(state, set, &How::TRY, out_held)) }
}

/// Acquires all of them for the hold itself and for no thread: any thread may release it, with dlock_held_release(). Otherwise
/// as dlock_lock_all_acquire(); a second acquire waits for the first, whichever thread asks. `out_held` gets the hold: free it
/// with dlock_held_free() after the release, for without one the leases have to run out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_take(
    set: *const dlock_lock_all_t,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_lock_all_take";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_held, "out_held", op)?;
            let how = How::read(options, op)?;
            let taking = ops::lock_all_acquire(state, id(set), Holding::ByHandle, how.wait_ms, how.lease_ms);
            out.put(handle(how.wait(state, taking)?.handle));
            Ok(())
        })
    }
}

/// Undoes one acquire of each by the calling thread; those that it had acquired once are freed, by one request. DLOCK_NOT_HELD
/// when the thread does not hold one of them (any more: a lease that ran out is told here too), which the error names; the
/// others are released all the same.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_release(
    set: *const dlock_lock_all_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_lock_all_release", error, |state| {
            state.wait(ops::lock_all_release(state, id(set), this_thread(), None), None)
        })
    }
}

/// Makes what the calling thread holds of each last `lease_ms` (100 to 86400000) from now, or as long as it did if that is
/// longer, by one request. DLOCK_NOT_HELD when the thread does not hold one of them or has lost it; others may be prolonged
/// then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_extend(
    set: *const dlock_lock_all_t,
    lease_ms: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_lock_all_extend", error, |state| {
            state.wait(ops::lock_all_extend(state, id(set), this_thread(), lease_ms), None)
        })
    }
}

/// How many times the calling thread holds all of them; 0 when it does not hold one of them, or has lost it. No I/O. An answer
/// of 0 tells the thread of a loss: its next acquire begins anew, as after any error that told it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_hold_count(
    set: *const dlock_lock_all_t,
    out_count: *mut u32,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_lock_all_hold_count", out_count, error, |state| {
            ops::lock_all_hold_count(state, id(set), this_thread())
        })
    }
}

/// A handle of what the calling thread has of all of them, lost or not, to ask for tokens or loss. DLOCK_NOT_HELD when it has
/// not acquired one of them. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_lock_all_held(
    set: *const dlock_lock_all_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_lock_all_held", out_held, error, |state| {
            let held = ops::lock_all_held(state, id(set), this_thread())?;
            Ok(handle(held.ok_or_else(not_held)?.handle))
        })
    }
}

/// What is meant by no options; the same as DLOCK_LOCK_OPTIONS_INIT.
const DEFAULTS: dlock_lock_options_t = dlock_lock_options_t {
    struct_size: size_of::<dlock_lock_options_t>(),
    lease_ms: 0,
    reentrant: -1,
    watchdog_lease_ms: 0,
};

/// The names at `names`.
///
/// # Safety
/// As the header says: `names` is NULL or readable for `len` pointers, each readable for its length or up to a NUL, and
/// `lens` is NULL or readable for `len` numbers.
unsafe fn names_at<'a>(
    names: *const *const c_char,
    lens: *const usize,
    len: usize,
    op: &'static str,
) -> Result<Vec<&'a [u8]>> {
    if len > NAMES_MAX {
        return Err(refuse_for(op, format_args!("{len} names were given"), "1 to 100 different names"));
    }
    if names.is_null() && len > 0 {
        return Err(refuse(op, format!("names is NULL with a length of {len}")));
    }
    // SAFETY: not null where there are any, of a sane length, and readable by the caller's promise.
    unsafe { (0..len).map(|at| name_at(names.add(at), lens, at, op)).collect() }
}

/// # Safety
/// As [`names_at`], for the name at place `at`.
unsafe fn name_at<'a>(name: *const *const c_char, lens: *const usize, at: usize, op: &'static str) -> Result<&'a [u8]> {
    // SAFETY: passed on. Memory of the caller may be unaligned.
    let name = unsafe { name.read_unaligned() };
    if name.is_null() {
        return Err(refuse(op, format!("names[{at}] is NULL")));
    }
    if lens.is_null() {
        // SAFETY: not null, and without lengths it ends with a NUL.
        return Ok(unsafe { std::ffi::CStr::from_ptr(name) }.to_bytes());
    }
    // SAFETY: passed on.
    unsafe { text::name(name, lens.add(at).read_unaligned(), op) }
}

unsafe fn acquire(
    state: &'static State,
    set: *const dlock_lock_all_t,
    how: &How,
    out_held: *mut *mut dlock_held_t,
) -> Result<()> {
    let holding = Holding::ByHolder(this_thread());
    let acquiring = ops::lock_all_acquire(state, id(set), holding, how.wait_ms, how.lease_ms);
    let held = how.wait(state, acquiring)?;
    // SAFETY: passed on.
    unsafe { hand_out(state, held, out_held) }
}

fn not_held() -> Error {
    Error::new(ErrorKind::NotHeld, "held", "the calling thread does not hold all of these locks")
}
