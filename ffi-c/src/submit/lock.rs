//! Locks in the asynchronous form.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops::{self, Holding};

use crate::acquire::How;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::submit::{Ticket, submit};
use crate::text;
use crate::types::{dlock_acquire_options_t, dlock_lock_t, dlock_op_t, dlock_port_t, id};

/// Acquires a lock; completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if it was not acquired within the wait.
/// The hold is the handle's own: any thread may release it, dlock_held_reenter() takes it once more, and a second acquire
/// waits for the first. Cancelled, it leaves no hold behind.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_acquire(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    options: *const dlock_acquire_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = How::read(options, op)?;
            let acquiring = ops::lock_acquire(state, id(lock), Holding::ByHandle, how.wait_ms, how.lease_ms);
            Ok(state.with_cancel(how.cancel, acquiring))
        })
    }
}

/// Takes a detached hold over (see dlock_lock_attach()); completes with DLOCK_COMPLETION_HELD. Cancelled, it leaves no hold
/// behind, and the text may be used up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_attach(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    detached: *const c_char,
    detached_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_attach";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let detached = text::bytes(detached, detached_len, "detached hold", op)?.to_vec();
            Ok(ops::lock_attach(state, id(lock), Holding::ByHandle, detached))
        })
    }
}

/// Frees a lock whoever holds it (see dlock_lock_force_release()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
/// done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_force_release(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_force_release", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::lock_force_release(state, id(lock)))
        })
    }
}

/// Asks who holds a lock (see dlock_lock_inspect()); completes with DLOCK_COMPLETION_INSPECTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_inspect(
    port: *const dlock_port_t,
    lock: *const dlock_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_inspect", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::lock_inspect(state, id(lock)))
        })
    }
}
