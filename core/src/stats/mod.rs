//! What a client has counted since it was opened. Counting is a few relaxed atomics, so it is always on.

mod counters;
mod histogram;
mod holds;

pub(crate) use counters::{Counters, Held, JobCounts, Waiting};
pub use histogram::{HISTOGRAM_BUCKETS, Histogram};
pub(crate) use holds::{HoldCounts, Way};

/// What a client has done since it was opened, and how it stands now: what is its own, and a block for each kind of object.
/// See [`Client::stats`](crate::Client::stats).
///
/// The numbers are read one after the other while others go on counting, so they may differ by what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    // <api:stats> written by `python3 api/write.py` from api/records.json
    /// Requests sent again because no answer came.
    pub retries: u64,
    /// What its locks have counted.
    pub lock: LockStats,
    /// What its rate limiters have counted.
    pub limiter: LimiterStats,
    /// What its semaphores have counted.
    pub semaphore: SemaphoreStats,
    /// What its read-write locks have counted.
    pub rw_lock: RwLockStats,
    /// What its counting semaphores have counted.
    pub counting_semaphore: CountingSemaphoreStats,
    /// What its latches have counted.
    pub latch: LatchStats,
    /// What its worker numbers have counted.
    pub worker: WorkerStats,
    /// What its queues have counted.
    pub queue: QueueStats,
    // </api:stats>
}

/// What the locks of a client have counted; `released` never exceeds `acquired`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockStats {
    // <api:lock-stats> written by `python3 api/write.py` from api/records.json
    /// Holds granted to a caller; taking over a detached hold counts, a re-entry does not.
    pub acquired: u64,
    /// Acquires that had to wait, and were granted.
    pub contended: u64,
    /// Of those that waited, the ones that a holder of this process handed over.
    pub handed_over_local: u64,
    /// Of those that waited, the ones whose turn came in the queue between processes.
    pub handed_over_remote: u64,
    /// Acquires that were not granted within their wait.
    pub wait_timeouts: u64,
    /// Acquires whose caller gave up while it waited.
    pub cancelled: u64,
    /// Leases prolonged by the watchdog, one for each lock and time.
    pub renewals: u64,
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    pub renewal_failures: u64,
    /// Holds that were lost, abandoned ones included.
    pub lost: u64,
    /// Holds that ended by a release; detaching is one.
    pub released: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// Holds that are looked after now.
    pub held: u64,
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    pub wait_time: Histogram,
    /// From a grant to the beginning of its release: as many as `released`.
    pub hold_time: Histogram,
    // </api:lock-stats>
}

/// What the rate limiters of a client have counted. A cost of 0, which asks how things stand, is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimiterStats {
    // <api:limiter-stats> written by `python3 api/write.py` from api/records.json
    /// Calls that got their tokens.
    pub granted: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Tokens that were granted.
    pub tokens: u64,
    /// Of all these calls, the ones that a policy decided while the server was away.
    pub by_policy: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// From a call to its grant, waited or not: as many as `granted`.
    pub wait_time: Histogram,
    // </api:limiter-stats>
}

/// What the semaphores of a client have counted; `released` never exceeds `acquired`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SemaphoreStats {
    // <api:semaphore-stats> written by `python3 api/write.py` from api/records.json
    /// Holds granted to a caller, of however many permits each.
    pub acquired: u64,
    /// Acquires that had to wait, and were granted.
    pub contended: u64,
    /// Of those that waited, the ones that a holder of this process handed over.
    pub handed_over_local: u64,
    /// Of those that waited, the ones whose turn came in the queue between processes.
    pub handed_over_remote: u64,
    /// Acquires that were not granted within their wait.
    pub wait_timeouts: u64,
    /// Acquires whose caller gave up while it waited.
    pub cancelled: u64,
    /// Leases prolonged by the watchdog, one for each hold and time.
    pub renewals: u64,
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    pub renewal_failures: u64,
    /// Holds that were lost, abandoned ones included.
    pub lost: u64,
    /// Holds that ended by a release.
    pub released: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// Holds that are looked after now.
    pub held: u64,
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    pub wait_time: Histogram,
    /// From a grant to the beginning of its release: as many as `released`.
    pub hold_time: Histogram,
    // </api:semaphore-stats>
}

/// What the counting semaphores of a client have counted. `released` may exceed `acquired`: anybody may release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountingSemaphoreStats {
    // <api:counting_semaphore-stats> written by `python3 api/write.py` from api/records.json
    /// Acquires that were granted, of however many permits each.
    pub acquired: u64,
    /// Acquires that had to wait, and were granted.
    pub contended: u64,
    /// Acquires that were not granted within their wait.
    pub wait_timeouts: u64,
    /// Acquires whose caller gave up while it waited.
    pub cancelled: u64,
    /// Releases that the server has confirmed, of however many permits each.
    pub released: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    pub wait_time: Histogram,
    // </api:counting_semaphore-stats>
}

/// What the read-write locks of a client have counted; `released` never exceeds `acquired`. Readers that share a hold of the
/// server are counted one by one, unless the field says otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RwLockStats {
    // <api:rw_lock-stats> written by `python3 api/write.py` from api/records.json
    /// Holds granted to a caller, of either side; a re-entry does not count.
    pub acquired: u64,
    /// Acquires that had to wait, and were granted.
    pub contended: u64,
    /// Of those that waited, the readers that share the hold of another one of this process.
    pub handed_over_local: u64,
    /// Of those that waited, the ones whose turn came in the queue between processes.
    pub handed_over_remote: u64,
    /// Acquires that were not granted within their wait.
    pub wait_timeouts: u64,
    /// Acquires whose caller gave up while it waited.
    pub cancelled: u64,
    /// Leases prolonged by the watchdog, one for each hold of the server and time.
    pub renewals: u64,
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    pub renewal_failures: u64,
    /// Holds of the server that were lost, abandoned ones included.
    pub lost: u64,
    /// Holds that ended by a release.
    pub released: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// Holds of the server that are looked after now.
    pub held: u64,
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    pub wait_time: Histogram,
    /// From a grant to the beginning of its release: as many as `released`.
    pub hold_time: Histogram,
    // </api:rw_lock-stats>
}

/// What the worker numbers of a client have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerStats {
    // <api:worker-stats> written by `python3 api/write.py` from api/records.json
    /// Numbers leased.
    pub acquired: u64,
    /// Leases that were refused because all numbers were taken.
    pub refused: u64,
    /// Leases prolonged by the watchdog, one for each number and time.
    pub renewals: u64,
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    pub renewal_failures: u64,
    /// Numbers that were lost.
    pub lost: u64,
    /// Numbers that were given back.
    pub released: u64,
    /// Numbers that are looked after now.
    pub held: u64,
    /// From the call to the number: as many as `acquired`.
    pub wait_time: Histogram,
    /// From the lease of a number to the beginning of its release: as many as `released`.
    pub hold_time: Histogram,
    // </api:worker-stats>
}

/// What the queues of a client have counted. A job that dies because its last lease ran out is counted by nobody: the server
/// finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    // <api:queue-stats> written by `python3 api/write.py` from api/records.json
    /// Jobs put.
    pub put: u64,
    /// Jobs that were not put because a job of their id was there.
    pub duplicates: u64,
    /// Requests to put jobs that were refused because the queue was full.
    pub full: u64,
    /// Jobs delivered to a caller.
    pub taken: u64,
    /// Of these, the ones that the caller had to wait for.
    pub contended: u64,
    /// Takes that brought no job within their wait.
    pub wait_timeouts: u64,
    /// Takes whose caller gave up while it waited.
    pub cancelled: u64,
    /// Deliveries that were acknowledged.
    pub acked: u64,
    /// Deliveries that were put back, the ones that were let go included.
    pub nacked: u64,
    /// Of these, the ones whose job was delivered as often as it may be, and is dead.
    pub dead: u64,
    /// Jobs that were cancelled, purged, or removed from the dead ones.
    pub removed: u64,
    /// Leases prolonged by the watchdog, one for each delivery and time.
    pub renewals: u64,
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    pub renewal_failures: u64,
    /// Deliveries that were lost, and come again.
    pub lost: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// Deliveries that are looked after now.
    pub held: u64,
    /// From the call of a take to its delivery, waited or not: as many as `taken`.
    pub wait_time: Histogram,
    /// From a delivery to the beginning of its end by its worker.
    pub hold_time: Histogram,
    // </api:queue-stats>
}

/// What the latches of a client have counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LatchStats {
    // <api:latch-stats> written by `python3 api/write.py` from api/records.json
    /// Calls that counted down, by however many each.
    pub counted_down: u64,
    /// Waits that found the latch open.
    pub opened: u64,
    /// Waits whose time was over first.
    pub wait_timeouts: u64,
    /// Waits whose caller gave up.
    pub cancelled: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// From the call of a wait until it found the latch open: as many as `opened`.
    pub wait_time: Histogram,
    // </api:latch-stats>
}
