//! What the port brings, as numbers where it can be and as plain JavaScript values where not.

use std::time::Duration;

use libdlock::event::Event;
use libdlock::lease::LossReason;
use libdlock_bridge::{self as bridge, HandleKind, Outcome, What, ops};
use napi::bindgen_prelude::{BigInt64Array, Either16, Float64Array};
use napi_derive::napi;

use crate::answer::{Failure, give};
use crate::environment::Inner;
use crate::jobs::{Delivered, ListedJob, Put, QueueCounts};

/// Numbers that describe one completion: its id (what JavaScript gave with the operation, or with the client whose event it
/// is), a [`Tag`], and two more.
pub(crate) const ROW: usize = 4;

/// What the numbers of a row mean.
#[derive(Clone, Copy)]
enum Tag {
    // <api:tags> written by `python3 api/write.py` from api/wire.json
    /// Nothing but that it is done.
    Unit = 0,
    /// 1 or 0.
    Bool = 1,
    /// A handle.
    Handle = 2,
    /// A new hold: its handle and its token, which is below 2^53.
    Held = 3,
    /// Where in what `drain` answers the value is, a failure too.
    Other = 4,
    /// Where an event is.
    Event = 5,
    /// A number: a whole one below 2^53 and not as far below 0, or a rate.
    Number = 6,
    // </api:tags>
}

/// What is no number.
pub type Other = Either16<
    String,
    Inspection,
    Loss,
    Decision,
    Failure,
    LogEvent,
    SemaphoreInspection,
    RwLockInspection,
    CountingSemaphoreInspection,
    Decisions,
    BigInt64Array,
    Vec<Put>,
    Vec<Delivered>,
    QueueCounts,
    Vec<ListedJob>,
    Vec<bool>,
>;

/// Writes completions into numbers that JavaScript reads: how many they are, then a row for each. To make an object and name
/// its fields takes longer than all else that a completion needs.
pub(crate) struct Rows<'a> {
    numbers: &'a mut [f64],
    count: usize,
    others: Vec<Other>,
    environment: &'a Inner,
}

impl<'a> Rows<'a> {
    pub(crate) fn new(numbers: &'a mut [f64], environment: &'a Inner) -> Self {
        Rows { numbers, count: 0, others: Vec::new(), environment }
    }

    /// The caller has taken no more than there is room for.
    pub(crate) fn add(&mut self, completion: bridge::Completion) {
        let (tag, first, second) = match completion.what {
            What::Done(Ok(outcome)) => self.outcome(outcome),
            What::Done(Err(error)) => self.other(Either16::E(Failure::from(&error))),
            What::Log(event) => {
                let (_, at, none) = self.other(Either16::F(LogEvent::from(event)));
                (Tag::Event, at, none)
            }
        };
        let row = [completion.user_data as f64, f64::from(tag as u8), first, second];
        let start = 1 + self.count * ROW;
        self.numbers[start..start + ROW].copy_from_slice(&row);
        self.count += 1;
    }

    /// What is no number, if anything is.
    pub(crate) fn finish(self) -> Option<Vec<Other>> {
        if let Some(first) = self.numbers.first_mut() {
            *first = self.count as f64;
        }
        (!self.others.is_empty()).then_some(self.others)
    }

    fn other(&mut self, other: Other) -> (Tag, f64, f64) {
        self.others.push(other);
        (Tag::Other, (self.others.len() - 1) as f64, 0.0)
    }

    fn outcome(&mut self, outcome: Outcome) -> (Tag, f64, f64) {
        match outcome {
            Outcome::Unit | Outcome::Granted(_) => (Tag::Unit, 0.0, 0.0),
            // <api:scalars> written by `python3 api/write.py` from api/wire.json
            Outcome::Bool(answer) => (Tag::Bool, f64::from(u8::from(answer)), 0.0),
            Outcome::Number(answer) => (Tag::Number, answer as f64, 0.0),
            Outcome::Text(answer) => self.other(Either16::A(answer)),
            // </api:scalars>
            Outcome::Handle(client) => {
                self.environment.lend(HandleKind::Client, client);
                (Tag::Handle, give(client), 0.0)
            }
            Outcome::Held(held) => {
                self.environment.lend(HandleKind::Held, held.handle);
                (Tag::Held, give(held.handle), held.token as f64)
            }
            Outcome::Inspection(seen) => self.other(Either16::B(Inspection {
                holder: seen.holder,
                ours: seen.ours,
                ttl_ms: seen.ttl.map(millis),
                token: seen.token,
                queued: seen.queued.cast_signed(),
            })),
            Outcome::SemaphoreInspection(seen) => self.other(Either16::G(SemaphoreInspection {
                permits: seen.permits.map(u64::cast_signed),
                available: seen.available,
                queued: seen.queued.cast_signed(),
            })),
            Outcome::RwLockInspection(seen) => self.other(Either16::H(RwLockInspection {
                writer: seen.writer,
                ours: seen.ours,
                readers: seen.readers.cast_signed(),
                ttl_ms: seen.ttl.map(millis),
                token: seen.token,
                queued: seen.queued.cast_signed(),
            })),
            Outcome::CountingSemaphoreInspection(seen) => self.other(Either16::I(CountingSemaphoreInspection {
                exists: seen.exists,
                available: seen.available,
                queued: seen.queued.cast_signed(),
            })),
            Outcome::Loss(reason) => self.other(Either16::C(Loss::from(reason))),
            Outcome::Decision(decision) => self.other(Either16::D(Decision::from(decision))),
            Outcome::Decisions(answers) => self.other(Either16::J(Decisions::from(answers))),
            Outcome::Ids(ids) => self.other(Either16::K(BigInt64Array::new(ids.0))),
            Outcome::Puts(puts) => self.other(Either16::L(puts.0.into_iter().map(Put::from).collect())),
            Outcome::Deliveries(taken) => {
                let each = taken.0.into_iter().map(|delivered| {
                    self.environment.lend(HandleKind::Held, delivered.held.handle);
                    Delivered::new(give(delivered.held.handle), delivered)
                });
                let each = each.collect();
                self.other(Either16::M(each))
            }
            Outcome::Flags(answers) => self.other(Either16::P(answers.0)),
            Outcome::Real(number) => (Tag::Number, number.0, 0.0),
            Outcome::QueueCounts(counts) => self.other(Either16::N(QueueCounts::from(counts))),
            Outcome::ListedJobs(jobs) => self.other(Either16::O(jobs.0.into_iter().map(ListedJob::from).collect())),
        }
    }
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

/// How many permits a semaphore has.
#[napi(object, object_from_js = false)]
pub struct SemaphoreInspection {
    pub permits: Option<i64>,
    pub available: i64,
    pub queued: i64,
}

/// How many permits a counting semaphore has.
#[napi(object, object_from_js = false)]
pub struct CountingSemaphoreInspection {
    pub exists: bool,
    pub available: i64,
    pub queued: i64,
}

/// Who holds a read-write lock.
#[napi(object, object_from_js = false)]
pub struct RwLockInspection {
    pub writer: Option<String>,
    pub ours: bool,
    pub readers: i64,
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
    pub refused_by: Option<i64>,
    pub usable_after_ms: f64,
    pub server_time_us: Option<u64>,
}

impl From<ops::Decision> for Decision {
    fn from(decision: ops::Decision) -> Self {
        Decision {
            allowed: decision.allowed,
            granted: decision.granted.cast_signed(),
            remaining: decision.remaining.cast_signed(),
            retry_after_ms: decision.retry_after_us.map(micros),
            reset_after_ms: micros(decision.reset_after_us),
            limit: decision.limit.cast_signed(),
            refused_by: decision.refused_by.map(u64::cast_signed),
            usable_after_ms: micros(decision.usable_after_us),
            server_time_us: decision.server_time_us,
        }
    }
}

/// A limiter's answers to several callers. As numbers, because to make an object of each takes longer than all else.
#[napi(object, object_from_js = false)]
pub struct Decisions {
    /// [`DECISION`] of each answer, in the order and the units of [`Decision`]; what is not there is -1. The first says whether
    /// it was allowed: 1 or 0, and -1 for a failure.
    pub numbers: Float64Array,
    /// The failures, in their order.
    pub failures: Vec<Failure>,
}

/// How many numbers a decision has.
const DECISION: usize = 9;

impl From<ops::Decisions> for Decisions {
    fn from(answers: ops::Decisions) -> Self {
        let mut numbers = Vec::with_capacity(answers.0.len() * DECISION);
        let mut failures = Vec::new();
        for answer in answers.0 {
            match answer {
                Ok(decision) => numbers.extend(numbers_of(&decision)),
                Err(error) => {
                    failures.push(Failure::from(&error));
                    numbers.extend([-1.0; DECISION]);
                }
            }
        }
        Decisions { numbers: Float64Array::new(numbers), failures }
    }
}

fn numbers_of(decision: &ops::Decision) -> [f64; DECISION] {
    let or_none = |number: Option<u64>| number.map_or(-1.0, |number| number as f64);
    [
        f64::from(u8::from(decision.allowed)),
        decision.granted as f64,
        decision.remaining as f64,
        decision.retry_after_us.map_or(-1.0, micros),
        micros(decision.reset_after_us),
        decision.limit as f64,
        or_none(decision.refused_by),
        micros(decision.usable_after_us),
        or_none(decision.server_time_us),
    ]
}

/// Something that happened in the background.
#[napi(object, object_from_js = false)]
pub struct LogEvent {
    pub level: &'static str,
    pub object: Option<String>,
    pub message: String,
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
