//! A client's statistics in plain numbers.

use std::time::Duration;

use libdlock::{HISTOGRAM_BUCKETS, Result};

use crate::handle::{Handle, Kind};
use crate::state::State;

/// What a client has counted; see `libdlock::Stats`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Holds granted to a caller.
    pub acquired: u64,
    /// Of those, the ones that had to wait.
    pub contended: u64,
    /// Of those that waited, the ones that a holder of this process handed over.
    pub handed_over_local: u64,
    /// Of those that waited, the ones whose turn came in the queue between processes.
    pub handed_over_remote: u64,
    /// Acquires that were not granted within their wait.
    pub wait_timeouts: u64,
    /// Acquires whose caller gave up while they waited.
    pub cancelled: u64,
    /// Requests sent again because no answer came.
    pub retries: u64,
    /// Leases prolonged by the watchdog.
    pub renewals: u64,
    /// Renewals that failed and were tried again.
    pub renewal_failures: u64,
    /// Holds that were lost.
    pub lost: u64,
    /// Holds that ended by a release.
    pub released: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// Holds that are looked after now.
    pub held: u64,
    /// From the call of an acquire to its grant.
    pub wait_time: Histogram,
    /// From a grant to its release.
    pub hold_time: Histogram,
}

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
    let stats = state.get(Kind::Client, &state.clients, client, "stats")?.client.stats();
    Ok(Stats {
        acquired: stats.acquired,
        contended: stats.contended,
        handed_over_local: stats.handed_over_local,
        handed_over_remote: stats.handed_over_remote,
        wait_timeouts: stats.wait_timeouts,
        cancelled: stats.cancelled,
        retries: stats.retries,
        renewals: stats.renewals,
        renewal_failures: stats.renewal_failures,
        lost: stats.lost,
        released: stats.released,
        waiting: stats.waiting,
        held: stats.held,
        wait_time: stats.wait_time.into(),
        hold_time: stats.hold_time.into(),
    })
}
