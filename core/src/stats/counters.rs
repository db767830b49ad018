//! The statistics while they are being counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::histogram::Times;
use super::holds::HoldCounts;
use super::{CountingSemaphoreStats, LatchStats, LimiterStats, LockStats, Stats};

/// One for each client.
#[derive(Default)]
pub(crate) struct Counters {
    retries: AtomicU64,
    pub(crate) lock: HoldCounts,
    pub(crate) limiter: DecisionCounts,
    pub(crate) semaphore: HoldCounts,
    pub(crate) rw_lock: HoldCounts,
    /// Of deliveries of queues.
    pub(crate) queue: HoldCounts,
    pub(crate) counting: GrantCounts,
    pub(crate) latch: LatchCounts,
    /// One that was refused is one that timed out: nobody waits.
    pub(crate) worker: HoldCounts,
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
    pub(crate) fn snapshot(&self, locks: u64, semaphores: u64, rw_locks: u64, workers: u64) -> Stats {
        Stats {
            retries: read(&self.retries),
            lock: self.lock.snapshot(locks),
            limiter: self.limiter.snapshot(),
            semaphore: self.semaphore.snapshot_of_semaphores(semaphores),
            rw_lock: self.rw_lock.snapshot_of_rw_locks(rw_locks),
            counting_semaphore: self.counting.snapshot(),
            latch: self.latch.snapshot(),
            worker: self.worker.snapshot_of_workers(workers),
        }
    }
}

/// Counts as a waiting caller for as long as it lives.
pub(crate) struct Waiting(Arc<AtomicU64>);

impl Waiting {
    pub(super) fn begin(waiting: &Arc<AtomicU64>) -> Waiting {
        add(waiting, 1);
        Waiting(waiting.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
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
    use super::super::{RwLockStats, SemaphoreStats, WorkerStats};
    use super::*;

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
        counters.worker.wait_timed_out();
        let seen = counters.snapshot(0, 2, 1, 3);
        assert_eq!((seen.retries, seen.lock), (1, LockStats { lost: 1, ..LockStats::default() }));
        assert_eq!(seen.semaphore, SemaphoreStats { cancelled: 1, held: 2, ..SemaphoreStats::default() });
        assert_eq!(seen.rw_lock, RwLockStats { lost: 1, held: 1, ..RwLockStats::default() });
        let counted = CountingSemaphoreStats { cancelled: 1, released: 1, ..CountingSemaphoreStats::default() };
        assert_eq!(seen.counting_semaphore, counted);
        let LimiterStats { wait_time, .. } = seen.limiter;
        let expected = LimiterStats { granted: 2, refused: 1, tokens: 7, by_policy: 1, waiting: 1, wait_time };
        assert_eq!((seen.limiter, wait_time.sum), (expected, took * 2));
        assert_eq!(seen.worker, WorkerStats { refused: 1, held: 3, ..WorkerStats::default() });
        let LatchStats { wait_time, .. } = seen.latch;
        let expected = LatchStats { counted_down: 1, opened: 1, wait_timeouts: 1, cancelled: 1, waiting: 1, wait_time };
        assert_eq!((seen.latch, wait_time.sum), (expected, took));
        drop(waits_for_latch);
        assert_eq!(counters.snapshot(0, 0, 0, 0).latch.waiting, 0);
        drop(waiting);
        assert_eq!(counters.snapshot(0, 0, 0, 0).limiter.waiting, 0);
    }
}
