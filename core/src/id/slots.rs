//! The slots of one identity: time and sequence as one number that only grows. The one atomic of a generator.
//!
//! ```text
//! +---------------------------------+----------+
//! |  milliseconds since the epoch   | sequence |
//! +---------------------------------+----------+
//! ```
//!
//! A slot that has been taken is never given again, because the next free one is larger than all that were taken, and only
//! grows: neither the clock nor another thread can bring it back.

use std::sync::atomic::{AtomicU64, Ordering};

/// Slots one after another, all of one millisecond; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    pub(super) first: u64,
    pub(super) count: u64,
}

/// There is no free slot up to the given millisecond: the next one lies in this later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct UsedUp {
    pub(super) next_ms: u64,
}

#[derive(Debug)]
pub(super) struct Slots {
    /// The first that is free: more than every one that was taken.
    next: AtomicU64,
    sequence_bits: u32,
}

impl Slots {
    pub(super) fn starting_at(next: u64, sequence_bits: u32) -> Slots {
        Slots { next: AtomicU64::new(next), sequence_bits }
    }

    /// Takes up to `want` slots, at least one, of the first millisecond that has any: not before `now_ms`, and not after
    /// `newest_ms`.
    pub(super) fn take(&self, want: u64, now_ms: u64, newest_ms: u64) -> Result<Taken, UsedUp> {
        let now = now_ms << self.sequence_bits;
        // Relaxed: the number is all that the threads share, and the order of its values is one for all of them.
        let mut next = self.next.load(Ordering::Relaxed);
        loop {
            let first = next.max(now);
            let ms = first >> self.sequence_bits;
            if ms > newest_ms {
                return Err(UsedUp { next_ms: ms });
            }
            let left = ((ms + 1) << self.sequence_bits) - first;
            let count = want.min(left);
            match self.next.compare_exchange_weak(next, first + count, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(Taken { first, count }),
                Err(other) => next = other,
            }
        }
    }

    /// The first free slot; 0 when none was ever taken.
    pub(super) fn next(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn slots_count_within_a_millisecond_and_go_on_in_the_next() {
        let slots = Slots::starting_at(0, 2);
        let take = |want, now, newest| slots.take(want, now, newest);
        assert_eq!(take(1, 5, 5), Ok(Taken { first: 20, count: 1 }));
        assert_eq!(take(9, 5, 5), Ok(Taken { first: 21, count: 3 }));
        assert_eq!(take(1, 5, 5), Err(UsedUp { next_ms: 6 }));
        assert_eq!(take(9, 5, 6), Ok(Taken { first: 24, count: 4 }), "borrowed");
        assert_eq!(take(1, 6, 6), Err(UsedUp { next_ms: 7 }), "what was borrowed is gone");
        assert_eq!(take(1, 9, 9), Ok(Taken { first: 36, count: 1 }));
        assert_eq!(take(1, 8, 9), Ok(Taken { first: 37, count: 1 }), "a clock that lags takes nothing twice");
    }

    proptest! {
        /// The invariant: what is taken is larger than all that was taken before, and lies between now and the newest
        /// millisecond allowed, whatever the clocks of the callers say.
        #[test]
        fn slots_only_grow(
            bits in 0_u32..13,
            calls in prop::collection::vec((1_u64..10_000, 0_u64..50, 0_u64..10), 1..200),
        ) {
            let slots = Slots::starting_at(0, bits);
            let mut free = 0;
            for (want, now, ahead) in calls {
                match slots.take(want, now, now + ahead) {
                    Ok(Taken { first, count }) => {
                        prop_assert!(first >= free && (1..=want).contains(&count));
                        let (low, high) = (first >> bits, (first + count - 1) >> bits);
                        prop_assert_eq!(low, high, "of one millisecond");
                        prop_assert!((now..=now + ahead).contains(&low));
                        free = first + count;
                    }
                    Err(UsedUp { next_ms }) => {
                        prop_assert!(next_ms > now + ahead);
                        prop_assert_eq!(next_ms, free >> bits);
                    }
                }
                prop_assert_eq!(slots.next(), free);
            }
        }
    }
}
