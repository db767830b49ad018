//! How often something took how long.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::counters::{add, read};

/// How many buckets a [`Histogram`] has; the last begins at 76 hours.
// <api:buckets> written by `python3 api/write.py` from api/records.json
pub const HISTOGRAM_BUCKETS: usize = 40;
// </api:buckets>

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

    /// A length that `share` (0.0 to 1.0, such as 0.99) of them did not exceed: the upper end of the bucket, or `max` if that
    /// is less. So it is never too small and less than twice too large. Zero when there were none.
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

/// A histogram that is being counted.
pub(super) struct Times {
    buckets: [AtomicU64; HISTOGRAM_BUCKETS],
    sum_us: AtomicU64,
    max_us: AtomicU64,
}

impl Times {
    pub(super) fn add(&self, length: Duration) {
        let us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        add(&self.sum_us, us);
        // A new longest is rare, and a read costs less than a write.
        if us > read(&self.max_us) {
            self.max_us.fetch_max(us, Ordering::Relaxed);
        }
        // Pairs with the read: what was counted before is seen, too.
        self.buckets[bucket(us)].fetch_add(1, Ordering::Release);
    }

    pub(super) fn read(&self) -> Histogram {
        Histogram {
            buckets: self.buckets.each_ref().map(|bucket| bucket.load(Ordering::Acquire)),
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

#[cfg(test)]
mod tests {
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
}
