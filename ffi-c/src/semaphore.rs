//! Semaphores: permits held by the calling thread, or by a handle; and what the server says about one.

use std::ffi::c_char;

use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, Holding};
use libdlock_bridge::{HandleKind, SemaphoreInspection, State, this_thread};

use crate::acquire::{How, hand_out};
use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::{Out, sized, sized_out};
use crate::text;
use crate::types::{dlock_acquire_options_t, dlock_client_t, dlock_held_t, handle, id, lease, optional_id};

/// A semaphore, by name.
pub struct dlock_semaphore_t(());

/// How to open a semaphore. Begin with DLOCK_SEMAPHORE_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_semaphore_options_t {
    /// `sizeof(dlock_semaphore_options_t)`.
    pub struct_size: usize,
    /// 0: a lease that is renewed for as long as permits are held, see `watchdog_lease_ms`. Otherwise a lease of 100 to
    /// 86400000 ms that is not renewed.
    pub lease_ms: i64,
    /// With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
    /// `lease_ms` it has to be 0.
    pub watchdog_lease_ms: i64,
}

/// How many permits a semaphore has, as the server sees it. Begin with DLOCK_SEMAPHORE_INSPECTION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_semaphore_inspection_t {
    /// `sizeof(dlock_semaphore_inspection_t)`.
    pub struct_size: usize,
    /// Whether the semaphore is there; the first acquire makes it.
    pub exists: bool,
    /// How many permits there are in all; 0 when it is not there.
    pub permits: u64,
    /// How many can be acquired now, those whose lease has run out among them; negative after the number was lowered below
    /// what is taken.
    pub available: i64,
    /// How many processes stand in the queue.
    pub queued: u64,
}

impl dlock_semaphore_inspection_t {
    pub(crate) const EMPTY: Self =
        Self { struct_size: size_of::<Self>(), exists: false, permits: 0, available: 0, queued: 0 };

    pub(crate) fn of(seen: &SemaphoreInspection) -> Self {
        Self {
            exists: seen.permits.is_some(),
            permits: seen.permits.unwrap_or(0),
            available: seen.available,
            queued: seen.queued,
            ..Self::EMPTY
        }
    }
}

/// Makes a semaphore with a name of 1 to 512 bytes of UTF-8. No I/O. `permits`, 1 to 2147483647, is how many there are in all if
/// the first acquire makes it on the server; one that is there keeps its own number, see dlock_semaphore_set_permits(), and a
/// client that was given another one warns in its log events. `options` may be NULL. DLOCK_INVALID_NAME for a name that is
/// refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    permits: i64,
    options: *const dlock_semaphore_options_t,
    out_semaphore: *mut *mut dlock_semaphore_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_semaphore_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_semaphore, "out_semaphore", op)?;
            let name = text::name(name, name_len, op)?;
            let (lease_ms, watchdog_lease_ms) = if options.is_null() {
                (0, 0)
            } else {
                let options = sized(options, "options", op)?;
                (options.lease_ms, options.watchdog_lease_ms)
            };
            let (lease, watchdog_lease) = (lease(lease_ms), lease(watchdog_lease_ms));
            out.put(handle(ops::semaphore_open(state, id(client), name, permits, lease, watchdog_lease)?));
            Ok(())
        })
    }
}

/// Gives the handle up. Holds of permits stay; other handles of the same name do too.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_semaphore_free(semaphore: *mut dlock_semaphore_t) -> dlock_status_t {
    free("dlock_semaphore_free", HandleKind::Semaphore, semaphore)
}

/// Writes the semaphore's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
/// is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_name(
    semaphore: *const dlock_semaphore_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_semaphore_name", into, error, |state| ops::semaphore_name(state, id(semaphore))) }
}

/// Acquires `permits`, 1 to 10000, all at once, for the calling thread. Each acquire is a hold of its own: a thread that has
/// permits waits for more like any other caller. Waiters are served in the order of arrival, few permits not before many.
/// `options` may be NULL: waits for ever. DLOCK_BUSY if they were not available within the wait. DLOCK_INVALID_ARGUMENT, at
/// once, for more than there are in all. `out_held` may be NULL when neither ids nor loss matter; otherwise free what it gets
/// with dlock_held_free(), before or after the release. The hold ends with dlock_semaphore_release() by the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_acquire(
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_semaphore_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let how = How::read(options, op)?;
            acquire(state, semaphore, permits, &how, out_held)
        })
    }
}

/// Acquires `permits` if so many are available, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue
/// head: after that it is DLOCK_BUSY also when so many are available. On a server that is gone it tries for operation_timeout,
/// 10 s by default. Otherwise as dlock_semaphore_acquire().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_try_acquire(
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_semaphore_try_acquire", error, |state| acquire(state, semaphore, permits, &How::TRY, out_held))
    }
}

/// Acquires `permits` for the hold itself and for no thread: any thread may release it, with dlock_held_release(). Otherwise as
/// dlock_semaphore_acquire(). `out_held` gets the hold: free it with dlock_held_free() after the release, for without one the
/// lease has to run out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_take(
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_semaphore_take";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_held, "out_held", op)?;
            let how = How::read(options, op)?;
            let holding = Holding::ByHandle;
            let taking = ops::semaphore_acquire(state, id(semaphore), holding, permits, how.wait_ms, how.lease_ms);
            out.put(handle(how.wait(state, taking)?.handle));
            Ok(())
        })
    }
}

/// Ends one hold of the calling thread, with all its permits: the one that `held` shows, as dlock_semaphore_acquire() gave it;
/// with NULL the latest. DLOCK_NOT_HELD when the thread has no such hold (any more: a lease that ran out is told here too);
/// then nothing of anybody else's was released. DLOCK_INVALID_ARGUMENT for a hold of another object, and for one that is its
/// handle's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_release(
    semaphore: *const dlock_semaphore_t,
    held: *const dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_semaphore_release", error, |state| {
            let number = number(state, semaphore, held)?;
            state.wait(ops::semaphore_release(state, id(semaphore), this_thread(), number), None)
        })
    }
}

/// Makes one hold of the calling thread last `lease_ms` (100 to 86400000) from now, or as long as it did if that is longer: the
/// one that `held` shows; with NULL the latest. Asks the server in any case. DLOCK_NOT_HELD when the thread has no such hold or
/// has lost it; DLOCK_INVALID_ARGUMENT as dlock_semaphore_release().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_extend(
    semaphore: *const dlock_semaphore_t,
    held: *const dlock_held_t,
    lease_ms: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_semaphore_extend", error, |state| {
            let number = number(state, semaphore, held)?;
            state.wait(ops::semaphore_extend(state, id(semaphore), this_thread(), number, lease_ms), None)
        })
    }
}

/// How many holds the calling thread has, of however many permits each; lost ones do not count. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_hold_count(
    semaphore: *const dlock_semaphore_t,
    out_count: *mut u32,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_semaphore_hold_count", out_count, error, |state| {
            ops::semaphore_hold_count(state, id(semaphore), this_thread())
        })
    }
}

/// A handle of the latest hold that the calling thread has, lost or not, to ask for its permits or loss. DLOCK_NOT_HELD when it
/// has none. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_held(
    semaphore: *const dlock_semaphore_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_semaphore_held", out_held, error, |state| {
            let held = ops::semaphore_held(state, id(semaphore), this_thread())?;
            Ok(handle(held.ok_or_else(not_held)?.handle))
        })
    }
}

/// Sets how many permits there are in all, 1 to 2147483647, for everybody; makes the semaphore if it is not there. Lowered, what
/// is taken stays taken, and nothing is granted until enough was given back. Raised, it wakes those whose turn it is.
/// DLOCK_WRONG_TYPE when the key is no semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_set_permits(
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_semaphore_set_permits", error, |state| {
            state.wait(ops::semaphore_set_permits(state, id(semaphore), permits), None)
        })
    }
}

/// Asks the server how many permits there are. Begin the answer with DLOCK_SEMAPHORE_INSPECTION_INIT. DLOCK_WRONG_TYPE when the
/// key is no semaphore.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_semaphore_inspect(
    semaphore: *const dlock_semaphore_t,
    out_inspection: *mut dlock_semaphore_inspection_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_semaphore_inspect";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_inspection, "out_inspection", op)?;
            let seen = state.wait(ops::semaphore_inspect(state, id(semaphore)), None)?;
            out.put(dlock_semaphore_inspection_t::of(&seen));
            Ok(())
        })
    }
}

unsafe fn acquire(
    state: &'static State,
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    how: &How,
    out_held: *mut *mut dlock_held_t,
) -> Result<()> {
    let holding = Holding::ByHolder(this_thread());
    let acquiring = ops::semaphore_acquire(state, id(semaphore), holding, permits, how.wait_ms, how.lease_ms);
    let held = how.wait(state, acquiring)?;
    // SAFETY: passed on.
    unsafe { hand_out(state, held, out_held) }
}

/// Which of the thread's holds is meant; none is the latest.
fn number(state: &State, semaphore: *const dlock_semaphore_t, held: *const dlock_held_t) -> Result<Option<u64>> {
    optional_id(held).map(|held| ops::semaphore_number(state, id(semaphore), held)).transpose()
}

fn not_held() -> Error {
    Error::new(ErrorKind::NotHeld, "held", "the calling thread holds no permits of this semaphore")
}
