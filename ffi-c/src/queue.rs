//! Delayed queues: jobs put and taken.

use std::ffi::{c_char, c_void};

use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::{self, JobArgs, QueueArgs};
use libdlock_bridge::{Handle, HandleKind, State};

use crate::call::{Buffer, call, free, tell};
use crate::error::{dlock_error_t, dlock_status_t, refuse, refuse_for};
use crate::out::{Out, sized, sized_array, sized_out};
use crate::text::{self, fill};
use crate::types::{dlock_cancel_t, dlock_client_t, dlock_held_t, handle, id, lease, optional_id, wait};

/// A delayed queue, by name.
pub struct dlock_queue_t(());

/// How often a job is delivered if nobody says otherwise; then it is dead.
pub const DLOCK_QUEUE_ATTEMPTS_DEFAULT: i64 = 16;
/// The largest payload, in bytes, if nobody says otherwise.
pub const DLOCK_QUEUE_PAYLOAD_DEFAULT: i64 = 1_048_576;
/// How many jobs dlock_queue_take_many() takes at most.
pub const DLOCK_QUEUE_TAKE_MAX: usize = 100;
/// Bytes of a job's id, its NUL included.
pub const DLOCK_JOB_ID_SIZE: usize = 513;

/// How to open a queue. Begin with DLOCK_QUEUE_OPTIONS_INIT. These are options of the handle and not of the queue on the server.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_queue_options_t {
    /// `sizeof(dlock_queue_options_t)`.
    pub struct_size: usize,
    /// 0: a delivery has a lease that is renewed until it ends, see `watchdog_lease_ms`. Otherwise a lease of 100 to 86400000 ms
    /// that is not renewed: the job of a worker that takes longer comes again.
    pub lease_ms: i64,
    /// With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
    /// `lease_ms` it has to be 0.
    pub watchdog_lease_ms: i64,
    /// How often a job that is put through this handle is delivered, 1 to 1000000; then it is dead.
    pub max_attempts: i64,
    /// The largest payload, 0 to 2097152 bytes.
    pub max_payload: i64,
    /// How many jobs the queue may hold when one is put, dead ones among them; 0 is any number.
    pub max_length: i64,
}

/// A job to put. Begin with DLOCK_JOB_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_job_t {
    /// `sizeof(dlock_job_t)`.
    pub struct_size: usize,
    /// What is put: bytes, which are copied. May be NULL when there are none.
    pub payload: *const c_void,
    /// How many.
    pub payload_len: usize,
    /// The id, 1 to 512 bytes of UTF-8 without a NUL; NULL for a new one.
    pub id: *const c_char,
    /// Bytes of `id`.
    pub id_len: usize,
    /// After how long it is due, 0 to 100 years; 0 is at once.
    pub delay_ms: i64,
    /// When it is due, in milliseconds since 1970 by the server's clock; -1 is after `delay_ms`, which otherwise has to be 0.
    pub at_ms: i64,
    /// Jobs that are due come by priority, -32768 to 32767, the higher first.
    pub priority: i64,
}

/// What a put has done. Begin with DLOCK_PUT_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_put_t {
    /// `sizeof(dlock_put_t)`.
    pub struct_size: usize,
    /// False when a job with this id was there: nothing was put.
    pub is_new: bool,
    /// Bytes of `id`.
    pub id_len: usize,
    /// The id of the job, NUL-terminated.
    pub id: [c_char; DLOCK_JOB_ID_SIZE],
}

impl dlock_put_t {
    fn of(put: &ops::Put) -> Self {
        let mut answer = Self {
            struct_size: size_of::<Self>(),
            is_new: put.is_new,
            id_len: put.id.len(),
            id: [0; DLOCK_JOB_ID_SIZE],
        };
        fill(&mut answer.id, &put.id);
        answer
    }
}

/// Makes a queue with a name of 1 to 512 bytes of UTF-8. No I/O. `options` may be NULL. DLOCK_INVALID_NAME for a name that is
/// refused, DLOCK_INVALID_ARGUMENT for an option out of range, DLOCK_UNSUPPORTED with several independent servers.
///
/// A queue has jobs, which are bytes. A job waits until it is due and is delivered at least once: one whose worker dies comes
/// again. Jobs that are due come by priority, the higher first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_open(
    client: *const dlock_client_t,
    name: *const c_char,
    name_len: usize,
    options: *const dlock_queue_options_t,
    out_queue: *mut *mut dlock_queue_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_open";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_queue, "out_queue", op)?;
            let name = text::name(name, name_len, op)?;
            let how = if options.is_null() { QueueArgs::default() } else { how(sized(options, "options", op)?) };
            out.put(handle(ops::queue_open(state, id(client), name, how)?));
            Ok(())
        })
    }
}

/// Makes a handle of the same queue as `queue`, whose takes go on to `other` when no job of `queue` is due: so an urgent job is taken
/// before all usual ones. A take asks one queue after the other, and waits for all when none has a job that is due;
/// dlock_delivery_queue() says which one a job is of. Puts, counts and lists are of `queue` alone. Both
/// handles may be freed before it, and `other` may be of several queues itself. No I/O. DLOCK_INVALID_ARGUMENT for queues of two
/// clients.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_followed_by(
    queue: *const dlock_queue_t,
    other: *const dlock_queue_t,
    out_queue: *mut *mut dlock_queue_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_followed_by";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_queue, "out_queue", op)?;
            out.put(handle(ops::queue_followed_by(state, id(queue), id(other))?));
            Ok(())
        })
    }
}

fn how(given: dlock_queue_options_t) -> QueueArgs {
    QueueArgs {
        lease_ms: lease(given.lease_ms),
        watchdog_lease_ms: lease(given.watchdog_lease_ms),
        max_attempts: Some(given.max_attempts),
        max_payload: Some(given.max_payload),
        max_length: Some(given.max_length),
    }
}

/// Gives the handle up. The queue stays on the server, and deliveries stay.
#[unsafe(no_mangle)]
pub extern "C" fn dlock_queue_free(queue: *mut dlock_queue_t) -> dlock_status_t {
    free("dlock_queue_free", HandleKind::Queue, queue)
}

/// Writes the queue's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
/// always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_name(
    queue: *const dlock_queue_t,
    buffer: *mut c_char,
    buffer_size: usize,
    out_len: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let into = Buffer { start: buffer, size: buffer_size, out_len };
    // SAFETY: the caller's promise, see the header.
    unsafe { tell("dlock_queue_name", into, error, |state| ops::queue_name(state, id(queue))) }
}

/// Puts a job. `out_put`, which may be NULL, gets its id and whether it is new.
///
/// A job with an id is put once: while one with that id waits, is being done or is dead, another put does nothing, and says so.
/// A lost reply is no matter then: the request is repeated. DLOCK_OUTCOME_UNKNOWN without an id after one lost reply, with one
/// when no repeat was answered. DLOCK_FULL when the queue has `max_length` jobs. DLOCK_CONNECTION when the server was not reached,
/// and nothing was put. DLOCK_INVALID_ARGUMENT for a value out of range.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_put(
    queue: *const dlock_queue_t,
    job: *const dlock_job_t,
    out_put: *mut dlock_put_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_put";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = if out_put.is_null() { None } else { Some(sized_out(out_put, "out_put", op)?) };
            let put = state.wait(ops::queue_put(state, id(queue), job_at(job, op)?), None)?;
            if let Some(out) = out {
                out.put(dlock_put_t::of(&put));
            }
            Ok(())
        })
    }
}

/// Puts `count` jobs, 0 to DLOCK_BATCH_MAX, in their order. `jobs` is an array of as many, and so is `out_puts`, which may be NULL:
/// the first element of each begins with its _INIT macro. Up to 100 jobs, and 1 MiB, go in one request. A request puts all of its
/// jobs or none; after an error what earlier requests put stays, and `out_puts` is as it was. Errors as dlock_queue_put(); for a
/// job with a value out of range nothing is put.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_put_many(
    queue: *const dlock_queue_t,
    jobs: *const dlock_job_t,
    count: usize,
    out_puts: *mut dlock_put_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_put_many";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let jobs = jobs_at(jobs, count, op)?;
            let wanted = !out_puts.is_null() && count > 0;
            let out = if wanted { Some(sized_array(out_puts, "out_puts", op)?) } else { None };
            let puts = state.wait(ops::queue_put_many(state, id(queue), jobs), None)?.0;
            if let Some(out) = out {
                out.put_each(puts.iter().map(dlock_put_t::of));
            }
            Ok(())
        })
    }
}

/// Takes the first job that is due: waits at most `wait_ms`, -1 for ever, 0 not at all. DLOCK_BUSY when there was none in time.
/// Takers of all processes are served in the order of arrival. DLOCK_CANCELLED when `cancel`, which may be NULL, was fired; then no
/// job was taken. DLOCK_CONNECTION when the server cannot be asked for operation_timeout, DLOCK_OUTCOME_UNKNOWN when it did not
/// answer: what it delivered all the same goes back, and does not count.
///
/// `out_held` gets the delivery: a hold that is its handle's own. dlock_delivery_job() has the job. dlock_held_token(),
/// dlock_held_is_valid(), dlock_held_remaining_ms(), dlock_held_lost(), dlock_held_wait_lost() and dlock_held_extend() are as of a
/// lock. It ends with dlock_delivery_ack(), dlock_delivery_nack() or dlock_delivery_give_back(), and is freed with
/// dlock_held_free(), which puts back a job that was not ended; then the delivery counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_take(
    queue: *const dlock_queue_t,
    wait_ms: i64,
    cancel: *const dlock_cancel_t,
    out_held: *mut *mut dlock_held_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_take";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = Out::required(out_held, "out_held", op)?;
            let taking = ops::queue_take(state, id(queue), wait(wait_ms));
            let taken = state.wait(state.with_cancel(optional_id(cancel), taking), None)?;
            let taken = taken.ok_or_else(|| none_was_due(state, id(queue)))?;
            out.put(handle(taken.held.handle));
            Ok(())
        })
    }
}

/// Takes up to `most` jobs, 1 to DLOCK_QUEUE_TAKE_MAX: those that are due, or the first that is within `wait_ms`. `out_helds` is an
/// array of `most`, and `out_count` gets how many were taken, at least 1. Otherwise as dlock_queue_take().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_queue_take_many(
    queue: *const dlock_queue_t,
    most: usize,
    wait_ms: i64,
    cancel: *const dlock_cancel_t,
    out_helds: *mut *mut dlock_held_t,
    out_count: *mut usize,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_queue_take_many";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let count = Out::required(out_count, "out_count", op)?;
            if out_helds.is_null() {
                return Err(refuse(op, "out_helds is NULL: there is nowhere to put the answer"));
            }
            let taking = ops::queue_take_many(state, id(queue), i64::try_from(most).unwrap_or(i64::MAX), wait(wait_ms));
            let taken = state.wait(state.with_cancel(optional_id(cancel), taking), None)?.0;
            if taken.is_empty() {
                return Err(none_was_due(state, id(queue)));
            }
            for (at, each) in taken.iter().enumerate() {
                // SAFETY: no more than were asked for, and writable for as many by the caller's promise.
                out_helds.add(at).write_unaligned(handle(each.held.handle));
            }
            count.put(taken.len());
            Ok(())
        })
    }
}

/// How long a job waits that failed at this attempt, from 1 on: at most `base_ms` after the first, each time twice as long, and
/// `longest_ms` at most; less up to a half at random. For dlock_delivery_nack(). No I/O. DLOCK_INVALID_ARGUMENT for a number below 0,
/// and for a base above the longest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_backoff_ms(
    attempt: i64,
    base_ms: i64,
    longest_ms: i64,
    out_ms: *mut i64,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    // SAFETY: the caller's promise, see the header.
    unsafe { crate::call::ask("dlock_backoff_ms", out_ms, error, |_| ops::backoff_ms(attempt, base_ms, longest_ms)) }
}

/// The answer to a take whose wait is over.
pub(crate) fn none_was_due(state: &State, queue: Handle) -> Error {
    let error = Error::new(ErrorKind::Busy, "take", "no job was due within the wait");
    match ops::queue_key(state, queue) {
        Ok(key) => error.on(&key),
        Err(_) => error,
    }
}

/// The job at `job`.
///
/// # Safety
/// As the header says: `job` is NULL or readable for the size that it begins with, and its payload and id for their lengths.
pub(crate) unsafe fn job_at(job: *const dlock_job_t, op: &'static str) -> Result<JobArgs> {
    // SAFETY: passed on.
    let given = unsafe { sized(job, "job", op)? };
    // SAFETY: passed on.
    unsafe { read(&given, op) }
}

/// # Safety
/// As [`job_at`], for each of `count` jobs that are as large as the first one says.
unsafe fn jobs_at(jobs: *const dlock_job_t, count: usize, op: &'static str) -> Result<Vec<JobArgs>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > crate::snowflake::DLOCK_BATCH_MAX {
        return Err(refuse_for(op, format_args!("a batch of {count} jobs is out of range"), "0 to 1000000"));
    }
    // SAFETY: passed on.
    let size = unsafe { sized(jobs, "jobs", op)?.struct_size };
    let job = |at: usize| {
        // SAFETY: not null, and an array of `count` elements of that size by the promise.
        let given = unsafe { jobs.byte_add(at * size).read_unaligned() };
        // SAFETY: passed on.
        unsafe { read(&given, op) }
    };
    (0..count).map(job).collect()
}

/// # Safety
/// As [`job_at`].
unsafe fn read(given: &dlock_job_t, op: &'static str) -> Result<JobArgs> {
    let dlock_job_t { payload, payload_len, delay_ms, at_ms, priority, .. } = *given;
    // SAFETY: passed on.
    let payload = unsafe { payload_at(payload, payload_len, op)? };
    // SAFETY: passed on.
    let id = unsafe { text::bytes(given.id, given.id_len, "id", op)? };
    Ok(JobArgs {
        payload,
        id: (!given.id.is_null()).then(|| id.to_vec()),
        delay_ms: ops::given(delay_ms, 0),
        at_ms: ops::given(at_ms, -1),
        priority,
    })
}

/// More bytes are a wild length. Core says how many there may be.
const PAYLOAD_MAX: usize = 1 << 30;

/// # Safety
/// `start` is readable for `len` bytes, or NULL with a length of 0.
unsafe fn payload_at(start: *const c_void, len: usize, op: &'static str) -> Result<Vec<u8>> {
    if len == 0 {
        return Ok(Vec::new());
    }
    if start.is_null() {
        return Err(refuse(op, format!("the payload is NULL with a length of {len}")));
    }
    if len > PAYLOAD_MAX {
        return Err(refuse_for(op, format_args!("the payload has {len} bytes"), "0 to 2097152 bytes"));
    }
    // SAFETY: not null, of a sane length, and readable by the caller's promise.
    Ok(unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) }.to_vec())
}
