//! What the port brings, as plain JavaScript values.

use std::time::Duration;

use libdlock::{Event, LossReason};
use libdlock_bridge::{self as bridge, Kind, Outcome, What};
use napi::bindgen_prelude::Either7;
use napi_derive::napi;

use crate::answer::Failure;
use crate::environment::Inner;

/// A finished operation, or an event of a client.
#[napi(object, object_from_js = false)]
pub struct Completion {
    /// What JavaScript gave with the operation, or with the client whose event it is.
    pub id: i64,
    /// What came of it; nothing when nothing was to come.
    pub value: Option<Value>,
    /// Why nothing came of it.
    pub failure: Option<Failure>,
    /// Not an operation's end but something that a client says.
    pub event: Option<LogEvent>,
}

type Value = Either7<bool, String, u64, Held, Inspection, Loss, Decision>;

/// A new hold.
#[napi(object, object_from_js = false)]
pub struct Held {
    pub handle: u64,
    pub token: u64,
    pub owner: String,
}

/// Who holds a lock.
#[napi(object, object_from_js = false)]
pub struct Inspection {
    pub holder: Option<String>,
    pub ours: bool,
    pub ttl_ms: Option<f64>,
    pub token: Option<u64>,
    pub queued: i64,
}

/// Why a hold ended; no reason when it was released.
#[napi(object, object_from_js = false)]
pub struct Loss {
    pub reason: Option<&'static str>,
}

impl From<Option<LossReason>> for Loss {
    fn from(reason: Option<LossReason>) -> Self {
        Loss { reason: reason.map(|reason| reason.as_str()) }
    }
}

/// A limiter's answer. Lengths of time are in milliseconds, with their fraction.
#[napi(object, object_from_js = false)]
pub struct Decision {
    pub allowed: bool,
    pub granted: i64,
    pub remaining: i64,
    pub retry_after_ms: Option<f64>,
    pub reset_after_ms: f64,
    pub limit: i64,
    pub server_time_us: Option<u64>,
}

/// Something that happened in the background.
#[napi(object, object_from_js = false)]
pub struct LogEvent {
    pub level: &'static str,
    pub object: Option<String>,
    pub message: String,
}

impl Completion {
    pub(crate) fn from(completion: bridge::Completion, environment: &Inner) -> Self {
        let (mut value, mut failure, mut event) = (None, None, None);
        match completion.what {
            What::Done(Ok(outcome)) => value = value_of(outcome, environment),
            What::Done(Err(error)) => failure = Some(Failure::from(&error)),
            What::Log(said) => event = Some(LogEvent::from(said)),
        }
        Completion { id: completion.user_data.cast_signed(), value, failure, event }
    }
}

fn value_of(outcome: Outcome, environment: &Inner) -> Option<Value> {
    match outcome {
        Outcome::Unit => None,
        Outcome::Bool(is) => Some(Either7::A(is)),
        Outcome::Text(text) => Some(Either7::B(text)),
        Outcome::Handle(client) => {
            environment.lend(Kind::Client, client);
            Some(Either7::C(client))
        }
        Outcome::Held(held) => {
            environment.lend(Kind::Held, held.handle);
            Some(Either7::D(Held { handle: held.handle, token: held.token, owner: held.owner }))
        }
        Outcome::Inspection(seen) => Some(Either7::E(Inspection {
            holder: seen.holder,
            ours: seen.ours,
            ttl_ms: seen.ttl.map(millis),
            token: seen.token,
            queued: seen.queued.cast_signed(),
        })),
        Outcome::Decision(decision) => Some(Either7::G(Decision {
            allowed: decision.allowed,
            granted: decision.granted.cast_signed(),
            remaining: decision.remaining.cast_signed(),
            retry_after_ms: decision.retry_after_us.map(micros),
            reset_after_ms: micros(decision.reset_after_us),
            limit: decision.limit.cast_signed(),
            server_time_us: decision.server_time_us,
        })),
        Outcome::Loss(reason) => Some(Either7::F(Loss::from(reason))),
    }
}

impl From<Event> for LogEvent {
    fn from(event: Event) -> Self {
        LogEvent { level: event.level.as_str(), object: event.name, message: event.message }
    }
}

/// As [`millis`], of microseconds.
fn micros(us: u64) -> f64 {
    us as f64 / 1000.0
}

/// Milliseconds as JavaScript counts them, with their fraction.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
