//! A client's statistics in plain numbers.

use std::time::Duration;

use libdlock::{HISTOGRAM_BUCKETS, Result, Stats};

use crate::handle::{Handle, Kind};
use crate::state::State;

/// Lengths of time in microseconds; see `libdlock::Histogram`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// How many.
    pub count: u64,
    /// All together.
    pub sum_us: u64,
    /// Rounded down.
    pub mean_us: u64,
    /// The longest.
    pub max_us: u64,
    /// What half of them did not exceed.
    pub p50_us: u64,
    /// What 99 of 100 did not exceed.
    pub p99_us: u64,
    /// How many were below 1 us, from 1 to 2, from 2 to 4, ... each twice as long as the one before.
    pub buckets: [u64; HISTOGRAM_BUCKETS],
}

impl From<libdlock::Histogram> for Histogram {
    fn from(times: libdlock::Histogram) -> Self {
        let us = |length: Duration| u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        Histogram {
            count: times.count(),
            sum_us: us(times.sum),
            mean_us: us(times.mean()),
            max_us: us(times.max),
            p50_us: us(times.p50()),
            p99_us: us(times.p99()),
            buckets: times.buckets,
        }
    }
}

/// What the client has counted since it was opened. No I/O; also of a client that was closed.
pub fn client_stats(state: &State, client: Handle) -> Result<Stats> {
    Ok(state.get(Kind::Client, &state.clients, client, "stats")?.client.stats())
}

/// The plain counters in the order in which [`Stats`] has them, for hosts that are given a list.
pub fn counters(stats: &Stats) -> [u64; 13] {
    [
        stats.acquired,
        stats.contended,
        stats.handed_over_local,
        stats.handed_over_remote,
        stats.wait_timeouts,
        stats.cancelled,
        stats.retries,
        stats.renewals,
        stats.renewal_failures,
        stats.lost,
        stats.released,
        stats.waiting,
        stats.held,
    ]
}
