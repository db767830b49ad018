//! Counting semaphores in the asynchronous form.

use std::ffi::c_void;

use libdlock_bridge::ops;

use crate::counting_semaphore::dlock_counting_semaphore_t;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::submit::{Ticket, submit};
use crate::types::{dlock_op_t, dlock_port_t, id, wait};

/// Makes a counting semaphore (see dlock_counting_semaphore_try_set_permits()); completes with DLOCK_COMPLETION_FLAG: whether
/// this has made it. Cancelled, it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_counting_semaphore_try_set_permits(
    port: *const dlock_port_t,
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_counting_semaphore_try_set_permits", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::counting_semaphore_try_set_permits(state, id(semaphore), permits))
        })
    }
}

/// Acquires permits of a counting semaphore, waiting at most `wait_ms` (see dlock_counting_semaphore_acquire()); completes with
/// DLOCK_COMPLETION_DONE, or with DLOCK_BUSY if they were not available within the wait. Cancelled, it leaves neither permits
/// nor a place in the queue; but when dlock_op_cancel() says that it was too late, the permits are there to be released. A port
/// that is freed gives back those that no completion has told of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_counting_semaphore_acquire(
    port: *const dlock_port_t,
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_counting_semaphore_acquire", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::counting_semaphore_acquire(state, id(semaphore), permits, wait(wait_ms)))
        })
    }
}

/// Brings back permits of a counting semaphore (see dlock_counting_semaphore_release()); completes with DLOCK_COMPLETION_DONE.
/// Cancelled, it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_counting_semaphore_release(
    port: *const dlock_port_t,
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_counting_semaphore_release", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::counting_semaphore_release(state, id(semaphore), permits))
        })
    }
}

/// Changes how many permits of a counting semaphore are available (see dlock_counting_semaphore_add_permits()); completes with
/// DLOCK_COMPLETION_DONE. Cancelled, it goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_counting_semaphore_add_permits(
    port: *const dlock_port_t,
    semaphore: *const dlock_counting_semaphore_t,
    permits: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_counting_semaphore_add_permits", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::counting_semaphore_add_permits(state, id(semaphore), permits))
        })
    }
}

/// Takes all permits of a counting semaphore that are available (see dlock_counting_semaphore_drain()); completes with
/// DLOCK_COMPLETION_NUMBER: how many there were. Cancelled, it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_counting_semaphore_drain(
    port: *const dlock_port_t,
    semaphore: *const dlock_counting_semaphore_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_counting_semaphore_drain", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::counting_semaphore_drain(state, id(semaphore)))
        })
    }
}

/// Asks how many permits a counting semaphore has; completes with DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_counting_semaphore_inspect(
    port: *const dlock_port_t,
    semaphore: *const dlock_counting_semaphore_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit("dlock_submit_counting_semaphore_inspect", Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::counting_semaphore_inspect(state, id(semaphore)))
        })
    }
}
