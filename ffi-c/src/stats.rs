//! What a client has counted.

use libdlock::stats::{
    CountingSemaphoreStats, LatchStats, LimiterStats, LockStats, QueueStats, RwLockStats, SemaphoreStats, Stats,
    WorkerStats,
};
use libdlock_bridge::ops::{self, Histogram};

use crate::call::call;
use crate::error::{dlock_error_t, dlock_status_t};
use crate::out::sized_out;
use crate::types::{dlock_client_t, id};

/// How many buckets a histogram has.
// <api:buckets> written by `python3 api/write.py` from api/records.json
pub const DLOCK_HISTOGRAM_BUCKETS: usize = 40;
// </api:buckets>

/// How often something took how long, in microseconds.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_histogram_t {
    // <api:histogram> written by `python3 api/write.py` from api/records.json
    /// How many there were.
    pub count: u64,
    /// All together.
    pub sum_us: u64,
    /// On average.
    pub mean_us: u64,
    /// What half of them did not exceed: never too small, less than twice too large.
    pub p50_us: u64,
    /// What 99 of 100 did not exceed, as precise.
    pub p99_us: u64,
    /// The longest.
    pub max_us: u64,
    /// How many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too.
    pub buckets: [u64; DLOCK_HISTOGRAM_BUCKETS],
    // </api:histogram>
}

/// What a client has counted since it was opened that is its own; its kinds of objects have structs of their own. Begin with
/// DLOCK_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_stats_t {
    /// `sizeof(dlock_stats_t)`.
    pub struct_size: usize,
    // <api:stats> written by `python3 api/write.py` from api/records.json
    /// Requests sent again because no answer came.
    pub retries: u64,
    // </api:stats>
}

/// What the locks of a client have counted. Begin with DLOCK_LOCK_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_lock_stats_t {
    /// `sizeof(dlock_lock_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    /// From a grant to the beginning of its release: as many as `released`.
    pub hold_time: dlock_histogram_t,
    // </api:lock-stats>
}

/// What the rate limiters of a client have counted; a peek is not counted. Begin with DLOCK_LIMITER_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_limiter_stats_t {
    /// `sizeof(dlock_limiter_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    // </api:limiter-stats>
}

/// What the semaphores of a client have counted. Begin with DLOCK_SEMAPHORE_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_semaphore_stats_t {
    /// `sizeof(dlock_semaphore_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    /// From a grant to the beginning of its release: as many as `released`.
    pub hold_time: dlock_histogram_t,
    // </api:semaphore-stats>
}

/// What the read-write locks of a client have counted; readers that share a hold of the server are counted one by one, unless
/// the field says otherwise. Begin with DLOCK_RW_LOCK_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_rw_lock_stats_t {
    /// `sizeof(dlock_rw_lock_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    /// From a grant to the beginning of its release: as many as `released`.
    pub hold_time: dlock_histogram_t,
    // </api:rw_lock-stats>
}

/// What the counting semaphores of a client have counted; `released` may exceed `acquired`: anybody may release. Begin
/// with DLOCK_COUNTING_SEMAPHORE_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_counting_semaphore_stats_t {
    /// `sizeof(dlock_counting_semaphore_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    // </api:counting_semaphore-stats>
}

/// What the latches of a client have counted. Begin with DLOCK_LATCH_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_latch_stats_t {
    /// `sizeof(dlock_latch_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    // </api:latch-stats>
}

/// What the worker numbers of a client have counted. Begin with DLOCK_WORKER_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_worker_stats_t {
    /// `sizeof(dlock_worker_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    /// From the lease of a number to the beginning of its release: as many as `released`.
    pub hold_time: dlock_histogram_t,
    // </api:worker-stats>
}

/// What the queues of a client have counted. Begin with DLOCK_QUEUE_STATS_INIT.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dlock_queue_stats_t {
    /// `sizeof(dlock_queue_stats_t)`.
    pub struct_size: usize,
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
    pub wait_time: dlock_histogram_t,
    /// From a delivery to the beginning of its end by its worker.
    pub hold_time: dlock_histogram_t,
    // </api:queue-stats>
}

/// What the client has counted since it was opened, but for what its kinds of objects count. No I/O; also of a client
/// that was closed. Begin the answer with DLOCK_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_stats_t::of(&stats));
            Ok(())
        })
    }
}

/// What the locks of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
/// answer with DLOCK_LOCK_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_lock_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_lock_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_lock_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_lock_stats_t::of(&stats.lock));
            Ok(())
        })
    }
}

/// What the rate limiters of the client have counted since it was opened. No I/O; also of a client that was closed. Begin
/// the answer with DLOCK_LIMITER_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_limiter_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_limiter_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_limiter_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_limiter_stats_t::of(&stats.limiter));
            Ok(())
        })
    }
}

/// What the semaphores of the client have counted since it was opened. No I/O; also of a client that was closed. Begin
/// the answer with DLOCK_SEMAPHORE_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_semaphore_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_semaphore_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_semaphore_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_semaphore_stats_t::of(&stats.semaphore));
            Ok(())
        })
    }
}

/// What the read-write locks of the client have counted since it was opened. No I/O; also of a client that was closed. Begin
/// the answer with DLOCK_RW_LOCK_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_rw_lock_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_rw_lock_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_rw_lock_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_rw_lock_stats_t::of(&stats.rw_lock));
            Ok(())
        })
    }
}

/// What the counting semaphores of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
/// answer with DLOCK_COUNTING_SEMAPHORE_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_counting_semaphore_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_counting_semaphore_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_counting_semaphore_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_counting_semaphore_stats_t::of(&stats.counting_semaphore));
            Ok(())
        })
    }
}

/// What the latches of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
/// answer with DLOCK_LATCH_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_latch_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_latch_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_latch_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_latch_stats_t::of(&stats.latch));
            Ok(())
        })
    }
}

/// What the worker numbers of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
/// answer with DLOCK_WORKER_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_worker_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_worker_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_worker_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_worker_stats_t::of(&stats.worker));
            Ok(())
        })
    }
}

/// What the queues of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
/// answer with DLOCK_QUEUE_STATS_INIT.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlock_client_queue_stats(
    client: *const dlock_client_t,
    out_stats: *mut dlock_queue_stats_t,
    error: *mut dlock_error_t,
) -> dlock_status_t {
    let op = "dlock_client_queue_stats";
    // SAFETY: the caller's promise, see the header.
    unsafe {
        call(op, error, |state| {
            let out = sized_out(out_stats, "out_stats", op)?;
            let stats = ops::client_stats(state, id(client))?;
            out.put(dlock_queue_stats_t::of(&stats.queue));
            Ok(())
        })
    }
}

impl dlock_stats_t {
    fn of(stats: &Stats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:stats-of> written by `python3 api/write.py` from api/records.json
            retries: stats.retries,
            // </api:stats-of>
        }
    }
}

impl dlock_lock_stats_t {
    fn of(stats: &LockStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:lock-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired,
            contended: stats.contended,
            handed_over_local: stats.handed_over_local,
            handed_over_remote: stats.handed_over_remote,
            wait_timeouts: stats.wait_timeouts,
            cancelled: stats.cancelled,
            renewals: stats.renewals,
            renewal_failures: stats.renewal_failures,
            lost: stats.lost,
            released: stats.released,
            waiting: stats.waiting,
            held: stats.held,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            hold_time: dlock_histogram_t::of(stats.hold_time.into()),
            // </api:lock-stats-of>
        }
    }
}

impl dlock_limiter_stats_t {
    fn of(stats: &LimiterStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:limiter-stats-of> written by `python3 api/write.py` from api/records.json
            granted: stats.granted,
            refused: stats.refused,
            tokens: stats.tokens,
            by_policy: stats.by_policy,
            waiting: stats.waiting,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            // </api:limiter-stats-of>
        }
    }
}

impl dlock_semaphore_stats_t {
    fn of(stats: &SemaphoreStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:semaphore-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired,
            contended: stats.contended,
            handed_over_local: stats.handed_over_local,
            handed_over_remote: stats.handed_over_remote,
            wait_timeouts: stats.wait_timeouts,
            cancelled: stats.cancelled,
            renewals: stats.renewals,
            renewal_failures: stats.renewal_failures,
            lost: stats.lost,
            released: stats.released,
            waiting: stats.waiting,
            held: stats.held,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            hold_time: dlock_histogram_t::of(stats.hold_time.into()),
            // </api:semaphore-stats-of>
        }
    }
}

impl dlock_rw_lock_stats_t {
    fn of(stats: &RwLockStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:rw_lock-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired,
            contended: stats.contended,
            handed_over_local: stats.handed_over_local,
            handed_over_remote: stats.handed_over_remote,
            wait_timeouts: stats.wait_timeouts,
            cancelled: stats.cancelled,
            renewals: stats.renewals,
            renewal_failures: stats.renewal_failures,
            lost: stats.lost,
            released: stats.released,
            waiting: stats.waiting,
            held: stats.held,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            hold_time: dlock_histogram_t::of(stats.hold_time.into()),
            // </api:rw_lock-stats-of>
        }
    }
}

impl dlock_counting_semaphore_stats_t {
    fn of(stats: &CountingSemaphoreStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:counting_semaphore-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired,
            contended: stats.contended,
            wait_timeouts: stats.wait_timeouts,
            cancelled: stats.cancelled,
            released: stats.released,
            waiting: stats.waiting,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            // </api:counting_semaphore-stats-of>
        }
    }
}

impl dlock_latch_stats_t {
    fn of(stats: &LatchStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:latch-stats-of> written by `python3 api/write.py` from api/records.json
            counted_down: stats.counted_down,
            opened: stats.opened,
            wait_timeouts: stats.wait_timeouts,
            cancelled: stats.cancelled,
            waiting: stats.waiting,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            // </api:latch-stats-of>
        }
    }
}

impl dlock_worker_stats_t {
    fn of(stats: &WorkerStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:worker-stats-of> written by `python3 api/write.py` from api/records.json
            acquired: stats.acquired,
            refused: stats.refused,
            renewals: stats.renewals,
            renewal_failures: stats.renewal_failures,
            lost: stats.lost,
            released: stats.released,
            held: stats.held,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            hold_time: dlock_histogram_t::of(stats.hold_time.into()),
            // </api:worker-stats-of>
        }
    }
}

impl dlock_queue_stats_t {
    fn of(stats: &QueueStats) -> Self {
        Self {
            struct_size: size_of::<Self>(),
            // <api:queue-stats-of> written by `python3 api/write.py` from api/records.json
            put: stats.put,
            duplicates: stats.duplicates,
            full: stats.full,
            taken: stats.taken,
            contended: stats.contended,
            wait_timeouts: stats.wait_timeouts,
            cancelled: stats.cancelled,
            acked: stats.acked,
            nacked: stats.nacked,
            dead: stats.dead,
            removed: stats.removed,
            renewals: stats.renewals,
            renewal_failures: stats.renewal_failures,
            lost: stats.lost,
            waiting: stats.waiting,
            held: stats.held,
            wait_time: dlock_histogram_t::of(stats.wait_time.into()),
            hold_time: dlock_histogram_t::of(stats.hold_time.into()),
            // </api:queue-stats-of>
        }
    }
}

impl dlock_histogram_t {
    fn of(times: Histogram) -> Self {
        Self {
            // <api:histogram-of> written by `python3 api/write.py` from api/records.json
            count: times.count,
            sum_us: times.sum_us,
            mean_us: times.mean_us,
            p50_us: times.p50_us,
            p99_us: times.p99_us,
            max_us: times.max_us,
            buckets: times.buckets,
            // </api:histogram-of>
        }
    }
}
