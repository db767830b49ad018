//! Read-write locks in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops::{self, Holding};

use crate::acquire::How;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::rw_lock::dlock_rw_lock_t;
use crate::submit::{Ticket, submit};
use crate::types::{dlock_acquire_options_t, dlock_op_t, dlock_port_t, id};

/// Acquires a side of a read-write lock (see dlock_rw_lock_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if it
/// was not acquired within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
/// dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rw_lock_acquire(
    port: *const dlock_port_t,
    side: *const dlock_rw_lock_t,
    options: *const dlock_acquire_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_rw_lock_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = How::read(options, op)?;
            let acquiring = ops::rw_lock_acquire(state, id(side), Holding::ByHandle, how.wait_ms, how.lease_ms);
            Ok(state.with_cancel(how.cancel, acquiring))
        })
    }
}

/// Frees both sides of a read-write lock whoever holds them (see dlock_rw_lock_force_release()); completes with
/// DLOCK_COMPLETION_FLAG. Cancelled, it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rw_lock_force_release(
    port: *const dlock_port_t,
    side: *const dlock_rw_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rw_lock_force_release", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::rw_lock_force_release(state, id(side)))
        })
    }
}

/// Asks who holds a read-write lock (see dlock_rw_lock_inspect()); completes with DLOCK_COMPLETION_RW_LOCK_INSPECTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_rw_lock_inspect(
    port: *const dlock_port_t,
    side: *const dlock_rw_lock_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_rw_lock_inspect", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::rw_lock_inspect(state, id(side)))
        })
    }
}
