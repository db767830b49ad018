//! Exact time for the limiter: whole microseconds and a part of one.
//!
//! `cost` tokens come back in `cost x period / tokens` microseconds, which is seldom a whole number, and rounding it would
//! let a limiter drift. So instants are counted in parts of 1/tokens of a microsecond, and kept as two integers, each of
//! which a double of Lua holds exactly.

use crate::time::ServerTime;

/// 2025-01-01 in microseconds of Unix time: what the limiter counts from, to keep numbers small.
const EPOCH_US: u64 = 1_735_689_600_000_000;

/// An instant in us since 2025, or a length of time: whole microseconds and `part / unit` of one. Which unit goes without
/// saying: that of the rate at hand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Span {
    pub(crate) us: u64,
    pub(crate) part: u64,
}

impl Span {
    /// So many parts.
    pub(super) fn of(work: u128, unit: u64) -> Span {
        let unit = u128::from(unit);
        Span { us: (work / unit) as u64, part: (work % unit) as u64 }
    }

    /// An instant on the server's clock; one before 2025 counts as 2025.
    pub(super) fn at(now: ServerTime) -> Span {
        Span { us: now.0.saturating_sub(EPOCH_US), part: 0 }
    }

    pub(super) fn plus(self, other: Span, unit: u64) -> Span {
        let part = self.part + other.part;
        let carry = u64::from(part >= unit);
        Span { us: self.us.saturating_add(other.us).saturating_add(carry), part: part - carry * unit }
    }

    /// In parts.
    pub(super) fn work(self, unit: u64) -> u128 {
        u128::from(self.us) * u128::from(unit) + u128::from(self.part)
    }

    /// Reads what the key holds: `us`, or `us+part/unit`. A part in another unit is rounded up to the next microsecond, so
    /// that a change of the rate never grants more. `None` for what is no such text.
    pub(super) fn parse(text: &str, unit: u64) -> Option<Span> {
        let Some((us, fraction)) = text.split_once('+') else {
            return Some(Span { us: digits(text)?, part: 0 });
        };
        let (part, in_unit) = fraction.split_once('/')?;
        Some(Span { us: digits(us)?, part: digits(part)? }.into_unit(digits(in_unit)?, unit))
    }

    /// The same in another unit: parts are rounded up to the next microsecond.
    pub(super) fn into_unit(self, from: u64, to: u64) -> Span {
        match self.part > 0 && (from != to || self.part >= to) {
            true => Span { us: self.us.saturating_add(1), part: 0 },
            false => self,
        }
    }

    /// What the key holds.
    pub(super) fn text(self, unit: u64) -> String {
        match self.part {
            0 => self.us.to_string(),
            part => format!("{}+{part}/{unit}", self.us),
        }
    }
}

/// A number of any length; one that is too large for us is as good as endless.
fn digits(text: &str) -> Option<u64> {
    let all_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_carry_into_microseconds_and_nothing_is_lost() {
        let third = Span::of(1, 3);
        assert_eq!(third, Span { us: 0, part: 1 });
        let sum = third.plus(third, 3).plus(third, 3);
        assert_eq!(sum, Span { us: 1, part: 0 });
        assert_eq!(Span::of(10, 3).work(3), 10);
    }

    #[test]
    fn what_is_written_is_read_again_and_another_unit_rounds_up() {
        for span in [Span { us: 7, part: 0 }, Span { us: 7, part: 2 }] {
            assert_eq!(Span::parse(&span.text(3), 3), Some(span));
        }
        assert_eq!(Span::parse("7+2/3", 5), Some(Span { us: 8, part: 0 }));
        assert_eq!(Span::parse("7+3/3", 3), Some(Span { us: 8, part: 0 }));
        assert_eq!(Span::parse("7+0/3", 5), Some(Span { us: 7, part: 0 }));
        assert_eq!(Span::parse(&"9".repeat(400), 1), Some(Span { us: u64::MAX, part: 0 }));
        for wrong in ["", "x", "7+", "7+1", "7+1/", "-7", "7.5", "7+1/3/3", " 7"] {
            assert_eq!(Span::parse(wrong, 3), None, "{wrong:?}");
        }
    }
}
