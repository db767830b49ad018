//! A limiter's answer.

use std::time::{Duration, SystemTime};

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
            server_time_us: decision.server_time.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).map(us),
        }
    }
}
