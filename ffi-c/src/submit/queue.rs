//! Queues in the asynchronous form.

use std::ffi::{c_char, c_void};

use libdlock_bridge::ops;

use crate::error::{dlock_error_t, dlock_status_t};
use crate::queue::{dlock_job_t, dlock_queue_t, job_at, none_was_due};
use crate::queue_jobs::number;
use crate::submit::{Ticket, submit};
use crate::text;
use crate::types::{dlock_op_t, dlock_port_t, id, wait};

/// Puts a job (see dlock_queue_put()); completes with DLOCK_COMPLETION_PUT. Cancelled, it may be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_put(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    job: *const dlock_job_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_put";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::queue_put(state, id(queue), job_at(job, op)?))
        })
    }
}

/// Takes the first job that is due (see dlock_queue_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY when there was
/// none within `wait_ms`. Cancelled, it takes no job: one that was delivered meanwhile goes back, and does not count.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_take(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    wait_ms: i64,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_take";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let queue = id(queue);
            let taking = ops::queue_take(state, queue, wait(wait_ms));
            Ok(async move { taking.await?.map(|taken| taken.held).ok_or_else(|| none_was_due(state, queue)) })
        })
    }
}

/// Counts the jobs (see dlock_queue_counts()); completes with DLOCK_COMPLETION_QUEUE_COUNTS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_counts(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_counts";
    // SAFETY: the caller's promise, see the header.
    unsafe { submit(op, Ticket { port, user_data, out_op }, error, |state| Ok(ops::queue_counts(state, id(queue)))) }
}

/// Lists jobs that wait (see dlock_queue_peek()); completes with DLOCK_COMPLETION_JOBS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_peek(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    most: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_peek";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::queue_peek(state, id(queue), number(most)))
        })
    }
}

/// Lists dead jobs (see dlock_queue_dead()); completes with DLOCK_COMPLETION_JOBS.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_dead(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    most: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            Ok(ops::queue_dead(state, id(queue), number(most)))
        })
    }
}

/// Removes a job that waits (see dlock_queue_cancel()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
/// done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_cancel(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    job_id: *const c_char,
    job_id_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_cancel";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let job_id = text::bytes(job_id, job_id_len, "id", op)?.to_vec();
            Ok(ops::queue_cancel(state, id(queue), job_id))
        })
    }
}

/// Removes a dead job (see dlock_queue_remove_dead()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
/// done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_remove_dead(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    job_id: *const c_char,
    job_id_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_remove_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let job_id = text::bytes(job_id, job_id_len, "id", op)?.to_vec();
            Ok(ops::queue_remove_dead(state, id(queue), job_id))
        })
    }
}

/// Has a dead job wait again (see dlock_queue_requeue_dead()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
/// done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_requeue_dead(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    job_id: *const c_char,
    job_id_len: usize,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_requeue_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| {
            let job_id = text::bytes(job_id, job_id_len, "id", op)?.to_vec();
            Ok(ops::queue_requeue_dead(state, id(queue), job_id))
        })
    }
}

/// Removes all jobs that wait (see dlock_queue_purge()); completes with DLOCK_COMPLETION_NUMBER. Cancelled, it may
/// be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_purge(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_purge";
    // SAFETY: the caller's promise, see the header.
    unsafe { submit(op, Ticket { port, user_data, out_op }, error, |state| Ok(ops::queue_purge(state, id(queue)))) }
}

/// Removes all dead jobs (see dlock_queue_purge_dead()); completes with DLOCK_COMPLETION_NUMBER. Cancelled, it may
/// be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_purge_dead(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_purge_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| Ok(ops::queue_purge_dead(state, id(queue))))
    }
}

/// Has all dead jobs wait again (see dlock_queue_requeue_all_dead()); completes with DLOCK_COMPLETION_NUMBER. Cancelled, it may
/// be done or not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_submit_queue_requeue_all_dead(
    port: *const dlock_port_t,
    queue: *const dlock_queue_t,
    user_data: *mut c_void,
    out_op: *mut *mut dlock_op_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_submit_queue_requeue_all_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        submit(op, Ticket { port, user_data, out_op }, error, |state| Ok(ops::queue_requeue_all_dead(state, id(queue))))
    }
}
