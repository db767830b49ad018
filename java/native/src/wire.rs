//! What crosses as bytes: completions, so that a batch costs one crossing and one array, and lists of texts.
//! `org.libdlock.internal.Wire` is the other end.
//!
//! A completion is its number (8 bytes), what it is (1 byte, below) and what that carries. Numbers are big-endian; a text is
//! its length (4 bytes, -1 for none) and UTF-8.

use libdlock::event::Event;
use libdlock::{Error, ErrorKind, Result};
use libdlock_bridge::ops::Decision;
use libdlock_bridge::{
    Completion, CountingSemaphoreInspection, Held, Inspection, Outcome, RwLockInspection, SemaphoreInspection, What,
};

// <api:tags> written by `python3 api/write.py` from api/wire.json
/// Nothing but that it is done.
const UNIT: u8 = 0;
/// A flag.
const BOOL: u8 = 1;
/// A new hold: its handle, token and owner.
const HELD: u8 = 2;
/// A text.
const TEXT: u8 = 3;
/// Why a hold ended; no text when it was released.
const LOSS: u8 = 4;
/// What the server said about a lock.
const INSPECTION: u8 = 5;
/// A handle.
const HANDLE: u8 = 6;
/// An error.
const FAILURE: u8 = 7;
/// A log event, which is no completion.
const LOG: u8 = 8;
/// A limiter's answer.
const DECISION: u8 = 9;
/// What the server said about a semaphore.
const SEMAPHORE_INSPECTION: u8 = 10;
/// What the server said about a read-write lock.
const RW_LOCK_INSPECTION: u8 = 11;
/// A whole number.
const NUMBER: u8 = 12;
/// What the server said about a counting semaphore.
const COUNTING_SEMAPHORE_INSPECTION: u8 = 13;
/// A limiter's answers to a batch: how many, then each as its own completion.
const DECISIONS: u8 = 14;
/// Ids: how many, and each.
const IDS: u8 = 15;
/// Yes or no of each item: how many, and each.
const FLAGS: u8 = 16;
/// A number with a fraction: its bits.
const REAL: u8 = 17;
/// What a put of jobs has done: how many, then the id of each and whether it is new.
const PUTS: u8 = 18;
/// Jobs that were delivered: how many, then the hold and the job of each.
const DELIVERIES: u8 = 19;
/// How many jobs a queue has.
const QUEUE_COUNTS: u8 = 20;
/// Jobs that wait in a queue or are dead: how many, and each.
const LISTED_JOBS: u8 = 21;
// </api:tags>

/// Stands for a number that is not there; those that may be missing are never negative.
const NONE: i64 = -1;

/// The bytes of a batch.
pub(crate) fn completions(batch: &[Completion]) -> Vec<u8> {
    let mut bytes = Bytes(Vec::with_capacity(batch.len() * 96));
    for Completion { user_data, what, .. } in batch {
        bytes.int64(*user_data as i64);
        match what {
            What::Done(Ok(outcome)) => bytes.outcome(outcome),
            What::Done(Err(error)) => {
                bytes.byte(FAILURE);
                bytes.failure(error);
            }
            What::Log(event) => bytes.event(event),
        }
    }
    bytes.0
}

/// What an operation brings, for a call that is not completed through a port: as in a completion.
pub(crate) fn answer(outcome: impl Into<Outcome>) -> Vec<u8> {
    let mut bytes = Bytes(Vec::with_capacity(256));
    bytes.outcome(&outcome.into());
    bytes.0
}

/// An error, for a call that is not completed through a port.
pub(crate) fn failure(error: &Error) -> Vec<u8> {
    let mut bytes = Bytes(Vec::with_capacity(256));
    bytes.failure(error);
    bytes.0
}

/// A decision's numbers, in the order of `org.libdlock.internal.Judged`.
pub(crate) fn decision(given: &Decision) -> [i64; 8] {
    [
        given.granted as i64,
        given.remaining as i64,
        given.retry_after_us.map_or(NONE, |us| us as i64),
        given.reset_after_us as i64,
        given.limit as i64,
        given.refused_by.map_or(NONE, |which| which as i64),
        given.usable_after_us as i64,
        given.server_time_us.map_or(NONE, |us| us as i64),
    ]
}

/// The texts in `bytes`, one after the other, as Java packed them.
pub(crate) fn texts(bytes: &[u8]) -> Result<Vec<String>> {
    let no_text = |_| Error::new(ErrorKind::InvalidArgument, "cross", "packed texts are no UTF-8");
    packed(bytes)?.into_iter().map(|text| String::from_utf8(text).map_err(no_text)).collect()
}

/// The same, whatever is in them.
pub(crate) fn packed(mut bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let text = rest.get(..length);
        let cut = || Error::new(ErrorKind::InvalidArgument, "cross", "packed texts are cut short");
        texts.push(text.ok_or_else(cut)?.to_vec());
        bytes = &rest[length..];
    }
    Ok(texts)
}

struct Bytes(Vec<u8>);

impl Bytes {
    fn outcome(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Unit | Outcome::Granted(_) => self.byte(UNIT),
            // <api:scalars> written by `python3 api/write.py` from api/wire.json
            Outcome::Bool(answer) => {
                self.byte(BOOL);
                self.byte(u8::from(*answer));
            }
            Outcome::Number(answer) => {
                self.byte(NUMBER);
                self.int64(*answer);
            }
            Outcome::Text(answer) => {
                self.byte(TEXT);
                self.text(Some(answer));
            }
            // </api:scalars>
            Outcome::Held(Held { handle, token, owner, .. }) => {
                self.byte(HELD);
                self.int64(*handle as i64);
                self.int64(*token as i64);
                self.text(Some(owner));
            }
            Outcome::Loss(reason) => {
                self.byte(LOSS);
                self.text(reason.map(|reason| reason.as_str()));
            }
            Outcome::Inspection(Inspection { holder, ours, ttl, token, queued, .. }) => {
                self.byte(INSPECTION);
                self.text(holder.as_deref());
                self.byte(u8::from(*ours));
                self.int64(ttl.map_or(NONE, |ttl| ttl.as_millis() as i64));
                self.int64(token.map_or(NONE, |token| token as i64));
                self.int64(*queued as i64);
            }
            Outcome::SemaphoreInspection(SemaphoreInspection { permits, available, queued, .. }) => {
                self.byte(SEMAPHORE_INSPECTION);
                self.int64(permits.map_or(NONE, |permits| permits as i64));
                self.int64(*available);
                self.int64(*queued as i64);
            }
            Outcome::RwLockInspection(RwLockInspection { writer, ours, readers, ttl, token, queued, .. }) => {
                self.byte(RW_LOCK_INSPECTION);
                self.text(writer.as_deref());
                self.byte(u8::from(*ours));
                self.int64(*readers as i64);
                self.int64(ttl.map_or(NONE, |ttl| ttl.as_millis() as i64));
                self.int64(token.map_or(NONE, |token| token as i64));
                self.int64(*queued as i64);
            }
            Outcome::CountingSemaphoreInspection(CountingSemaphoreInspection { exists, available, queued, .. }) => {
                self.byte(COUNTING_SEMAPHORE_INSPECTION);
                self.byte(u8::from(*exists));
                self.int64(*available);
                self.int64(*queued as i64);
            }
            Outcome::Decision(decision) => self.decision(decision),
            Outcome::Decisions(answers) => {
                self.byte(DECISIONS);
                self.int64(answers.0.len() as i64);
                for answer in &answers.0 {
                    match answer {
                        Ok(decision) => self.decision(decision),
                        Err(error) => {
                            self.byte(FAILURE);
                            self.failure(error);
                        }
                    }
                }
            }
            Outcome::Ids(ids) => {
                self.byte(IDS);
                // A batch is of a million at most.
                self.count(ids.0.len());
                ids.0.iter().for_each(|id| self.int64(*id));
            }
            Outcome::Flags(answers) => {
                self.byte(FLAGS);
                // A batch is of a million at most.
                self.0.extend((answers.0.len() as u32).to_be_bytes());
                self.0.extend(answers.0.iter().map(|answer| u8::from(*answer)));
            }
            Outcome::Real(number) => {
                self.byte(REAL);
                self.0.extend(number.0.to_be_bytes());
            }
            Outcome::Puts(puts) => {
                self.byte(PUTS);
                self.count(puts.0.len());
                for put in &puts.0 {
                    self.text(Some(&put.id));
                    self.byte(u8::from(put.is_new));
                }
            }
            Outcome::Deliveries(deliveries) => {
                self.byte(DELIVERIES);
                self.count(deliveries.0.len());
                for delivered in &deliveries.0 {
                    self.int64(delivered.held.handle as i64);
                    self.int64(delivered.held.token as i64);
                    let job = &delivered.job;
                    self.bytes(job.payload());
                    self.text(Some(job.id()));
                    self.int64(job.attempt().into());
                    self.int64(job.due_ms());
                    self.int64(job.priority().into());
                }
            }
            Outcome::QueueCounts(of) => {
                self.byte(QUEUE_COUNTS);
                let counts = [of.ready, of.delayed, of.in_flight, of.dead, of.waiters];
                counts.into_iter().for_each(|count| self.int64(count as i64));
            }
            Outcome::ListedJobs(jobs) => {
                self.byte(LISTED_JOBS);
                self.count(jobs.0.len());
                for job in &jobs.0 {
                    self.text(Some(&job.id));
                    self.bytes(&job.payload);
                    self.int64(job.attempts as i64);
                    self.int64(job.due_ms);
                    self.int64(job.dead.as_ref().map_or(NONE, |(since_ms, _)| *since_ms));
                    self.text(job.dead.as_ref().map(|(_, reason)| reason.as_str()));
                }
            }
            Outcome::Handle(handle) => {
                self.byte(HANDLE);
                self.int64(*handle as i64);
            }
        }
    }

    fn decision(&mut self, given: &Decision) {
        self.byte(DECISION);
        self.byte(u8::from(given.allowed));
        for number in decision(given) {
            self.int64(number);
        }
    }

    fn failure(&mut self, error: &Error) {
        self.0.extend(error.kind().code().to_be_bytes());
        self.text(Some(error.op()));
        self.text(error.name());
        self.text(Some(&error.to_string()));
        self.text(error.holder());
        self.int64(error.remaining().map_or(NONE, |left| left.as_millis() as i64));
        self.int64(error.retry_after().map_or(NONE, |after| after.as_micros() as i64));
        self.text(error.allowed());
        self.byte(u8::from(error.is_retryable()));
    }

    fn event(&mut self, event: &Event) {
        self.byte(LOG);
        self.text(Some(event.level.as_str()));
        self.text(event.name.as_deref());
        self.text(Some(&event.message));
    }

    fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn int64(&mut self, number: i64) {
        self.0.extend(number.to_be_bytes());
    }

    fn text(&mut self, text: Option<&str>) {
        let length = text.map_or(-1, |text| text.len() as i32);
        self.0.extend(length.to_be_bytes());
        self.0.extend(text.unwrap_or_default().as_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend(bytes);
    }

    /// Of what is short enough for Java.
    fn count(&mut self, count: usize) {
        self.0.extend((count as u32).to_be_bytes());
    }
}
