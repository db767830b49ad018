//! The numbers in a client's owners: each acquire has one that no acquire had before, in this process or in a copy of it.
//!
//! A count alone goes on alike in two copies of a process, as after a snapshot of its machine was restored twice, and the
//! second copy would find its own name on the first one's hold. So numbers follow one another for a millisecond at most, from
//! one that is drawn from the system's random source. To draw each is a system call, which a busy client would notice.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use uuid::Uuid;

use crate::time::Tick;

/// How long numbers follow one another.
const FRESH: Duration = Duration::from_millis(1);

pub(crate) struct OwnerNumbers(Mutex<Numbers>);

struct Numbers {
    next: u64,
    drawn: Tick,
}

impl OwnerNumbers {
    pub(crate) fn new(now: Tick) -> OwnerNumbers {
        OwnerNumbers(Mutex::new(Numbers { next: draw(), drawn: now }))
    }

    /// The number of the next acquire.
    pub(crate) fn next(&self, now: Tick) -> u64 {
        let mut numbers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if now.since(numbers.drawn) >= FRESH {
            *numbers = Numbers { next: draw(), drawn: now };
        }
        let number = numbers.next;
        numbers.next = after(number);
        number
    }
}

/// The largest number: in Redisson's layout the id of a thread stands here, and tools read it as Java's `long`.
const LARGEST: u64 = i64::MAX as u64;

/// A number from the system's random source. A version 4 UUID fixes six bits; mixing its halves leaves none of the 63 fixed.
fn draw() -> u64 {
    let (high, low) = Uuid::new_v4().as_u64_pair();
    (high ^ low.rotate_left(32)) & LARGEST
}

/// The number that follows.
fn after(number: u64) -> u64 {
    number.wrapping_add(1) & LARGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_drawn_anew_after_a_millisecond() {
        let start = Tick(7);
        let (numbers, copy) = (OwnerNumbers::new(start), OwnerNumbers::new(start));
        let first = numbers.next(start);
        let within = start.plus(FRESH - Duration::from_nanos(1));
        assert_eq!(numbers.next(within), after(first));
        // One in 2^32 that it is this near by chance.
        let far = |a: u64, b: u64| a.wrapping_sub(b).min(b.wrapping_sub(a)) > 1 << 31;
        assert!(far(numbers.next(start.plus(FRESH)), first), "drawn anew");
        assert!(far(copy.next(start), first), "and in another client");
    }

    #[test]
    fn every_number_is_one_that_a_long_of_java_holds() {
        assert!((0..64).all(|_| draw() <= LARGEST));
        assert_eq!(after(LARGEST), 0);
    }
}
