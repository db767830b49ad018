//! How large a filter is, and what it says about its items: Redisson's formulas, in the same arithmetic.

use std::f64::consts::LN_2;

use super::{MAX_COUNT, MAX_EXPECTED, MAX_SIZE};
use crate::error::{Error, ErrorKind, Result};

/// The configuration of a filter: for how many items it is, with which rate, and what follows from that.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizing {
    expected: u64,
    rate: f64,
    size: u64,
    hashes: u32,
}

impl Sizing {
    pub(super) fn new(op: &'static str, expected: u64, rate: f64) -> Result<Sizing> {
        let refused =
            |given: String, allowed: String| Err(Error::refused(ErrorKind::InvalidArgument, op, given, allowed));
        if !(1..=MAX_EXPECTED).contains(&expected) {
            return refused(format!("{expected} expected items are out of range"), format!("1 to {MAX_EXPECTED}"));
        }
        // NaN is neither.
        if !(rate > 0.0 && rate < 1.0) {
            return refused(format!("a false positive rate of {rate} is out of range"), "above 0 and below 1".into());
        }
        let items = expected as f64;
        let bits = -items * rate.ln() / (LN_2 * LN_2);
        if bits < 1.0 {
            let given = format!("{expected} expected items at a false positive rate of {rate} need no bit");
            return refused(given, "more items, or a lower rate".into());
        }
        if bits >= (MAX_SIZE + 1) as f64 {
            let given = format!("{expected} expected items at a false positive rate of {rate} need {bits:.0} bits");
            let most = (MAX_SIZE as f64 * LN_2 * LN_2 / -rate.ln()).floor();
            let allowed = format!(
                "{MAX_SIZE} bits, which is {most:.0} items at this rate; use several filters, each for a part of the items, or \
                 a higher rate"
            );
            return refused(given, allowed);
        }
        let size = bits as u64;
        // As Java rounds.
        let hashes = (size as f64 / items * LN_2 + 0.5).floor().max(1.0);
        Ok(Sizing { expected, rate, size, hashes: hashes as u32 })
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn hashes(&self) -> u32 {
        self.hashes
    }

    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    pub(super) fn rate(&self) -> f64 {
        self.rate
    }

    /// As the server has it: size, hashes, items and rate.
    pub(super) fn texts(&self) -> [String; 4] {
        [self.size.to_string(), self.hashes.to_string(), self.expected.to_string(), java_text(self.rate)]
    }

    /// How many items have been added if so many bits are set, as Redisson estimates it.
    pub(super) fn count(&self, ones: u64) -> u64 {
        let (ones, size) = (ones.min(self.size), self.size as f64);
        let count = (-size / f64::from(self.hashes) * (1.0 - ones as f64 / size).ln() + 0.5).floor();
        // More than the largest, also infinitely many, becomes that.
        (count as u64).min(MAX_COUNT)
    }

    /// The share of items that were not added and are found all the same, if so many bits are set.
    pub(super) fn rate_now(&self, ones: u64) -> f64 {
        (ones as f64 / self.size as f64).min(1.0).powf(self.hashes.into())
    }
}

/// A number between 0 and 1 as Java's `Double.toString` writes it.
fn java_text(number: f64) -> String {
    if number >= 1e-3 {
        return number.to_string();
    }
    let text = format!("{number:E}");
    match text.split_once('E') {
        Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizing(expected: u64, rate: f64) -> Sizing {
        Sizing::new("test", expected, rate).unwrap()
    }

    #[test]
    fn sizes_and_hashes_are_those_of_redisson() {
        let known = [
            (100, 0.03, 729, 5),
            (1_000, 0.01, 9_585, 7),
            (1_000_000, 0.01, 9_585_058, 7),
            (55_000_000, 0.03, 401_414_246, 5),
            (100_000_000, 0.001, 1_437_758_756, 10),
        ];
        for (expected, rate, size, hashes) in known {
            let sizing = sizing(expected, rate);
            assert_eq!((sizing.size(), sizing.hashes()), (size, hashes), "{expected} at {rate}");
        }
        assert_eq!(sizing(1, f64::MIN_POSITIVE).hashes(), 1_022);
        assert_eq!(sizing(1, 0.5).hashes(), 1);
    }

    #[test]
    fn rates_are_written_as_java_writes_them() {
        let known = [(0.03, "0.03"), (0.001, "0.001"), (1e-4, "1.0E-4"), (1.5e-7, "1.5E-7"), (0.5, "0.5")];
        known.iter().for_each(|(rate, text)| assert_eq!(java_text(*rate), *text));
    }

    #[test]
    fn a_filter_that_is_full_has_the_largest_count() {
        let sizing = sizing(100, 0.03);
        assert_eq!([0, 5, 729, 800].map(|ones| sizing.count(ones)), [0, 1, MAX_COUNT, MAX_COUNT]);
        assert_eq!([0, 729, 800].map(|ones| sizing.rate_now(ones)), [0.0, 1.0, 1.0]);
    }
}
