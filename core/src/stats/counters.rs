//! The statistics while they are being counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::histogram::Times;
use super::holds::HoldCounts;
use super::{CountingSemaphoreStats, LatchStats, LimiterStats, LockStats, QueueStats, Stats};

/// One for each client.
#[derive(Default)]
pub(crate) struct Counters {
    retries: AtomicU64,
    pub(crate) lock: HoldCounts,
    pub(crate) limiter: DecisionCounts,
    pub(crate) semaphore: HoldCounts,
    pub(crate) rw_lock: HoldCounts,
    pub(crate) queue: JobCounts,
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

    /// Everything counted so far.
    pub(crate) fn snapshot(&self, held: Held) -> Stats {
        Stats {
            retries: read(&self.retries),
            lock: self.lock.snapshot(held.locks),
            limiter: self.limiter.snapshot(),
            semaphore: self.semaphore.snapshot_of_semaphores(held.semaphores),
            rw_lock: self.rw_lock.snapshot_of_rw_locks(held.rw_locks),
            counting_semaphore: self.counting.snapshot(),
            latch: self.latch.snapshot(),
            worker: self.worker.snapshot_of_workers(held.workers),
            queue: self.queue.snapshot(held.deliveries),
        }
    }
}

/// How many holds of each kind there are, which the keeper knows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Held {
    pub(crate) locks: u64,
    pub(crate) semaphores: u64,
    pub(crate) rw_locks: u64,
    pub(crate) workers: u64,
    pub(crate) deliveries: u64,
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

/// Of queues.
#[derive(Default)]
pub(crate) struct JobCounts {
    deliveries: HoldCounts,
    put: AtomicU64,
    duplicates: AtomicU64,
    full: AtomicU64,
    acked: AtomicU64,
    nacked: AtomicU64,
    dead: AtomicU64,
    removed: AtomicU64,
}

impl JobCounts {
    pub(crate) fn deliveries(&self) -> &HoldCounts {
        &self.deliveries
    }

    /// So many jobs were put, and so many were not because their ids were there.
    pub(crate) fn put(&self, jobs: usize, duplicates: usize) {
        add(&self.put, jobs as u64);
        add(&self.duplicates, duplicates as u64);
    }

    /// A request was refused because the queue was full.
    pub(crate) fn full(&self) {
        add(&self.full, 1);
    }

    /// A delivery was acknowledged.
    pub(crate) fn acked(&self) {
        add(&self.acked, 1);
    }

    /// A worker put its delivery back, after which its job may be dead.
    pub(crate) fn nacked(&self, dead: bool) {
        add(&self.nacked, 1);
        add(&self.dead, dead.into());
    }

    /// So many jobs were removed.
    pub(crate) fn removed(&self, jobs: u64) {
        add(&self.removed, jobs);
    }

    fn snapshot(&self, held: u64) -> QueueStats {
        // Before the deliveries: one that is seen as ended is seen as taken.
        let (acked, dead, nacked) = (read(&self.acked), read(&self.dead), read(&self.nacked));
        let LockStats {
            acquired,
            contended,
            wait_timeouts,
            cancelled,
            renewals,
            renewal_failures,
            lost,
            waiting,
            wait_time,
            hold_time,
            ..
        } = self.deliveries.snapshot(held);
        QueueStats {
            put: read(&self.put),
            duplicates: read(&self.duplicates),
            full: read(&self.full),
            taken: acquired,
            contended,
            wait_timeouts,
            cancelled,
            acked,
            nacked,
            dead,
            removed: read(&self.removed),
            renewals,
            renewal_failures,
            lost,
            waiting,
            held,
            wait_time,
            hold_time,
        }
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
    use super::super::holds::Way;
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
        counters.queue.put(5, 2);
        counters.queue.full();
        counters.queue.deliveries().acquired(took, Way::Waited);
        counters.queue.acked();
        counters.queue.nacked(false);
        counters.queue.nacked(true);
        counters.queue.removed(4);
        let seen = counters.snapshot(Held { locks: 0, semaphores: 2, rw_locks: 1, workers: 3, deliveries: 6 });
        assert_eq!((seen.retries, seen.lock), (1, LockStats { lost: 1, ..LockStats::default() }));
        assert_eq!(seen.semaphore, SemaphoreStats { cancelled: 1, held: 2, ..SemaphoreStats::default() });
        assert_eq!(seen.rw_lock, RwLockStats { lost: 1, held: 1, ..RwLockStats::default() });
        let counted = CountingSemaphoreStats { cancelled: 1, released: 1, ..CountingSemaphoreStats::default() };
        assert_eq!(seen.counting_semaphore, counted);
        let LimiterStats { wait_time, .. } = seen.limiter;
        let expected = LimiterStats { granted: 2, refused: 1, tokens: 7, by_policy: 1, waiting: 1, wait_time };
        assert_eq!((seen.limiter, wait_time.sum), (expected, took * 2));
        assert_eq!(seen.worker, WorkerStats { refused: 1, held: 3, ..WorkerStats::default() });
        let QueueStats { wait_time, hold_time, .. } = seen.queue;
        let expected = QueueStats {
            put: 5,
            duplicates: 2,
            full: 1,
            taken: 1,
            contended: 1,
            acked: 1,
            nacked: 2,
            dead: 1,
            removed: 4,
            held: 6,
            wait_time,
            hold_time,
            ..QueueStats::default()
        };
        assert_eq!((seen.queue, wait_time.sum), (expected, took));
        let LatchStats { wait_time, .. } = seen.latch;
        let expected = LatchStats { counted_down: 1, opened: 1, wait_timeouts: 1, cancelled: 1, waiting: 1, wait_time };
        assert_eq!((seen.latch, wait_time.sum), (expected, took));
        drop(waits_for_latch);
        assert_eq!(counters.snapshot(Held::default()).latch.waiting, 0);
        drop(waiting);
        assert_eq!(counters.snapshot(Held::default()).limiter.waiting, 0);
    }
}
