//! The statistics while they are being counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::histogram::Times;
use super::{CountingSemaphoreStats, LatchStats, LimiterStats, LockStats, RwLockStats, SemaphoreStats, Stats};

/// How a hold came to the caller that acquired it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It was free.
    AtOnce,
    /// After a wait, neither from a holder of this process nor out of the queue: the one before let its lease run out, say.
    Waited,
    /// From a holder of this process.
    Local,
    /// In its turn of the queue between processes.
    Remote,
}

/// One for each client.
#[derive(Default)]
pub(crate) struct Counters {
    retries: AtomicU64,
    pub(crate) lock: HoldCounts,
    pub(crate) limiter: DecisionCounts,
    pub(crate) semaphore: HoldCounts,
    pub(crate) rw_lock: HoldCounts,
    pub(crate) counting: GrantCounts,
    pub(crate) latch: LatchCounts,
    /// Of the kind that tests make up.
    #[cfg(test)]
    pub(crate) permits: HoldCounts,
}

impl Counters {
    /// A request is sent again.
    pub(crate) fn retried(&self) {
        add(&self.retries, 1);
    }

    /// Everything counted so far; the keeper knows how many holds of each kind there are.
    pub(crate) fn snapshot(&self, locks: u64, semaphores: u64, rw_locks: u64) -> Stats {
        Stats {
            retries: read(&self.retries),
            lock: self.lock.snapshot(locks),
            limiter: self.limiter.snapshot(),
            semaphore: self.semaphore.snapshot_of_semaphores(semaphores),
            rw_lock: self.rw_lock.snapshot_of_rw_locks(rw_locks),
            counting_semaphore: self.counting.snapshot(),
            latch: self.latch.snapshot(),
        }
    }
}

/// Counts as a waiting caller for as long as it lives.
pub(crate) struct Waiting(Arc<AtomicU64>);

impl Waiting {
    fn begin(waiting: &Arc<AtomicU64>) -> Waiting {
        add(waiting, 1);
        Waiting(waiting.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads what is counted of every kind that is held into the statistics of one kind.
macro_rules! read_holds {
    ($counts:expr, $held:expr, $stats:ident) => {{
        let counts = $counts;
        // In this order: a hold that is seen as released is seen as acquired.
        let hold_time = counts.hold_time.read();
        let wait_time = counts.wait_time.read();
        let (local, remote) = (read(&counts.local), read(&counts.remote));
        $stats {
            acquired: wait_time.count(),
            contended: read(&counts.waited) + local + remote,
            handed_over_local: local,
            handed_over_remote: remote,
            wait_timeouts: read(&counts.wait_timeouts),
            cancelled: read(&counts.cancelled),
            renewals: read(&counts.renewals),
            renewal_failures: read(&counts.renewal_failures),
            lost: read(&counts.lost),
            released: hold_time.count(),
            waiting: read(&counts.waiting),
            held: $held,
            wait_time,
            hold_time,
        }
    }};
}

/// Of one kind of object that is held. Every method is one event and takes some nanoseconds.
#[derive(Default)]
pub(crate) struct HoldCounts {
    waited: AtomicU64,
    local: AtomicU64,
    remote: AtomicU64,
    wait_timeouts: AtomicU64,
    cancelled: AtomicU64,
    renewals: AtomicU64,
    renewal_failures: AtomicU64,
    lost: AtomicU64,
    waiting: Arc<AtomicU64>,
    wait_time: Times,
    hold_time: Times,
}

impl HoldCounts {
    /// An acquire was granted to its caller, `took` after the call.
    pub(crate) fn acquired(&self, took: Duration, way: Way) {
        self.wait_time.add(took);
        match way {
            Way::AtOnce => {}
            Way::Waited => add(&self.waited, 1),
            Way::Local => add(&self.local, 1),
            Way::Remote => add(&self.remote, 1),
        }
    }

    /// A caller begins to wait.
    pub(crate) fn waits(&self) -> Waiting {
        Waiting::begin(&self.waiting)
    }

    /// An acquire was not granted within its wait.
    pub(crate) fn wait_timed_out(&self) {
        add(&self.wait_timeouts, 1);
    }

    /// A caller gave up waiting.
    pub(crate) fn cancelled(&self) {
        add(&self.cancelled, 1);
    }

    /// The server confirmed so many renewals.
    pub(crate) fn renewed(&self, holds: usize) {
        add(&self.renewals, holds as u64);
    }

    /// So many renewals failed and are tried again.
    pub(crate) fn renewals_failed(&self, holds: usize) {
        add(&self.renewal_failures, holds as u64);
    }

    /// A hold was lost.
    pub(crate) fn lost(&self) {
        add(&self.lost, 1);
    }

    /// A hold ends by a release, so long after its grant.
    pub(crate) fn released(&self, held_for: Duration) {
        self.hold_time.add(held_for);
    }

    fn snapshot(&self, held: u64) -> LockStats {
        read_holds!(self, held, LockStats)
    }

    fn snapshot_of_semaphores(&self, held: u64) -> SemaphoreStats {
        read_holds!(self, held, SemaphoreStats)
    }

    fn snapshot_of_rw_locks(&self, held: u64) -> RwLockStats {
        read_holds!(self, held, RwLockStats)
    }
}

/// Of what is granted for good, and comes back by whomever.
#[derive(Default)]
pub(crate) struct GrantCounts {
    grants: HoldCounts,
    released: AtomicU64,
}

impl GrantCounts {
    pub(crate) fn grants(&self) -> &HoldCounts {
        &self.grants
    }

    /// A release was confirmed.
    pub(crate) fn released(&self) {
        add(&self.released, 1);
    }

    fn snapshot(&self) -> CountingSemaphoreStats {
        let LockStats { acquired, contended, wait_timeouts, cancelled, waiting, wait_time, .. } =
            self.grants.snapshot(0);
        let released = read(&self.released);
        CountingSemaphoreStats { acquired, contended, wait_timeouts, cancelled, released, waiting, wait_time }
    }
}

/// Of rate limiters.
#[derive(Default)]
pub(crate) struct DecisionCounts {
    refused: AtomicU64,
    tokens: AtomicU64,
    by_policy: AtomicU64,
    waiting: Arc<AtomicU64>,
    wait_time: Times,
}

impl DecisionCounts {
    /// A call got its tokens, `took` after it began.
    pub(crate) fn granted(&self, tokens: u64, took: Duration) {
        add(&self.tokens, tokens);
        self.wait_time.add(took);
    }

    /// A call was refused.
    pub(crate) fn refused(&self) {
        add(&self.refused, 1);
    }

    /// A policy decided in the server's place; counted beside the decision.
    pub(crate) fn decided_by_policy(&self) {
        add(&self.by_policy, 1);
    }

    /// A caller begins to wait.
    pub(crate) fn waits(&self) -> Waiting {
        Waiting::begin(&self.waiting)
    }

    fn snapshot(&self) -> LimiterStats {
        let wait_time = self.wait_time.read();
        LimiterStats {
            granted: wait_time.count(),
            refused: read(&self.refused),
            tokens: read(&self.tokens),
            by_policy: read(&self.by_policy),
            waiting: read(&self.waiting),
            wait_time,
        }
    }
}

/// Of latches.
#[derive(Default)]
pub(crate) struct LatchCounts {
    counted_down: AtomicU64,
    wait_timeouts: AtomicU64,
    cancelled: AtomicU64,
    waiting: Arc<AtomicU64>,
    wait_time: Times,
}

impl LatchCounts {
    /// A caller has counted down.
    pub(crate) fn counted_down(&self) {
        add(&self.counted_down, 1);
    }

    /// A caller begins to wait.
    pub(crate) fn waits(&self) -> Waiting {
        Waiting::begin(&self.waiting)
    }

    /// A caller found the latch open, `took` after its call.
    pub(crate) fn opened(&self, took: Duration) {
        self.wait_time.add(took);
    }

    /// A caller did not find it open within its wait.
    pub(crate) fn wait_timed_out(&self) {
        add(&self.wait_timeouts, 1);
    }

    /// A caller gave up waiting.
    pub(crate) fn cancelled(&self) {
        add(&self.cancelled, 1);
    }

    fn snapshot(&self) -> LatchStats {
        let wait_time = self.wait_time.read();
        LatchStats {
            counted_down: read(&self.counted_down),
            opened: wait_time.count(),
            wait_timeouts: read(&self.wait_timeouts),
            cancelled: read(&self.cancelled),
            waiting: read(&self.waiting),
            wait_time,
        }
    }
}

pub(super) fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

pub(super) fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;

    #[test]
    fn every_event_is_counted_as_what_it_is() {
        let counters = HoldCounts::default();
        let took = Duration::from_millis(3);
        for way in [Way::AtOnce, Way::Waited, Way::Local, Way::Local, Way::Remote] {
            counters.acquired(took, way);
        }
        counters.wait_timed_out();
        counters.cancelled();
        counters.renewed(7);
        counters.renewals_failed(4);
        counters.lost();
        counters.released(took);
        let waiting = counters.waits();
        let seen = counters.snapshot(3);
        let expected = LockStats {
            acquired: 5,
            contended: 4,
            handed_over_local: 2,
            handed_over_remote: 1,
            wait_timeouts: 1,
            cancelled: 1,
            renewals: 7,
            renewal_failures: 4,
            lost: 1,
            released: 1,
            waiting: 1,
            held: 3,
            ..seen
        };
        assert_eq!(seen, expected);
        assert_eq!((seen.wait_time.sum, seen.hold_time.max), (took * 5, took));
        drop(waiting);
        assert_eq!(counters.snapshot(0).waiting, 0);
    }

    #[test]
    fn a_clients_own_and_each_kinds_are_counted_apart() {
        let counters = Counters::default();
        counters.retried();
        counters.lock.lost();
        let took = Duration::from_millis(3);
        counters.limiter.granted(5, took);
        counters.limiter.granted(2, took);
        counters.limiter.refused();
        counters.limiter.decided_by_policy();
        let waiting = counters.limiter.waits();
        counters.semaphore.cancelled();
        counters.rw_lock.lost();
        counters.counting.grants().cancelled();
        counters.counting.released();
        counters.latch.counted_down();
        counters.latch.opened(took);
        counters.latch.wait_timed_out();
        counters.latch.cancelled();
        let waits_for_latch = counters.latch.waits();
        let seen = counters.snapshot(0, 2, 1);
        assert_eq!((seen.retries, seen.lock), (1, LockStats { lost: 1, ..LockStats::default() }));
        assert_eq!(seen.semaphore, SemaphoreStats { cancelled: 1, held: 2, ..SemaphoreStats::default() });
        assert_eq!(seen.rw_lock, RwLockStats { lost: 1, held: 1, ..RwLockStats::default() });
        let counted = CountingSemaphoreStats { cancelled: 1, released: 1, ..CountingSemaphoreStats::default() };
        assert_eq!(seen.counting_semaphore, counted);
        let LimiterStats { wait_time, .. } = seen.limiter;
        let expected = LimiterStats { granted: 2, refused: 1, tokens: 7, by_policy: 1, waiting: 1, wait_time };
        assert_eq!((seen.limiter, wait_time.sum), (expected, took * 2));
        let LatchStats { wait_time, .. } = seen.latch;
        let expected = LatchStats { counted_down: 1, opened: 1, wait_timeouts: 1, cancelled: 1, waiting: 1, wait_time };
        assert_eq!((seen.latch, wait_time.sum), (expected, took));
        drop(waits_for_latch);
        assert_eq!(counters.snapshot(0, 0, 0).latch.waiting, 0);
        drop(waiting);
        assert_eq!(counters.snapshot(0, 0, 0).limiter.waiting, 0);
    }

    /// `cargo test --release -p libdlock --lib stats -- --nocapture` says what an event costs.
    #[test]
    fn threads_that_count_at_once_lose_nothing() {
        const EACH: u64 = 200_000;
        let counters = HoldCounts::default();
        let alone = Instant::now();
        count(&counters, EACH);
        let alone = alone.elapsed();
        std::thread::scope(|scope| {
            (0..2).for_each(|_| drop(scope.spawn(|| count(&counters, EACH))));
        });
        let seen = counters.snapshot(0);
        assert_eq!((seen.acquired, seen.released, seen.renewals), (3 * EACH, 3 * EACH, 3 * EACH));
        println!("an acquire, its release and a renewal: {} ns each", alone.as_nanos() as u64 / EACH / 3);
    }

    #[test]
    fn no_snapshot_shows_more_released_than_acquired() {
        let counters = HoldCounts::default();
        std::thread::scope(|scope| {
            let counting = scope.spawn(|| count(&counters, 200_000));
            while !counting.is_finished() {
                let seen = counters.snapshot(0);
                assert!(seen.released <= seen.acquired, "{} of {}", seen.released, seen.acquired);
            }
        });
    }

    fn count(counters: &HoldCounts, times: u64) {
        for us in 0..times {
            counters.acquired(black_box(Duration::from_micros(us % 1_000)), black_box(Way::Local));
            counters.released(black_box(Duration::from_micros(us % 500)));
            counters.renewed(black_box(1));
        }
    }
}
