//! Deliveries: the job that a hold is of, and its end.

use std::ffi::{c_char, c_void};

use libdlock::Result;
use libdlock_bridge::{Handle, ops};

use crate::call::{Buffer, call, tell};
use crate::error::{dlock_error_t, dlock_status_t, refuse, refuse_for};
use crate::out::sized_out;
use crate::queue::{DLOCK_JOB_ID_SIZE, dlock_queue_t};
use crate::snowflake::DLOCK_BATCH_MAX;
use crate::text::{self, fill};
use crate::types::{dlock_held_t, id, wait};

/// A job that was delivered. Begin with DLOCK_DELIVERY_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_delivery_t {
    /// `sizeof(dlock_delivery_t)`.
    pub struct_size: usize,
    /// What was put: valid until the hold's handle is freed, also after the end of the delivery. Not to be written to.
    pub payload: *const c_void,
    /// Bytes of `payload`.
    pub payload_len: usize,
    /// Bytes of `id`.
    pub id_len: usize,
    /// The id of the job, NUL-terminated.
    pub id: [c_char; DLOCK_JOB_ID_SIZE],
    /// Which delivery of the job this is, from 1 on.
    pub attempt: i64,
    /// When the job was due, in milliseconds since 1970 by the server's clock.
    pub due_ms: i64,
    /// The priority with which it was put.
    pub priority: i64,
}

/// The job that the hold is a delivery of, also when it is over. No I/O. DLOCK_INVALID_ARGUMENT for a hold of anything else, as for
/// all calls about a delivery.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_delivery_job(
    held: *const dlock_held_t,
    out_job: *mut dlock_delivery_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_delivery_job";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_job, "out_job", op)?;
            let job = ops::delivery_job(state, id(held))?;
            let (payload, name) = (job.payload(), job.id());
            let mut answer = dlock_delivery_t {
                struct_size: size_of::<dlock_delivery_t>(),
                // The handle keeps the delivery, and so its payload, where it is.
                payload: payload.as_ptr().cast(),
                payload_len: payload.len(),
                id_len: name.len(),
                id: [0; DLOCK_JOB_ID_SIZE],
                attempt: job.attempt().into(),
                due_ms: job.due_ms(),
                priority: job.priority().into(),
            };
            fill(&mut answer.id, name);
            out.put(answer);
            Ok(())
        })
    }
}

/// Writes the name of the queue that the hold is a delivery of and a NUL to `buffer`, as dlock_queue_name(): of a take from several
/// queues, see dlock_queue_followed_by(), it tells them apart. No I/O.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_delivery_queue(
    held: *const dlock_held_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_delivery_queue", into, error, |state| ops::delivery_queue(state, id(held))) }
}

/// The job is done: removes it from the queue. DLOCK_NOT_HELD when the delivery is over or was lost: then the job comes again, or
/// has come to another worker, of which nothing was touched. DLOCK_OUTCOME_UNKNOWN and DLOCK_CONNECTION when no reply came: the
/// delivery is over all the same, and the job may come again. Works on a server that is out of memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_delivery_ack(held: *const dlock_held_t, error: *mut dlock_error_t) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { call("dlock_delivery_ack", error, |state| state.wait(ops::delivery_ack(state, id(held)), None)) }
}

/// The jobs of `count` deliveries of the queue are done, 0 to DLOCK_BATCH_MAX: removes them from it, by one request for each 100.
/// `helds` is an array of as many. `out_acked`, of as many flags, gets of each whether it is done; false when it was ended before or was
/// lost: then the job comes again, or has come to another worker, of which nothing was touched. It stays as it was after an error, and
/// may be NULL. DLOCK_INVALID_ARGUMENT when one is no delivery of this queue and client, and then all are held as before. Other errors as
/// dlock_delivery_ack(): the deliveries are over all the same, and the jobs may come again. Each hold is freed as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_ack_many(
    queue: *const dlock_queue_t,
    helds: *const *const dlock_held_t,
    count: usize,
    out_acked: *mut bool,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_ack_many";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let helds = helds_at(helds, count, op)?;
            let answers = state.wait(ops::queue_ack_many(state, id(queue), helds), None)?.0;
            if !out_acked.is_null() {
                // SAFETY: writable for `count` flags by the caller's promise.
                out_acked.copy_from_nonoverlapping(answers.as_ptr(), answers.len());
            }
            Ok(())
        })
    }
}

/// The handles at `helds`.
///
/// # Safety
/// `helds` is readable for `count` pointers.
unsafe fn helds_at(helds: *const *const dlock_held_t, count: usize, op: &'static str) -> Result<Vec<Handle>> {
    if count > DLOCK_BATCH_MAX {
        return Err(refuse_for(op, format_args!("a batch of {count} deliveries is out of range"), "0 to 1000000"));
    }
    if count > 0 && helds.is_null() {
        return Err(refuse(op, format!("helds is NULL with a count of {count}")));
    }
    // SAFETY: the caller's promise.
    Ok((0..count).map(|at| id(unsafe { helds.add(at).read_unaligned() })).collect())
}

/// The job is not done: puts it back, due again after `delay_ms`, 0 to 100 years, or with -1 at once at the place that it had. When
/// it was delivered as often as it may be, it is dead. `reason` is text of `reason_len` bytes, of which 1024 are kept for the dead
/// list; it may be NULL when there is none. Errors as dlock_delivery_ack(); with DLOCK_INVALID_ARGUMENT, for the delay and for a
/// reason that is no UTF-8, it is held as before.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_delivery_nack(
    held: *const dlock_held_t,
    delay_ms: i64,
    reason: *const c_char,
    reason_len: usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_delivery_nack";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let reason = text::bytes(reason, reason_len, "reason", op)?.to_vec();
            state.wait(ops::delivery_nack(state, id(held), wait(delay_ms), reason), None)
        })
    }
}

/// Puts a job back that was not begun, at its place: the delivery does not count. For workers that stop. Errors as
/// dlock_delivery_ack().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_delivery_give_back(
    held: *const dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call("dlock_delivery_give_back", error, |state| state.wait(ops::delivery_give_back(state, id(held)), None))
    }
}
