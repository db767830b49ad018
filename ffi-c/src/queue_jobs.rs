//! What is in a queue: counts, lists, the dead list, and jobs taken out of it.

use std::ffi::{c_char, c_void};
use std::future::Future;

use libdlock::Result;
use libdlock_bridge::ops::{self, ListedJob, QueueCounts};
use libdlock_bridge::{HandleKind, State};

use crate::call::{ask, call, free};
use crate::error::{dlock_error_t, dlock_status_t, refuse_for};
use crate::out::{Out, sized_out};
use crate::queue::{DLOCK_JOB_ID_SIZE, dlock_queue_t};
use crate::text::{self, fill};
use crate::types::{handle, id};

/// A list of jobs, as the server had them.
pub struct dlock_jobs_t(());

/// How many jobs dlock_queue_peek() and dlock_queue_dead() list at most.
pub const DLOCK_QUEUE_LIST_MAX: usize = 1_000;
/// Bytes of the reason why a job is dead, its NUL included.
pub const DLOCK_JOB_REASON_SIZE: usize = 1_025;

/// How many jobs a queue has. Begin with DLOCK_QUEUE_COUNTS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_queue_counts_t {
    /// `sizeof(dlock_queue_counts_t)`.
    pub struct_size: usize,
    /// Jobs that are due.
    pub ready: u64,
    /// Jobs that are not due yet.
    pub delayed: u64,
    /// Jobs that were delivered and not ended.
    pub in_flight: u64,
    /// Jobs that were delivered as often as they may be.
    pub dead: u64,
    /// Processes that wait for jobs.
    pub waiters: u64,
}

impl dlock_queue_counts_t {
    pub(crate) const EMPTY: Self =
        Self { struct_size: size_of::<Self>(), ready: 0, delayed: 0, in_flight: 0, dead: 0, waiters: 0 };

    pub(crate) fn of(counts: QueueCounts) -> Self {
        let QueueCounts { ready, delayed, in_flight, dead, waiters } = counts;
        Self { struct_size: size_of::<Self>(), ready, delayed, in_flight, dead, waiters }
    }
}

/// A job of a list. Begin with DLOCK_LISTED_JOB_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_listed_job_t {
    /// `sizeof(dlock_listed_job_t)`.
    pub struct_size: usize,
    /// What was put: valid until the list is freed. Not to be written to.
    pub payload: *const c_void,
    /// Bytes of `payload`.
    pub payload_len: usize,
    /// Bytes of `id`.
    pub id_len: usize,
    /// The id of the job, NUL-terminated.
    pub id: [c_char; DLOCK_JOB_ID_SIZE],
    /// How often it was delivered.
    pub attempts: u64,
    /// When it is due, or was, in milliseconds since 1970 by the server's clock.
    pub due_ms: i64,
    /// Whether it is dead.
    pub dead: bool,
    /// Since when, in milliseconds since 1970; 0 for a job that waits.
    pub dead_since_ms: i64,
    /// Bytes of `reason`.
    pub reason_len: usize,
    /// Why, NUL-terminated.
    pub reason: [c_char; DLOCK_JOB_REASON_SIZE],
}

impl dlock_listed_job_t {
    fn of(job: &ListedJob) -> Self {
        let (since, reason) = job.dead.as_ref().map_or((0, ""), |(since, reason)| (*since, reason));
        let mut answer = Self {
            struct_size: size_of::<Self>(),
            payload: job.payload.as_ptr().cast(),
            payload_len: job.payload.len(),
            id_len: job.id.len(),
            id: [0; DLOCK_JOB_ID_SIZE],
            attempts: job.attempts,
            due_ms: job.due_ms,
            dead: job.dead.is_some(),
            dead_since_ms: since,
            reason_len: reason.len(),
            reason: [0; DLOCK_JOB_REASON_SIZE],
        };
        fill(&mut answer.id, &job.id);
        fill(&mut answer.reason, reason);
        answer
    }
}

/// How many jobs there are. Costs the same however many that is.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_counts(
    queue: *const dlock_queue_t,
    out_counts: *mut dlock_queue_counts_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_counts";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_counts, "out_counts", op)?;
            out.put(dlock_queue_counts_t::of(state.wait(ops::queue_counts(state, id(queue)), None)?));
            Ok(())
        })
    }
}

/// The first `most` jobs that wait, 1 to DLOCK_QUEUE_LIST_MAX, due or not, in their order; fewer where they are 1 MiB together.
/// `out_jobs` gets a list: read it with dlock_jobs_len() and dlock_jobs_get(), and free it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_peek(
    queue: *const dlock_queue_t,
    most: usize,
    out_jobs: *mut *mut dlock_jobs_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_queue_peek", out_jobs, error, |state| list(state, ops::queue_peek(state, id(queue), number(most))))
    }
}

/// The first `most` dead jobs, 1 to DLOCK_QUEUE_LIST_MAX, in the order in which they died. Otherwise as dlock_queue_peek().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_dead(
    queue: *const dlock_queue_t,
    most: usize,
    out_jobs: *mut *mut dlock_jobs_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        ask("dlock_queue_dead", out_jobs, error, |state| list(state, ops::queue_dead(state, id(queue), number(most))))
    }
}

/// How many jobs a list has. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_jobs_len(
    jobs: *const dlock_jobs_t,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { ask("dlock_jobs_len", out_len, error, |state| Ok(ops::listed_jobs(state, id(jobs))?.0.len())) }
}

/// The job at place `at` of a list, from 0 on. No I/O. DLOCK_INVALID_ARGUMENT for a place from dlock_jobs_len() on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_jobs_get(
    jobs: *const dlock_jobs_t,
    at: usize,
    out_job: *mut dlock_listed_job_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_jobs_get";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_job, "out_job", op)?;
            let jobs = ops::listed_jobs(state, id(jobs))?;
            let allowed = || format!("a place below {}, which dlock_jobs_len() says", jobs.0.len());
            let job = jobs.0.get(at).ok_or_else(|| refuse_for(op, format_args!("the place is {at}"), allowed()))?;
            out.put(dlock_listed_job_t::of(job));
            Ok(())
        })
    }
}

/// Frees a list, and with it the payloads of its jobs.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_jobs_free(jobs: *mut dlock_jobs_t) -> dlock_status_t {
    free("dlock_jobs_free", HandleKind::ListedJobs, jobs)
}

/// Removes a job that waits. `out_cancelled`, which may be NULL, gets false when no job with this id does. DLOCK_NOT_HELD when it was
/// delivered: its worker is doing it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_cancel(
    queue: *const dlock_queue_t,
    job_id: *const c_char,
    job_id_len: usize,
    out_cancelled: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_cancel";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        tell_if_asked(op, out_cancelled, error, |state| {
            let job_id = text::bytes(job_id, job_id_len, "id", op)?.to_vec();
            Ok(ops::queue_cancel(state, id(queue), job_id))
        })
    }
}

/// Removes all jobs that wait, due or not. `out_count`, which may be NULL, gets how many. Deliveries go on, and the dead list stays.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_purge(
    queue: *const dlock_queue_t,
    out_count: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { tell_if_asked("dlock_queue_purge", out_count, error, |state| Ok(ops::queue_purge(state, id(queue)))) }
}

/// Removes a dead job. `out_removed`, which may be NULL, gets false when none has this id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_remove_dead(
    queue: *const dlock_queue_t,
    job_id: *const c_char,
    job_id_len: usize,
    out_removed: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_remove_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        tell_if_asked(op, out_removed, error, |state| {
            let job_id = text::bytes(job_id, job_id_len, "id", op)?.to_vec();
            Ok(ops::queue_remove_dead(state, id(queue), job_id))
        })
    }
}

/// Removes all dead jobs. `out_count`, which may be NULL, gets how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_purge_dead(
    queue: *const dlock_queue_t,
    out_count: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_purge_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe { tell_if_asked(op, out_count, error, |state| Ok(ops::queue_purge_dead(state, id(queue)))) }
}

/// Has a dead job wait again, due now, as if it had never been delivered. `out_requeued`, which may be NULL, gets false when none has
/// this id.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_requeue_dead(
    queue: *const dlock_queue_t,
    job_id: *const c_char,
    job_id_len: usize,
    out_requeued: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_requeue_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        tell_if_asked(op, out_requeued, error, |state| {
            let job_id = text::bytes(job_id, job_id_len, "id", op)?.to_vec();
            Ok(ops::queue_requeue_dead(state, id(queue), job_id))
        })
    }
}

/// Has all jobs that are dead now wait again. `out_count`, which may be NULL, gets how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_requeue_all_dead(
    queue: *const dlock_queue_t,
    out_count: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_requeue_all_dead";
    // SAFETY: the caller's promise, see the header.
    unsafe { tell_if_asked(op, out_count, error, |state| Ok(ops::queue_requeue_all_dead(state, id(queue)))) }
}

/// As [`ask`], where the caller may leave the answer.
///
/// # Safety
/// As [`ask`].
unsafe fn tell_if_asked<T: Send, F: Future<Output = Result<T>> + Send>(
    op: &'static str,
    out: *mut T,
    error: *mut dlock_error_t,
    asking: impl FnOnce(&'static State) -> Result<F>,
) -> dlock_status_t {
    // SAFETY: passed on.
    unsafe {
        call(op, error, |state| {
            let answer = state.wait(asking(state)?, None)?;
            if let Ok(out) = Out::required(out, "out", op) {
                out.put(answer);
            }
            Ok(())
        })
    }
}

fn list(
    state: &'static State,
    asking: impl Future<Output = Result<ops::ListedJobs>> + Send,
) -> Result<*mut dlock_jobs_t> {
    let jobs = state.wait(asking, None)?;
    Ok(handle(ops::listed_jobs_keep(state, jobs)?))
}

/// A number of jobs, as the bridge takes it.
pub(crate) fn number(most: usize) -> i64 {
    i64::try_from(most).unwrap_or(i64::MAX)
}
