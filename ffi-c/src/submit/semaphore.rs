//! Semaphores in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops::{self, Holding};

use crate::acquire::How;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::semaphore::dlock_semaphore_t;
use crate::submit::{Ticket, submit};
use crate::types::{dlock_acquire_options_t, dlock_op_t, dlock_port_t, id};

/// Acquires `permits` of a semaphore (see dlock_semaphore_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if
/// they were not available within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
/// dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in the queue.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_semaphore_acquire(
    port: *const dlock_port_t,
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    options: *const dlock_acquire_options_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_semaphore_acquire";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let how = How::read(options, op)?;
            let (wait_ms, lease_ms) = (how.wait_ms, how.lease_ms);
            let acquiring = ops::semaphore_acquire(state, id(semaphore), Holding::ByHandle, permits, wait_ms, lease_ms);
            Ok(state.with_cancel(how.cancel, acquiring))
        })
    }
}

/// Sets how many permits a semaphore has (see dlock_semaphore_set_permits()); completes with DLOCK_COMPLETION_DONE. Cancelled,
/// it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_semaphore_set_permits(
    port: *const dlock_port_t,
    semaphore: *const dlock_semaphore_t,
    permits: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_semaphore_set_permits", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::semaphore_set_permits(state, id(semaphore), permits))
        })
    }
}

/// Asks how many permits a semaphore has (see dlock_semaphore_inspect()); completes with
/// DLOCK_COMPLETION_SEMAPHORE_INSPECTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_semaphore_inspect(
    port: *const dlock_port_t,
    semaphore: *const dlock_semaphore_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_semaphore_inspect", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::semaphore_inspect(state, id(semaphore)))
        })
    }
}
