//! What crosses as bytes: completions, so that a batch costs one crossing and one array, and lists of texts.
//! `org.libdlock.internal.Wire` is the other end.
//!
//! A completion is its number (8 bytes), what it is (1 byte, below) and what that carries. Numbers are big-endian; a text is
//! its length (4 bytes, -1 for none) and UTF-8.

use libdlock::{Error, ErrorKind, Event, Result};
use libdlock_bridge::ops::Decision;
use libdlock_bridge::{Completion, Held, Inspection, Outcome, What};

const UNIT: u8 = 0;
const BOOL: u8 = 1;
const HELD: u8 = 2;
const TEXT: u8 = 3;
const LOSS: u8 = 4;
const INSPECTION: u8 = 5;
const HANDLE: u8 = 6;
const FAILURE: u8 = 7;
const LOG: u8 = 8;
const DECISION: u8 = 9;

/// Stands for a number that is not there; those that may be missing are never negative.
const NONE: i64 = -1;

/// The bytes of a batch.
pub(crate) fn completions(batch: &[Completion]) -> Vec<u8> {
    let mut bytes = Bytes(Vec::with_capacity(batch.len() * 96));
    for Completion { user_data, what, .. } in batch {
        bytes.int64(*user_data as i64);
        match what {
            What::Done(Ok(outcome)) => bytes.outcome(outcome),
            What::Done(Err(error)) => bytes.failure(error),
            What::Log(event) => bytes.event(event),
        }
    }
    bytes.0
}

/// A decision's numbers, in the order of `org.libdlock.internal.Judged`.
pub(crate) fn decision(given: &Decision) -> [i64; 6] {
    [
        given.granted as i64,
        given.remaining as i64,
        given.retry_after_us.map_or(NONE, |us| us as i64),
        given.reset_after_us as i64,
        given.limit as i64,
        given.server_time_us.map_or(NONE, |us| us as i64),
    ]
}

/// The texts in `bytes`, one after the other, as Java packed them.
pub(crate) fn texts(mut bytes: &[u8]) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = bytes.split_first_chunk::<4>() {
        let length = u32::from_be_bytes(*length) as usize;
        let text = rest.get(..length).and_then(|text| std::str::from_utf8(text).ok()).ok_or_else(|| {
            Error::new(ErrorKind::InvalidArgument, "cross", "packed texts are cut short, or no UTF-8")
        })?;
        texts.push(text.to_owned());
        bytes = &rest[length..];
    }
    Ok(texts)
}

struct Bytes(Vec<u8>);

impl Bytes {
    fn outcome(&mut self, outcome: &Outcome) {
        match outcome {
            Outcome::Unit => self.byte(UNIT),
            Outcome::Bool(yes) => {
                self.byte(BOOL);
                self.byte(u8::from(*yes));
            }
            Outcome::Held(Held { handle, token, owner }) => {
                self.byte(HELD);
                self.int64(*handle as i64);
                self.int64(*token as i64);
                self.text(Some(owner));
            }
            Outcome::Text(text) => {
                self.byte(TEXT);
                self.text(Some(text));
            }
            Outcome::Loss(reason) => {
                self.byte(LOSS);
                self.text(reason.map(|reason| reason.as_str()));
            }
            Outcome::Inspection(Inspection { holder, ours, ttl, token, queued }) => {
                self.byte(INSPECTION);
                self.text(holder.as_deref());
                self.byte(u8::from(*ours));
                self.int64(ttl.map_or(NONE, |ttl| ttl.as_millis() as i64));
                self.int64(token.map_or(NONE, |token| token as i64));
                self.int64(*queued as i64);
            }
            Outcome::Decision(decision) => self.decision(decision),
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
        self.byte(FAILURE);
        self.0.extend(error.kind().code().to_be_bytes());
        self.text(Some(error.op()));
        self.text(error.name());
        self.text(Some(&error.to_string()));
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
}
