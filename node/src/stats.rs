//! What a client has counted.

use libdlock_bridge::ops;

use napi_derive::napi;

use crate::answer::{Answer, Given, answer, handle};
use crate::environment::Environment;

/// How often something took how long. Times are in milliseconds, with their fraction.
#[napi(object, object_from_js = false)]
pub struct Histogram {
    // <api:histogram> written by `python3 api/write.py` from api/records.json
    pub count: f64,
    pub sum_ms: f64,
    pub mean_ms: f64,
    #[napi(js_name = "p50Ms")]
    pub p50_ms: f64,
    #[napi(js_name = "p99Ms")]
    pub p99_ms: f64,
    pub max_ms: f64,
    pub buckets: Vec<f64>,
    // </api:histogram>
}

/// The locks' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct LockStats {
    // <api:lock-stats> written by `python3 api/write.py` from api/records.json
    pub acquired: f64,
    pub contended: f64,
    pub handed_over_local: f64,
    pub handed_over_remote: f64,
    pub wait_timeouts: f64,
    pub cancelled: f64,
    pub renewals: f64,
    pub renewal_failures: f64,
    pub lost: f64,
    pub released: f64,
    pub waiting: f64,
    pub held: f64,
    pub wait_time: Histogram,
    pub hold_time: Histogram,
    // </api:lock-stats>
}

/// The rate limiters' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct LimiterStats {
    // <api:limiter-stats> written by `python3 api/write.py` from api/records.json
    pub granted: f64,
    pub refused: f64,
    pub tokens: f64,
    pub by_policy: f64,
    pub waiting: f64,
    pub wait_time: Histogram,
    // </api:limiter-stats>
}

/// The semaphores' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct SemaphoreStats {
    // <api:semaphore-stats> written by `python3 api/write.py` from api/records.json
    pub acquired: f64,
    pub contended: f64,
    pub handed_over_local: f64,
    pub handed_over_remote: f64,
    pub wait_timeouts: f64,
    pub cancelled: f64,
    pub renewals: f64,
    pub renewal_failures: f64,
    pub lost: f64,
    pub released: f64,
    pub waiting: f64,
    pub held: f64,
    pub wait_time: Histogram,
    pub hold_time: Histogram,
    // </api:semaphore-stats>
}

/// The read-write locks' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct RwLockStats {
    // <api:rw_lock-stats> written by `python3 api/write.py` from api/records.json
    pub acquired: f64,
    pub contended: f64,
    pub handed_over_local: f64,
    pub handed_over_remote: f64,
    pub wait_timeouts: f64,
    pub cancelled: f64,
    pub renewals: f64,
    pub renewal_failures: f64,
    pub lost: f64,
    pub released: f64,
    pub waiting: f64,
    pub held: f64,
    pub wait_time: Histogram,
    pub hold_time: Histogram,
    // </api:rw_lock-stats>
}

/// The counting semaphores' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct CountingSemaphoreStats {
    // <api:counting_semaphore-stats> written by `python3 api/write.py` from api/records.json
    pub acquired: f64,
    pub contended: f64,
    pub wait_timeouts: f64,
    pub cancelled: f64,
    pub released: f64,
    pub waiting: f64,
    pub wait_time: Histogram,
    // </api:counting_semaphore-stats>
}

/// The latches' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct LatchStats {
    // <api:latch-stats> written by `python3 api/write.py` from api/records.json
    pub counted_down: f64,
    pub opened: f64,
    pub wait_timeouts: f64,
    pub cancelled: f64,
    pub waiting: f64,
    pub wait_time: Histogram,
    // </api:latch-stats>
}

/// The worker numbers' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct WorkerStats {
    // <api:worker-stats> written by `python3 api/write.py` from api/records.json
    pub acquired: f64,
    pub refused: f64,
    pub renewals: f64,
    pub renewal_failures: f64,
    pub lost: f64,
    pub released: f64,
    pub held: f64,
    pub wait_time: Histogram,
    pub hold_time: Histogram,
    // </api:worker-stats>
}

/// The queues' counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct QueueStats {
    // <api:queue-stats> written by `python3 api/write.py` from api/records.json
    pub put: f64,
    pub duplicates: f64,
    pub full: f64,
    pub taken: f64,
    pub contended: f64,
    pub wait_timeouts: f64,
    pub cancelled: f64,
    pub acked: f64,
    pub nacked: f64,
    pub dead: f64,
    pub removed: f64,
    pub renewals: f64,
    pub renewal_failures: f64,
    pub lost: f64,
    pub waiting: f64,
    pub held: f64,
    pub wait_time: Histogram,
    pub hold_time: Histogram,
    // </api:queue-stats>
}

/// A client's counters; JavaScript's numbers are exact up to 2^53.
#[napi(object, object_from_js = false)]
pub struct Stats {
    // <api:stats> written by `python3 api/write.py` from api/records.json
    pub retries: f64,
    pub lock: LockStats,
    pub limiter: LimiterStats,
    pub semaphore: SemaphoreStats,
    pub rw_lock: RwLockStats,
    pub counting_semaphore: CountingSemaphoreStats,
    pub latch: LatchStats,
    pub worker: WorkerStats,
    pub queue: QueueStats,
    // </api:stats>
}

#[napi]
impl Environment {
    /// No I/O.
    #[napi(catch_unwind)]
    pub fn client_stats(&self, client: Given) -> Answer<Stats> {
        answer("clientStats", |state| Ok(Stats::from(ops::client_stats(state, handle(client))?)))
    }
}

impl From<libdlock::stats::LockStats> for LockStats {
    fn from(stats: libdlock::stats::LockStats) -> Self {
        LockStats {
            // <api:lock-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired as f64,
            contended: stats.contended as f64,
            handed_over_local: stats.handed_over_local as f64,
            handed_over_remote: stats.handed_over_remote as f64,
            wait_timeouts: stats.wait_timeouts as f64,
            cancelled: stats.cancelled as f64,
            renewals: stats.renewals as f64,
            renewal_failures: stats.renewal_failures as f64,
            lost: stats.lost as f64,
            released: stats.released as f64,
            waiting: stats.waiting as f64,
            held: stats.held as f64,
            wait_time: Histogram::from(stats.wait_time),
            hold_time: Histogram::from(stats.hold_time),
            // </api:lock-stats-of>
        }
    }
}

impl From<libdlock::stats::LimiterStats> for LimiterStats {
    fn from(stats: libdlock::stats::LimiterStats) -> Self {
        LimiterStats {
            // <api:limiter-stats-of> written by `python3 api/write.py` from api/records.json
            granted: stats.granted as f64,
            refused: stats.refused as f64,
            tokens: stats.tokens as f64,
            by_policy: stats.by_policy as f64,
            waiting: stats.waiting as f64,
            wait_time: Histogram::from(stats.wait_time),
            // </api:limiter-stats-of>
        }
    }
}

impl From<libdlock::stats::SemaphoreStats> for SemaphoreStats {
    fn from(stats: libdlock::stats::SemaphoreStats) -> Self {
        SemaphoreStats {
            // <api:semaphore-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired as f64,
            contended: stats.contended as f64,
            handed_over_local: stats.handed_over_local as f64,
            handed_over_remote: stats.handed_over_remote as f64,
            wait_timeouts: stats.wait_timeouts as f64,
            cancelled: stats.cancelled as f64,
            renewals: stats.renewals as f64,
            renewal_failures: stats.renewal_failures as f64,
            lost: stats.lost as f64,
            released: stats.released as f64,
            waiting: stats.waiting as f64,
            held: stats.held as f64,
            wait_time: Histogram::from(stats.wait_time),
            hold_time: Histogram::from(stats.hold_time),
            // </api:semaphore-stats-of>
        }
    }
}

impl From<libdlock::stats::RwLockStats> for RwLockStats {
    fn from(stats: libdlock::stats::RwLockStats) -> Self {
        RwLockStats {
            // <api:rw_lock-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired as f64,
            contended: stats.contended as f64,
            handed_over_local: stats.handed_over_local as f64,
            handed_over_remote: stats.handed_over_remote as f64,
            wait_timeouts: stats.wait_timeouts as f64,
            cancelled: stats.cancelled as f64,
            renewals: stats.renewals as f64,
            renewal_failures: stats.renewal_failures as f64,
            lost: stats.lost as f64,
            released: stats.released as f64,
            waiting: stats.waiting as f64,
            held: stats.held as f64,
            wait_time: Histogram::from(stats.wait_time),
            hold_time: Histogram::from(stats.hold_time),
            // </api:rw_lock-stats-of>
        }
    }
}

impl From<libdlock::stats::CountingSemaphoreStats> for CountingSemaphoreStats {
    fn from(stats: libdlock::stats::CountingSemaphoreStats) -> Self {
        CountingSemaphoreStats {
            // <api:counting_semaphore-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired as f64,
            contended: stats.contended as f64,
            wait_timeouts: stats.wait_timeouts as f64,
            cancelled: stats.cancelled as f64,
            released: stats.released as f64,
            waiting: stats.waiting as f64,
            wait_time: Histogram::from(stats.wait_time),
            // </api:counting_semaphore-stats-of>
        }
    }
}

impl From<libdlock::stats::LatchStats> for LatchStats {
    fn from(stats: libdlock::stats::LatchStats) -> Self {
        LatchStats {
            // <api:latch-stats-of> written by `python3 api/write.py` from api/records.json
            counted_down: stats.counted_down as f64,
            opened: stats.opened as f64,
            wait_timeouts: stats.wait_timeouts as f64,
            cancelled: stats.cancelled as f64,
            waiting: stats.waiting as f64,
            wait_time: Histogram::from(stats.wait_time),
            // </api:latch-stats-of>
        }
    }
}

impl From<libdlock::stats::WorkerStats> for WorkerStats {
    fn from(stats: libdlock::stats::WorkerStats) -> Self {
        WorkerStats {
            // <api:worker-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired as f64,
            refused: stats.refused as f64,
            renewals: stats.renewals as f64,
            renewal_failures: stats.renewal_failures as f64,
            lost: stats.lost as f64,
            released: stats.released as f64,
            held: stats.held as f64,
            wait_time: Histogram::from(stats.wait_time),
            hold_time: Histogram::from(stats.hold_time),
            // </api:worker-stats-of>
        }
    }
}

impl From<libdlock::stats::QueueStats> for QueueStats {
    fn from(stats: libdlock::stats::QueueStats) -> Self {
        QueueStats {
            // <api:queue-stats-of> written by `python3 api/write.py` from api/records.json
            put: stats.put as f64,
            duplicates: stats.duplicates as f64,
            full: stats.full as f64,
            taken: stats.taken as f64,
            contended: stats.contended as f64,
            wait_timeouts: stats.wait_timeouts as f64,
            cancelled: stats.cancelled as f64,
            acked: stats.acked as f64,
            nacked: stats.nacked as f64,
            dead: stats.dead as f64,
            removed: stats.removed as f64,
            renewals: stats.renewals as f64,
            renewal_failures: stats.renewal_failures as f64,
            lost: stats.lost as f64,
            waiting: stats.waiting as f64,
            held: stats.held as f64,
            wait_time: Histogram::from(stats.wait_time),
            hold_time: Histogram::from(stats.hold_time),
            // </api:queue-stats-of>
        }
    }
}

impl From<libdlock::stats::Stats> for Stats {
    fn from(stats: libdlock::stats::Stats) -> Self {
        Stats {
            // <api:stats-of> written by `python3 api/write.py` from api/records.json
            retries: stats.retries as f64,
            lock: LockStats::from(stats.lock),
            limiter: LimiterStats::from(stats.limiter),
            semaphore: SemaphoreStats::from(stats.semaphore),
            rw_lock: RwLockStats::from(stats.rw_lock),
            counting_semaphore: CountingSemaphoreStats::from(stats.counting_semaphore),
            latch: LatchStats::from(stats.latch),
            worker: WorkerStats::from(stats.worker),
            queue: QueueStats::from(stats.queue),
            // </api:stats-of>
        }
    }
}

impl From<libdlock::stats::Histogram> for Histogram {
    fn from(times: libdlock::stats::Histogram) -> Self {
        let times = ops::Histogram::from(times);
        let millis = |us: u64| us as f64 / 1000.0;
        Histogram {
            // <api:histogram-of> written by `python3 api/write.py` from api/records.json
            count: times.count as f64,
            sum_ms: millis(times.sum_us),
            mean_ms: millis(times.mean_us),
            p50_ms: millis(times.p50_us),
            p99_ms: millis(times.p99_us),
            max_ms: millis(times.max_us),
            buckets: times.buckets.iter().map(|count| *count as f64).collect(),
            // </api:histogram-of>
        }
    }
}
