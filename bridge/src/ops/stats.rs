//! A client's statistics in plain numbers.

use std::time::Duration;

use libdlock::Result;
use libdlock::stats::{HISTOGRAM_BUCKETS, Stats};

use crate::client::ClientEntry;
use crate::handle::Handle;
use crate::state::State;

/// Lengths of time in microseconds; see `libdlock::stats::Histogram`.
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

impl From<libdlock::stats::Histogram> for Histogram {
    fn from(times: libdlock::stats::Histogram) -> Self {
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
    Ok(state.get::<ClientEntry>(client, "stats")?.client.stats())
}

/// All counters as a list, a client's own and then those of each kind, for hosts that are given one.
// <api:counters> written by `python3 api/write.py` from api/records.json
pub fn counters(stats: &Stats) -> [u64; 76] {
    [
        stats.retries,
        stats.lock.acquired,
        stats.lock.contended,
        stats.lock.handed_over_local,
        stats.lock.handed_over_remote,
        stats.lock.wait_timeouts,
        stats.lock.cancelled,
        stats.lock.renewals,
        stats.lock.renewal_failures,
        stats.lock.lost,
        stats.lock.released,
        stats.lock.waiting,
        stats.lock.held,
        stats.limiter.granted,
        stats.limiter.refused,
        stats.limiter.tokens,
        stats.limiter.by_policy,
        stats.limiter.waiting,
        stats.semaphore.acquired,
        stats.semaphore.contended,
        stats.semaphore.handed_over_local,
        stats.semaphore.handed_over_remote,
        stats.semaphore.wait_timeouts,
        stats.semaphore.cancelled,
        stats.semaphore.renewals,
        stats.semaphore.renewal_failures,
        stats.semaphore.lost,
        stats.semaphore.released,
        stats.semaphore.waiting,
        stats.semaphore.held,
        stats.rw_lock.acquired,
        stats.rw_lock.contended,
        stats.rw_lock.handed_over_local,
        stats.rw_lock.handed_over_remote,
        stats.rw_lock.wait_timeouts,
        stats.rw_lock.cancelled,
        stats.rw_lock.renewals,
        stats.rw_lock.renewal_failures,
        stats.rw_lock.lost,
        stats.rw_lock.released,
        stats.rw_lock.waiting,
        stats.rw_lock.held,
        stats.counting_semaphore.acquired,
        stats.counting_semaphore.contended,
        stats.counting_semaphore.wait_timeouts,
        stats.counting_semaphore.cancelled,
        stats.counting_semaphore.released,
        stats.counting_semaphore.waiting,
        stats.latch.counted_down,
        stats.latch.opened,
        stats.latch.wait_timeouts,
        stats.latch.cancelled,
        stats.latch.waiting,
        stats.worker.acquired,
        stats.worker.refused,
        stats.worker.renewals,
        stats.worker.renewal_failures,
        stats.worker.lost,
        stats.worker.released,
        stats.worker.held,
        stats.queue.put,
        stats.queue.duplicates,
        stats.queue.full,
        stats.queue.taken,
        stats.queue.contended,
        stats.queue.wait_timeouts,
        stats.queue.cancelled,
        stats.queue.acked,
        stats.queue.nacked,
        stats.queue.dead,
        stats.queue.removed,
        stats.queue.renewals,
        stats.queue.renewal_failures,
        stats.queue.lost,
        stats.queue.waiting,
        stats.queue.held,
    ]
}
// </api:counters>

/// All histograms, in the same order.
// <api:histograms> written by `python3 api/write.py` from api/records.json
pub fn histograms(stats: &Stats) -> [Histogram; 13] {
    [
        stats.lock.wait_time,
        stats.lock.hold_time,
        stats.limiter.wait_time,
        stats.semaphore.wait_time,
        stats.semaphore.hold_time,
        stats.rw_lock.wait_time,
        stats.rw_lock.hold_time,
        stats.counting_semaphore.wait_time,
        stats.latch.wait_time,
        stats.worker.wait_time,
        stats.worker.hold_time,
        stats.queue.wait_time,
        stats.queue.hold_time,
    ]
    .map(Histogram::from)
}
// </api:histograms>
