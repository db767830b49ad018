//! Holds: token, validity, loss; and the end of a hold that is a handle's own.

use std::ffi::c_char;

use libdlock::lease::LossReason;
use libdlock_bridge::{HandleKind, ops};

use crate::call::{Buffer, ask, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::{put_each, sized_out};
use crate::text::{self, millis};
use crate::types::{dlock_cancel_t, dlock_detached_t, dlock_held_t, handle, id, optional_id, wait};

/// Why a hold was lost.
pub type dlock_loss_t = i32;
/// Not lost.
pub const DLOCK_LOSS_NONE: dlock_loss_t = 0;
// <api:losses> written by `python3 api/write.py` from api/losses.json
/// The lease ran out: it was given and is over, or the server could not be reached to renew it.
pub const DLOCK_LOSS_EXPIRED: dlock_loss_t = 1;
/// Another holder has it now.
pub const DLOCK_LOSS_TAKEN: dlock_loss_t = 2;
/// The key is gone: deleted, flushed or force-released.
pub const DLOCK_LOSS_DELETED: dlock_loss_t = 3;
/// The key is gone, and so is the server that had it: a restart or a failover.
pub const DLOCK_LOSS_SERVER_CHANGED: dlock_loss_t = 4;
/// The client was closed, or the holder went away without a release; what it held was released, or its lease runs
/// out.
pub const DLOCK_LOSS_CLOSED: dlock_loss_t = 5;
/// A defect in libdlock ended the renewals.
pub const DLOCK_LOSS_INTERNAL: dlock_loss_t = 6;
// </api:losses>

pub(crate) fn loss(reason: Option<LossReason>) -> dlock_loss_t {
    match reason {
        None => DLOCK_LOSS_NONE,
        // <api:loss-of> written by `python3 api/write.py` from api/losses.json
        Some(LossReason::Expired) => DLOCK_LOSS_EXPIRED,
        Some(LossReason::Taken) => DLOCK_LOSS_TAKEN,
        Some(LossReason::Deleted) => DLOCK_LOSS_DELETED,
        Some(LossReason::ServerChanged) => DLOCK_LOSS_SERVER_CHANGED,
        Some(LossReason::Closed) => DLOCK_LOSS_CLOSED,
        // </api:loss-of>
        Some(_) => DLOCK_LOSS_INTERNAL,
    }
}

/// The fencing token: larger than any granted before it under this name. Send it along with what the lock protects, and
/// let the receiver refuse a lower one than it has seen. 0, lower than the token of any lock, for permits of a semaphore,
/// which have none, and for several locks, which have one each: dlock_held_token_of().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_token(
    held: *const dlock_held_t,
    out_token: *mut u64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_held_token", out_token, error, |state| ops::held_token(state, id(held))) }
}

/// An id of a permit, as Redisson has them: 32 hexadecimal digits and a NUL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_permit_id_t {
    /// NUL-terminated.
    pub text: [c_char; 33],
}

/// How many permits of a semaphore the hold has, and their ids, which are written to `ids`. `ids_len` is the room there, as
/// many as were acquired or more; less is DLOCK_INVALID_ARGUMENT. `ids` may be NULL with a room of 0 to ask for the number
/// alone. No I/O. 0 for a hold of a lock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_permits(
    held: *const dlock_held_t,
    ids: *mut dlock_permit_id_t,
    ids_len: usize,
    out_count: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_held_permits";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask(op, out_count, error, |state| {
            let permits = ops::held_permits(state, id(held))?;
            if ids.is_null() && ids_len == 0 {
                return Ok(permits.len());
            }
            put_each(ids, ids_len, permits.iter().map(|permit| permit_id(permit)), op)?;
            Ok(permits.len())
        })
    }
}

fn permit_id(text: &str) -> dlock_permit_id_t {
    let mut id = dlock_permit_id_t { text: [0; 33] };
    text::fill(&mut id.text, text);
    id
}

/// Writes the owner as it stands on the server and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer
/// of DLOCK_OWNER_SIZE is always large enough; one that is not is DLOCK_INVALID_ARGUMENT. Empty for several locks, which have
/// one each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_owner(
    held: *const dlock_held_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_held_owner", into, error, |state| ops::held_owner(state, id(held))) }
}

/// Whether the holder may still act. No I/O: a clock is read. False from the end of the lease on, exactly.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_is_valid(
    held: *const dlock_held_t,
    out_valid: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_held_is_valid", out_valid, error, |state| ops::held_valid(state, id(held))) }
}

/// How long the hold stays valid if no renewal succeeds from now on; 0 when it is not valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_remaining_ms(
    held: *const dlock_held_t,
    out_ms: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_held_remaining_ms", out_ms, error, |state| Ok(millis(ops::held_remaining(state, id(held))?))) }
}

/// Whether and why the hold was lost: DLOCK_LOSS_NONE while it was not. No I/O. A release is no loss.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_lost(
    held: *const dlock_held_t,
    out_loss: *mut dlock_loss_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_held_lost", out_loss, error, |state| Ok(loss(ops::held_loss(state, id(held))?))) }
}

/// Waits until the hold is over: at most `wait_ms`, -1 for ever. The answer is why it was lost, or DLOCK_LOSS_NONE when it
/// was released. DLOCK_BUSY when it was not over within that. DLOCK_CANCELLED when `cancel`, which may be NULL, was fired.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_wait_lost(
    held: *const dlock_held_t,
    wait_ms: i64,
    cancel: *const dlock_cancel_t,
    out_loss: *mut dlock_loss_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_held_wait_lost", out_loss, error, |state| {
            let waiting = ops::held_wait_lost(state, id(held), wait(wait_ms));
            Ok(loss(state.wait(state.with_cancel(optional_id(cancel), waiting), None)?))
        })
    }
}

/// Takes a hold that is the handle's own (taken, or acquired through a port) once more, without I/O; it is to be released as
/// often. DLOCK_DEADLOCK when its lock is not re-entrant, DLOCK_LOST when the hold is, DLOCK_INVALID_ARGUMENT for permits:
/// each acquire of a semaphore is a hold of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_reenter(held: *const dlock_held_t, error: *mut dlock_error_t) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_held_reenter", error, |state| ops::held_reenter(state, id(held))) }
}

/// How often a hold that is the handle's own is held; 0 when it is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_hold_count(
    held: *const dlock_held_t,
    out_count: *mut u32,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_held_hold_count", out_count, error, |state| ops::held_hold_count(state, id(held))) }
}

/// Undoes one acquire or re-entry of a hold that is the handle's own (taken, or acquired through a port), from any thread; the
/// last one frees the lock. Permits end with the first, all of the hold together. DLOCK_NOT_HELD when the hold is over or was
/// lost. DLOCK_INVALID_ARGUMENT for a thread's hold: that thread releases it with the release of its
/// object, such as dlock_lock_release(); and for a delivery, which ends with dlock_delivery_ack() or dlock_delivery_nack().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_release(held: *const dlock_held_t, error: *mut dlock_error_t) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_held_release", error, |state| state.wait(ops::held_release(state, id(held)), None)) }
}

/// As the extend of its object, such as dlock_lock_extend(), for a hold that is the handle's own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_extend(
    held: *const dlock_held_t,
    lease_ms: i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_held_extend", error, |state| state.wait(ops::held_extend(state, id(held), lease_ms), None)) }
}

/// As dlock_lock_detach(), for a hold that is the handle's own. DLOCK_INVALID_ARGUMENT for a hold of anything but one lock, which
/// stays where it is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_detach(
    held: *const dlock_held_t,
    out_detached: *mut dlock_detached_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_held_detach";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_detached, "out_detached", op)?;
            let text = state.wait(ops::held_detach(state, id(held)), None)?;
            out.put(dlock_detached_t::of(&text)?);
            Ok(())
        })
    }
}

/// Turns a hold of the write side of a read-write lock that is the handle's own into one of the read side, with nobody else's
/// write in between, and wakes the readers that wait. `out_held` gets a handle of that; `held` is over then, and is to be freed
/// too. DLOCK_NOT_HELD when the hold is over or was lost; DLOCK_INVALID_ARGUMENT for a hold of anything else, and for a thread's:
/// see dlock_rw_lock_downgrade().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_downgrade(
    held: *const dlock_held_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_held_downgrade", out_held, error, |state| {
            Ok(handle(state.wait(ops::held_downgrade(state, id(held)), None)?.handle))
        })
    }
}

/// Gives the handle up. A thread's hold goes on; a hold that is the handle's own and was not released ends without a word
/// to the server: renewal stops, and the lease runs out. The job of a delivery that was not ended goes back.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_held_free(held: *mut dlock_held_t) -> dlock_status_t {
    free("dlock_held_free", HandleKind::Held, held)
}
