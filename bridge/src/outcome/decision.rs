//! A limiter's answer.

use std::time::{Duration, SystemTime};

use libdlock::{Error, Result};

/// A limiter's answer in plain numbers; see `libdlock::Decision`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the tokens were granted; for a cost of 0, whether one could be had.
    pub allowed: bool,
    /// How many were.
    pub granted: u64,
    /// How many could be had at once now.
    pub remaining: u64,
    /// Microseconds until the same cost can be granted; none is never.
    pub retry_after_us: Option<u64>,
    /// Microseconds until the bucket is full.
    pub reset_after_us: u64,
    /// The burst.
    pub limit: u64,
    /// Which of the limiter's rates is the last to have the tokens, from 0 on; none when they were granted, or nobody's rate refused.
    pub refused_by: Option<u64>,
    /// Microseconds until what was granted may be used.
    pub usable_after_us: u64,
    /// When, on the server's clock, in microseconds of Unix time; none when a policy decided.
    pub server_time_us: Option<u64>,
}

impl From<libdlock::Decision> for Decision {
    fn from(decision: libdlock::Decision) -> Self {
        let us = |length: Duration| u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        Decision {
            allowed: decision.allowed,
            granted: decision.granted,
            remaining: decision.remaining,
            retry_after_us: decision.retry_after.map(us),
            reset_after_us: us(decision.reset_after),
            limit: decision.limit,
            refused_by: decision.refused_by,
            usable_after_us: us(decision.usable_after),
            server_time_us: decision.server_time.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).map(us),
        }
    }
}

/// The answers to a batch, in its order.
#[derive(Clone, Debug)]
pub struct Decisions(pub Vec<Result<Decision>>);

impl PartialEq for Decisions {
    /// Errors are the same when they say the same.
    fn eq(&self, other: &Self) -> bool {
        let same = |one: &Error, other: &Error| (one.kind(), one.to_string()) == (other.kind(), other.to_string());
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|pair| match pair {
                (Ok(one), Ok(other)) => one == other,
                (Err(one), Err(other)) => same(one, other),
                _ => false,
            })
    }
}

impl Eq for Decisions {}
