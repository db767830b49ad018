//! What is counted of each kind of object that is held.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use super::counters::{Waiting, add, read};
use super::histogram::Times;
use super::{LockStats, RwLockStats, SemaphoreStats, WorkerStats};

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

    pub(super) fn snapshot(&self, held: u64) -> LockStats {
        read_holds!(self, held, LockStats)
    }

    pub(super) fn snapshot_of_semaphores(&self, held: u64) -> SemaphoreStats {
        read_holds!(self, held, SemaphoreStats)
    }

    pub(super) fn snapshot_of_rw_locks(&self, held: u64) -> RwLockStats {
        read_holds!(self, held, RwLockStats)
    }

    /// Nobody waits for a number: what was not granted at once was refused.
    pub(super) fn snapshot_of_workers(&self, held: u64) -> WorkerStats {
        let LockStats {
            acquired, wait_timeouts, renewals, renewal_failures, lost, released, wait_time, hold_time, ..
        } = self.snapshot(held);
        let refused = wait_timeouts;
        WorkerStats { acquired, refused, renewals, renewal_failures, lost, released, held, wait_time, hold_time }
    }
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
