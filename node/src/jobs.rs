//! Jobs of a queue on their way to JavaScript.

use std::ptr;

use libdlock_bridge::ops;
use napi::bindgen_prelude::{ToNapiValue, check_status};
use napi::sys;
use napi_derive::napi;

use crate::answer::Given;

/// Bytes that become a `Buffer`: a copy, so that the core's go as soon as it is made.
pub struct Payload<B>(B);

impl ToNapiValue for Payload<ops::Job> {
    unsafe fn to_napi_value(env: sys::napi_env, payload: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller's environment, on its own thread.
        unsafe { buffer(env, payload.0.payload()) }
    }
}

impl ToNapiValue for Payload<Vec<u8>> {
    unsafe fn to_napi_value(env: sys::napi_env, payload: Self) -> napi::Result<sys::napi_value> {
        // SAFETY: the caller's environment, on its own thread.
        unsafe { buffer(env, &payload.0) }
    }
}

/// # Safety
/// `env` is an environment, and this its thread.
unsafe fn buffer(env: sys::napi_env, bytes: &[u8]) -> napi::Result<sys::napi_value> {
    let mut value = ptr::null_mut();
    // SAFETY: `bytes` is as long as is said, and is read before this returns. Where the copy is nobody asks.
    let status = unsafe {
        sys::napi_create_buffer_copy(env, bytes.len(), bytes.as_ptr().cast(), ptr::null_mut(), &raw mut value)
    };
    check_status!(status, "no Buffer of {} bytes could be made", bytes.len())?;
    Ok(value)
}

/// What a put has done.
#[napi(object, object_from_js = false)]
pub struct Put {
    pub id: String,
    pub is_new: bool,
}

impl From<ops::Put> for Put {
    fn from(ops::Put { id, is_new }: ops::Put) -> Self {
        Put { id, is_new }
    }
}

/// A job that was delivered, and its hold, which is on loan.
#[napi(object, object_from_js = false)]
pub struct Delivered {
    pub held: Given,
    pub token: f64,
    pub payload: Payload<ops::Job>,
    pub id: String,
    pub attempt: u32,
    pub due_ms: f64,
    pub priority: i32,
}

impl Delivered {
    /// `held` is the handle of its hold as JavaScript has it.
    pub(crate) fn new(held: Given, delivered: ops::Delivered) -> Self {
        let ops::Delivered { held: hold, job } = delivered;
        Delivered {
            held,
            token: hold.token as f64,
            id: job.id().to_owned(),
            attempt: job.attempt(),
            due_ms: job.due_ms() as f64,
            priority: job.priority().into(),
            payload: Payload(job),
        }
    }
}

/// How many jobs a queue has.
#[napi(object, object_from_js = false)]
pub struct QueueCounts {
    pub ready: i64,
    pub delayed: i64,
    pub in_flight: i64,
    pub dead: i64,
    pub waiters: i64,
}

impl From<ops::QueueCounts> for QueueCounts {
    fn from(counts: ops::QueueCounts) -> Self {
        QueueCounts {
            ready: counts.ready.cast_signed(),
            delayed: counts.delayed.cast_signed(),
            in_flight: counts.in_flight.cast_signed(),
            dead: counts.dead.cast_signed(),
            waiters: counts.waiters.cast_signed(),
        }
    }
}

/// A job as a list shows it.
#[napi(object, object_from_js = false)]
pub struct ListedJob {
    pub id: String,
    pub payload: Payload<Vec<u8>>,
    pub attempts: i64,
    pub due_ms: f64,
    pub dead_since_ms: Option<f64>,
    pub reason: Option<String>,
}

impl From<ops::ListedJob> for ListedJob {
    fn from(job: ops::ListedJob) -> Self {
        let (since, reason) = job.dead.unzip();
        ListedJob {
            id: job.id,
            payload: Payload(job.payload),
            attempts: job.attempts.cast_signed(),
            due_ms: job.due_ms as f64,
            dead_since_ms: since.map(|since| since as f64),
            reason,
        }
    }
}
