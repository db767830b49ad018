//! The bound on the tokens that one client has reserved.
//!
//! Reserved tokens stay charged when the process is killed: nobody is left to give them back. So a client has no more of them than
//! come in [`AHEAD`], and those of one caller that wants more. Its other callers stand in a queue (`queue.rs`).

use std::time::Duration;

use super::rate::Rate;
use super::rates::Rates;
use super::reservations::Demand;

/// Long against a round trip, so that no token waits for its taker; short for those who wait behind a process that was killed.
const AHEAD: Duration = Duration::from_secs(10);

/// The callers that have reserved, or ask for it.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Sum of what all but the large ones want.
    tokens: u64,
    /// Number of those that want more than comes in [`AHEAD`].
    large: usize,
    /// Number of times that everything was forgotten.
    forgotten: u64,
}

/// One caller that is counted.
#[derive(Debug)]
pub(super) struct Counted {
    /// `None` of a large one.
    tokens: Option<u64>,
    forgotten: u64,
}

impl Ahead {
    /// Whether a caller may ask for this. One always may.
    pub(super) fn has_room(&self, (rates, cost): &Demand) -> bool {
        match *cost <= rates.ahead() {
            true => self.tokens + cost <= rates.ahead(),
            false => self.large == 0,
        }
    }

    pub(super) fn add(&mut self, (rates, cost): &Demand) -> Counted {
        let tokens = Some(*cost).filter(|cost| *cost <= rates.ahead());
        match tokens {
            Some(tokens) => self.tokens += tokens,
            None => self.large += 1,
        }
        Counted { tokens, forgotten: self.forgotten }
    }

    pub(super) fn remove(&mut self, counted: Counted) {
        match counted.tokens {
            _ if counted.forgotten != self.forgotten => {}
            Some(tokens) => self.tokens -= tokens,
            None => self.large -= 1,
        }
    }

    /// Begins again at none: all that was counted is not charged any more.
    pub(super) fn forget(&mut self) {
        *self = Ahead { forgotten: self.forgotten + 1, ..Ahead::default() };
    }
}

impl Rates {
    /// Number of tokens that come in [`AHEAD`].
    fn ahead(&self) -> u64 {
        let of_one = |rate: &Rate| u128::from(rate.tokens()) * AHEAD.as_micros() / rate.per().as_micros().max(1);
        self.iter().map(of_one).min().map_or(0, |tokens| u64::try_from(tokens).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn ten_seconds_and_one_large_caller_have_room() {
        let rates = Rates::from(Rate::new(2, SECOND).burst(50));
        let of = |cost| (rates.clone(), cost);
        let mut ahead = Ahead::default();
        assert!(ahead.has_room(&of(50)));
        let large = ahead.add(&of(21));
        assert!(!ahead.has_room(&of(50)) && ahead.has_room(&of(20)));
        let small: Vec<Counted> = (0..19).map(|_| ahead.add(&of(1))).collect();
        assert!(ahead.has_room(&of(1)) && !ahead.has_room(&of(2)));
        ahead.remove(large);
        assert!(ahead.has_room(&of(50)) && !ahead.has_room(&of(2)));
        ahead.forget();
        let after = ahead.add(&of(20));
        small.into_iter().for_each(|counted| ahead.remove(counted));
        assert!(!ahead.has_room(&of(1)), "others are counted since");
        ahead.remove(after);
        assert_eq!((ahead.tokens, ahead.large), (0, 0));
    }

    #[test]
    fn the_slowest_rate_says_how_much_is_ahead() {
        let ahead = |rates: &[Rate]| Rates::from(rates).ahead();
        assert_eq!(ahead(&[Rate::new(10, SECOND)]), 100);
        assert_eq!(ahead(&[Rate::new(10, SECOND), Rate::new(300, 60 * SECOND)]), 50);
        assert_eq!(ahead(&[Rate::new(1, 3_600 * SECOND)]), 0);
        assert_eq!(ahead(&[Rate::new(1_000_000_000_000, Duration::from_micros(1))]), 10_000_000_000_000_000_000);
    }
}
