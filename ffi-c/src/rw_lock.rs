//! Read-write locks: each side held by the calling thread, or by a handle; and what the server says about both.

use std::ffi::c_char;

use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, Holding, RwLockArgs};
use libdlock_bridge::{HandleKind, RwLockInspection, State, this_thread};

use crate::acquire::{How, hand_out};
use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t, refuse_for};
use crate::out::{Out, sized, sized_out};
use crate::text::{self, fill, millis};
use crate::types::{
    DLOCK_OWNER_SIZE, dlock_acquire_options_t, dlock_client_t, dlock_held_t, handle, id, lease, reentrant, shared_age,
};

/// One side of a read-write lock, by name. Open a handle for each side that is used.
pub struct dlock_rw_lock_t(());

/// A side of a read-write lock.
pub type dlock_side_t = i32;
/// Any number may hold it at a time, while nobody else writes.
pub const DLOCK_SIDE_READ: dlock_side_t = 0;
/// One may hold it at a time, while nobody else reads.
pub const DLOCK_SIDE_WRITE: dlock_side_t = 1;

/// How to open a side of a read-write lock. Begin with DLOCK_RW_LOCK_OPTIONS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_rw_lock_options_t {
    /// `sizeof(dlock_rw_lock_options_t)`.
    pub struct_size: usize,
    /// 0: a lease that is renewed for as long as the side is held, see `watchdog_lease_ms`. Otherwise a lease of 100 to
    /// 86400000 ms that is not renewed.
    pub lease_ms: i64,
    /// 1: the holder of a side may acquire it again. 0: that fails with DLOCK_DEADLOCK. -1: as the client's option says.
    pub reentrant: i32,
    /// With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
    /// `lease_ms` it has to be 0.
    pub watchdog_lease_ms: i64,
    /// How long after the server's grant a reader of this process joins it without a round trip: 0 to 10000 ms, -1 is 10 ms.
    /// Readers that come later ask the server, where a writer that waits is in front of them.
    pub shared_age_ms: i64,
}

/// Who holds a read-write lock, as the server sees it. Begin with DLOCK_RW_LOCK_INSPECTION_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_rw_lock_inspection_t {
    /// `sizeof(dlock_rw_lock_inspection_t)`.
    pub struct_size: usize,
    /// Whether anybody holds the write side.
    pub writing: bool,
    /// Whether this client does.
    pub ours: bool,
    /// How many holds of the read side there are; readers of one process that share one count as one.
    pub readers: u64,
    /// What is left of the longest lease in ms; -1 when there is none (not held, or a foreign key without a time to live).
    pub ttl_ms: i64,
    /// The last token reserved under this name; 0 when the server remembers none. The holder's may be lower.
    pub token: u64,
    /// The owner of the write side, NUL-terminated; empty when nobody holds it.
    pub writer: [c_char; DLOCK_OWNER_SIZE],
    /// How many processes stand in the queue.
    pub queued: u64,
}

impl dlock_rw_lock_inspection_t {
    pub(crate) const EMPTY: Self = Self {
        struct_size: size_of::<Self>(),
        writing: false,
        ours: false,
        readers: 0,
        ttl_ms: -1,
        token: 0,
        writer: [0; DLOCK_OWNER_SIZE],
        queued: 0,
    };

    pub(crate) fn of(seen: &RwLockInspection) -> Self {
        let mut answer = Self {
            writing: seen.writer.is_some(),
            ours: seen.ours,
            readers: seen.readers,
            ttl_ms: seen.ttl.map_or(-1, millis),
            token: seen.token.unwrap_or(0),
            queued: seen.queued,
            ..Self::EMPTY
        };
        fill(&mut answer.writer, seen.writer.as_deref().unwrap_or(""));
        answer
    }
}

/// Makes a handle of one side, DLOCK_SIDE_READ or DLOCK_SIDE_WRITE, of the read-write lock with a name of 1 to 512 bytes of
/// UTF-8. No I/O. `options` may be NULL. DLOCK_INVALID_NAME for a name that is refused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    which: dlock_side_t,
    options: *const dlock_rw_lock_options_t,
    out_side: *mut *mut dlock_rw_lock_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rw_lock_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_side, "out_side", op)?;
            let (name, write) = (text::name(name, name_len, op)?, writes(which, op)?);
            let given = if options.is_null() { DEFAULTS } else { sized(options, "options", op)? };
            let given = RwLockArgs {
                lease_ms: lease(given.lease_ms),
                watchdog_lease_ms: lease(given.watchdog_lease_ms),
                reentrant: reentrant(given.reentrant, op)?,
                shared_age_ms: shared_age(given.shared_age_ms),
            };
            out.put(handle(ops::rw_lock_open(state, id(client), name, write, given)?));
            Ok(())
        })
    }
}

/// Gives the handle up. Holds stay; other handles of the same name do too.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_rw_lock_free(side: *mut dlock_rw_lock_t) -> dlock_status_t {
    free("dlock_rw_lock_free", HandleKind::RwLockSide, side)
}

/// Writes the lock's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
/// is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_name(
    side: *const dlock_rw_lock_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_rw_lock_name", into, error, |state| ops::rw_lock_name(state, id(side))) }
}

/// Acquires the side for the calling thread, which may hold it already (see `reentrant`). Served in the order of arrival: a
/// reader that comes while a writer waits stands behind it, and readers that stand next to one another are admitted together.
///
/// A thread that writes may read as well: it acquires the read side at once, and when it releases the write side it goes on as
/// a reader, and the readers that wait are woken. A thread that reads cannot write too, since it would wait for itself:
/// DLOCK_DEADLOCK, at once. DLOCK_LOST, once, when the thread has lost what it held of this lock and was not told yet.
///
/// `options` may be NULL: waits for ever. DLOCK_BUSY if it was not acquired within the wait. `out_held` may be NULL when neither
/// token nor loss matter; otherwise free what it gets with dlock_held_free(), before or after the release. The hold ends with
/// dlock_rw_lock_release() by the same thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_acquire(
    side: *const dlock_rw_lock_t,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rw_lock_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let how = How::read(options, op)?;
            acquire(state, side, &how, out_held)
        })
    }
}

/// Acquires the side if it is to be had, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue head:
/// after that it is DLOCK_BUSY also when it is to be had. On a server that is gone it tries for operation_timeout, 10 s by
/// default. Otherwise as dlock_rw_lock_acquire().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_try_acquire(
    side: *const dlock_rw_lock_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_rw_lock_try_acquire", error, |state| acquire(state, side, &How::TRY, out_held)) }
}

/// Acquires the side for the hold itself and for no thread: any thread may release it, with dlock_held_release(). Otherwise as
/// dlock_rw_lock_acquire(); a second acquire waits for the first where the two exclude each other, whichever thread asks.
/// `out_held` gets the hold: free it with dlock_held_free() after the release, for without one the lease has to run out.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_take(
    side: *const dlock_rw_lock_t,
    options: *const dlock_acquire_options_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rw_lock_take";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_held, "out_held", op)?;
            let how = How::read(options, op)?;
            let taking = ops::rw_lock_acquire(state, id(side), Holding::ByHandle, how.wait_ms, how.lease_ms);
            out.put(handle(how.wait(state, taking)?.handle));
            Ok(())
        })
    }
}

/// Undoes one acquire of the side by the calling thread; the last one ends its hold. DLOCK_NOT_HELD when the thread does not
/// hold the side (any more: a lease that ran out is told here too).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_release(
    side: *const dlock_rw_lock_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_rw_lock_release", error, |state| {
            state.wait(ops::rw_lock_release(state, id(side), this_thread(), None), None)
        })
    }
}

/// The calling thread goes on as a reader, and nobody else has written in between: turns one acquire of the write side, of which
/// the handle has to be, into one of the read side, and wakes the readers that wait. `out_held` may be NULL; otherwise it gets the
/// hold of the read side, to be freed as that of an acquire; the thread ends it with dlock_rw_lock_release() of the read side.
/// DLOCK_NOT_HELD when the thread does not write, or lost the write side; DLOCK_INVALID_ARGUMENT for a handle of the read side.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_downgrade(
    side: *const dlock_rw_lock_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_rw_lock_downgrade", error, |state| {
            let held = state.wait(ops::rw_lock_downgrade(state, id(side), this_thread(), None), None)?;
            hand_out(state, held, out_held)
        })
    }
}

/// Makes the calling thread's hold of the side last `lease_ms` (100 to 86400000) from now, or as long as it did if that is
/// longer; for readers that share the hold as well. Asks the server in any case. DLOCK_NOT_HELD when the thread does not hold
/// the side or has lost it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_extend(
    side: *const dlock_rw_lock_t,
    lease_ms: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_rw_lock_extend", error, |state| {
            state.wait(ops::rw_lock_extend(state, id(side), this_thread(), lease_ms), None)
        })
    }
}

/// How many times the calling thread holds the side; 0 when it does not, or has lost it. No I/O. An answer of 0 tells the
/// thread of a loss: its next acquire begins anew, as after any error that told it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_hold_count(
    side: *const dlock_rw_lock_t,
    out_count: *mut u32,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_rw_lock_hold_count", out_count, error, |state| {
            ops::rw_lock_hold_count(state, id(side), this_thread())
        })
    }
}

/// A handle of the hold that the calling thread has of the side, lost or not, to ask for its token or loss. DLOCK_NOT_HELD when
/// it has none. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_held(
    side: *const dlock_rw_lock_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_rw_lock_held", out_held, error, |state| {
            let held = ops::rw_lock_held(state, id(side), this_thread())?;
            Ok(handle(held.ok_or_else(not_held)?.handle))
        })
    }
}

/// Frees both sides whoever holds them, whichever side the handle is of. A hold of this client is lost when this returns;
/// another client is sent a message and looks at once; until then only its fencing token protects the resource. `out_was_held`
/// may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_force_release(
    side: *const dlock_rw_lock_t,
    out_was_held: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rw_lock_force_release";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let was_held = state.wait(ops::rw_lock_force_release(state, id(side)), None)?;
            if let Ok(out) = Out::required(out_was_held, "out_was_held", op) {
                out.put(was_held);
            }
            Ok(())
        })
    }
}

/// Asks the server who writes or how many read, whichever side the handle is of. Begin the answer with
/// DLOCK_RW_LOCK_INSPECTION_INIT. DLOCK_WRONG_TYPE when the key is no read-write lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_rw_lock_inspect(
    side: *const dlock_rw_lock_t,
    out_inspection: *mut dlock_rw_lock_inspection_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_rw_lock_inspect";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_inspection, "out_inspection", op)?;
            let seen = state.wait(ops::rw_lock_inspect(state, id(side)), None)?;
            out.put(dlock_rw_lock_inspection_t::of(&seen));
            Ok(())
        })
    }
}

/// What is meant by no options; the same as DLOCK_RW_LOCK_OPTIONS_INIT.
const DEFAULTS: dlock_rw_lock_options_t = dlock_rw_lock_options_t {
    struct_size: size_of::<dlock_rw_lock_options_t>(),
    lease_ms: 0,
    reentrant: -1,
    watchdog_lease_ms: 0,
    shared_age_ms: -1,
};

unsafe fn acquire(
    state: &'static State,
    side: *const dlock_rw_lock_t,
    how: &How,
    out_held: *mut *mut dlock_held_t,
) -> Result<()> {
    let holding = Holding::ByHolder(this_thread());
    let acquiring = ops::rw_lock_acquire(state, id(side), holding, how.wait_ms, how.lease_ms);
    let held = how.wait(state, acquiring)?;
    // SAFETY: passed on.
    unsafe { hand_out(state, held, out_held) }
}

fn writes(which: dlock_side_t, op: &'static str) -> Result<bool> {
    match which {
        DLOCK_SIDE_READ => Ok(false),
        DLOCK_SIDE_WRITE => Ok(true),
        _ => {
            let allowed = "DLOCK_SIDE_READ (0) and DLOCK_SIDE_WRITE (1)";
            Err(refuse_for(op, format_args!("the side is {which}"), allowed))
        }
    }
}

fn not_held() -> Error {
    Error::new(ErrorKind::NotHeld, "held", "the calling thread does not hold this side")
}
