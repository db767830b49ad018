//! What a client has counted since it was opened. Counting is a few relaxed atomics, so it is always on.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How many buckets a [`Histogram`] has; the last begins at 76 hours.
pub const HISTOGRAM_BUCKETS: usize = 40;

/// What a client has done since it was opened, and how it stands now; see [`Client::stats`](crate::Client::stats).
///
/// Only the locks are counted, not rate limiters. The numbers are read one after the other while others go on counting, so
/// they may differ by what happened in between.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Holds granted to a caller; re-entries are none. Taking over a detached hold is one.
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
    /// Leases prolonged by the watchdog, one for each lock and time.
    pub renewals: u64,
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    pub renewal_failures: u64,
    /// Holds that were lost, abandoned ones included.
    pub lost: u64,
    /// Holds that ended by a release. Detaching is one.
    pub released: u64,
    /// Callers that wait now.
    pub waiting: u64,
    /// Holds that are looked after now.
    pub held: u64,
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    pub wait_time: Histogram,
    /// From a grant to the beginning of its release: as many as `released`.
    pub hold_time: Histogram,
}

/// How often a length of time fell between two powers of two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Histogram {
    /// `buckets[0]` counts what took less than a microsecond, `buckets[i]` what took 2^(i-1) to 2^i microseconds, the last one
    /// everything longer too.
    pub buckets: [u64; HISTOGRAM_BUCKETS],
    /// All of it together, each rounded down to microseconds.
    pub sum: Duration,
    /// The longest, rounded down to microseconds.
    pub max: Duration,
}

impl Histogram {
    /// How many there were.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// Zero when there were none.
    pub fn mean(&self) -> Duration {
        let nanos = self.sum.as_nanos() / u128::from(self.count().max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// A length that `share` (0.0 to 1.0, such as 0.99) of them did not exceed: the upper end of the bucket, or `max` if that is
    /// less. So it is never too small and less than twice too large. Zero when there were none.
    pub fn quantile(&self, share: f64) -> Duration {
        let count = self.count();
        // At least the first, so that a share of 0 is the smallest.
        let rank = ((count as f64 * share).ceil() as u64).clamp(1, count.max(1));
        let mut seen = 0;
        let at = self.buckets.iter().position(|bucket| {
            seen += bucket;
            seen >= rank
        });
        at.map_or(Duration::ZERO, |at| Duration::from_micros(1 << at).min(self.max))
    }

    /// [`Histogram::quantile`] of a half.
    pub fn p50(&self) -> Duration {
        self.quantile(0.5)
    }

    /// [`Histogram::quantile`] of 0.99.
    pub fn p99(&self) -> Duration {
        self.quantile(0.99)
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { buckets: [0; HISTOGRAM_BUCKETS], sum: Duration::ZERO, max: Duration::ZERO }
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Histogram")
            .field("count", &self.count())
            .field("mean", &self.mean())
            .field("p50", &self.p50())
            .field("p99", &self.p99())
            .field("max", &self.max)
            .finish()
    }
}

/// How a lock came to who acquired it.
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

/// One for each client. Every method is one event and takes some nanoseconds.
#[derive(Default)]
pub(crate) struct Counters {
    waited: AtomicU64,
    local: AtomicU64,
    remote: AtomicU64,
    wait_timeouts: AtomicU64,
    cancelled: AtomicU64,
    retries: AtomicU64,
    renewals: AtomicU64,
    renewal_failures: AtomicU64,
    lost: AtomicU64,
    waiting: AtomicU64,
    wait_time: Times,
    hold_time: Times,
}

/// Counts as a waiting caller for as long as it lives.
pub(crate) struct Waiting(Arc<Counters>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counters {
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
    pub(crate) fn waits(self: &Arc<Self>) -> Waiting {
        add(&self.waiting, 1);
        Waiting(self.clone())
    }

    /// An acquire was not granted within its wait.
    pub(crate) fn wait_timed_out(&self) {
        add(&self.wait_timeouts, 1);
    }

    /// A caller gave up waiting.
    pub(crate) fn cancelled(&self) {
        add(&self.cancelled, 1);
    }

    /// A request is sent again.
    pub(crate) fn retried(&self) {
        add(&self.retries, 1);
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

    /// Everything counted so far, with how many are held as somebody else knows it.
    pub(crate) fn snapshot(&self, held: u64) -> Stats {
        let (wait_time, hold_time) = (self.wait_time.read(), self.hold_time.read());
        let (local, remote) = (read(&self.local), read(&self.remote));
        Stats {
            acquired: wait_time.count(),
            contended: read(&self.waited) + local + remote,
            handed_over_local: local,
            handed_over_remote: remote,
            wait_timeouts: read(&self.wait_timeouts),
            cancelled: read(&self.cancelled),
            retries: read(&self.retries),
            renewals: read(&self.renewals),
            renewal_failures: read(&self.renewal_failures),
            lost: read(&self.lost),
            released: hold_time.count(),
            waiting: read(&self.waiting),
            held,
            wait_time,
            hold_time,
        }
    }
}

/// A histogram that is being counted.
struct Times {
    buckets: [AtomicU64; HISTOGRAM_BUCKETS],
    sum_us: AtomicU64,
    max_us: AtomicU64,
}

impl Times {
    fn add(&self, length: Duration) {
        let us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        add(&self.buckets[bucket(us)], 1);
        add(&self.sum_us, us);
        // A new longest is rare, and a read costs less than a write.
        if us > read(&self.max_us) {
            self.max_us.fetch_max(us, Ordering::Relaxed);
        }
    }

    fn read(&self) -> Histogram {
        Histogram {
            buckets: self.buckets.each_ref().map(read),
            sum: Duration::from_micros(read(&self.sum_us)),
            max: Duration::from_micros(read(&self.max_us)),
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        Times {
            buckets: [const { AtomicU64::new(0) }; HISTOGRAM_BUCKETS],
            sum_us: AtomicU64::new(0),
            max_us: AtomicU64::new(0),
        }
    }
}

fn bucket(us: u64) -> usize {
    ((u64::BITS - us.leading_zeros()) as usize).min(HISTOGRAM_BUCKETS - 1)
}

fn add(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_length_falls_between_its_powers_of_two() {
        for (us, at) in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 3), (1_000, 10), (u64::MAX, HISTOGRAM_BUCKETS - 1)] {
            assert_eq!(bucket(us), at, "{us}");
        }
    }

    #[test]
    fn a_quantile_is_never_too_small_and_less_than_twice_too_large() {
        let times = Times::default();
        (1..=1_000).for_each(|us| times.add(Duration::from_micros(us)));
        let seen = times.read();
        assert_eq!((seen.count(), seen.max), (1_000, Duration::from_micros(1_000)));
        assert_eq!(seen.mean(), Duration::from_nanos(500_500));
        for (share, exact) in [(0.0, 1), (0.5, 500), (0.99, 990), (1.0, 1_000)] {
            let (exact, told) = (Duration::from_micros(exact), seen.quantile(share));
            assert!(exact <= told && told <= exact * 2, "{share}: {told:?} for {exact:?}");
        }
        assert_eq!(Histogram::default().p99(), Duration::ZERO);
    }

    #[test]
    fn every_event_is_counted_as_what_it_is() {
        let counters = Arc::new(Counters::default());
        let took = Duration::from_millis(3);
        for way in [Way::AtOnce, Way::Waited, Way::Local, Way::Local, Way::Remote] {
            counters.acquired(took, way);
        }
        counters.wait_timed_out();
        counters.cancelled();
        counters.retried();
        counters.renewed(7);
        counters.renewals_failed(4);
        counters.lost();
        counters.released(took);
        let waiting = counters.waits();
        let seen = counters.snapshot(3);
        let expected = Stats {
            acquired: 5,
            contended: 4,
            handed_over_local: 2,
            handed_over_remote: 1,
            wait_timeouts: 1,
            cancelled: 1,
            retries: 1,
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
        let counters = Counters::default();
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

    fn count(counters: &Counters, times: u64) {
        for us in 0..times {
            counters.acquired(black_box(Duration::from_micros(us % 1_000)), black_box(Way::Local));
            counters.released(black_box(Duration::from_micros(us % 500)));
            counters.renewed(black_box(1));
        }
    }
}
