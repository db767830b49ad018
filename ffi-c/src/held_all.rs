//! What a hold of several locks says about each of them.

use std::ffi::c_char;

use libdlock_bridge::ops;

use crate::call::{Buffer, ask, tell};
use crate::error::{DLOCK_OK, dlock_error_t, dlock_status_t};
use crate::held::{dlock_loss_t, loss};
use crate::out::{Out, put_each};
use crate::text;
use crate::types::{dlock_held_t, id};

/// The fencing token of one of the locks of a hold of several: send it along with what the lock of that name protects.
/// DLOCK_INVALID_ARGUMENT for a name that is none of theirs, and for a hold of anything else. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_token_of(
    held: *const dlock_held_t,
    name: *const c_char,
    name_len: usize,
    out_token: *mut u64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_held_token_of";
    // SAFETY: the caller's promise, see the header.
    unsafe { ask(op, out_token, error, |state| ops::held_token_of(state, id(held), text::name(name, name_len, op)?)) }
}

/// How many locks a hold of several has, and the fencing token of each, which are written to `tokens` in the order of
/// dlock_lock_all_name(). `tokens_len` is the room there, as many as there are locks or more; less is DLOCK_INVALID_ARGUMENT.
/// `tokens` may be NULL with a room of 0 to ask for the number alone. No I/O. 0 for a hold of anything else.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_tokens(
    held: *const dlock_held_t,
    tokens: *mut u64,
    tokens_len: usize,
    out_count: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_held_tokens";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask(op, out_count, error, |state| {
            let each = ops::held_tokens(state, id(held))?;
            if tokens.is_null() && tokens_len == 0 {
                return Ok(each.len());
            }
            put_each(tokens, tokens_len, each.iter().map(|(_, token)| *token), op)?;
            Ok(each.len())
        })
    }
}

/// Which of several locks that are held as one was lost: writes its name and a NUL to `buffer`, and its bytes without the NUL to
/// `out_len`; the first of them if it is more than one. 0 bytes while none is lost, and for a hold of anything else. `out_loss`
/// may be NULL; otherwise it gets why. A buffer of DLOCK_NAME_SIZE is always large enough. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_held_lost_name(
    held: *const dlock_held_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    out_loss: *mut dlock_loss_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_held_lost_name";
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    let mut why = None;
    // SAFETY: the caller's promise, see the header.
    unsafe {
        let status = tell(op, into, error, |state| {
            let lost = ops::held_lost_member(state, id(held))?;
            why = lost.as_ref().map(|(_, reason)| *reason);
            Ok(lost.map(|(name, _)| name).unwrap_or_default())
        });
        if status == DLOCK_OK
            && let Ok(out) = Out::required(out_loss, "out_loss", op)
        {
            out.put(loss(why));
        }
        status
    }
}
