//! Exact time for the limiter: whole microseconds and a part of one.
//!
//! `cost` tokens come back in `cost x period / tokens` microseconds, which is seldom a whole number, and rounding it would
//! let a limiter drift. So instants are counted in parts of 1/tokens of a microsecond, and kept as two integers, each of
//! which a double of Lua holds exactly.

use crate::time::ServerTime;

/// 2025-01-01 in microseconds of Unix time: what the limiter counts from, to keep numbers small.
pub(super) const EPOCH_US: u64 = 1_735_689_600_000_000;

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
        Span { us: since_2025(now), part: 0 }
    }

    pub(super) fn plus(self, other: Span, unit: u64) -> Span {
        let part = self.part + other.part;
        let carry = u64::from(part >= unit);
        Span { us: self.us.saturating_add(other.us).saturating_add(carry), part: part - carry * unit }
    }

    /// No less than nothing.
    pub(super) fn minus(self, other: Span, unit: u64) -> Span {
        let borrow = u64::from(self.part < other.part);
        match self.us.checked_sub(other.us.saturating_add(borrow)) {
            Some(us) => Span { us, part: self.part + borrow * unit - other.part },
            None => Span::default(),
        }
    }

    /// In parts.
    pub(super) fn work(self, unit: u64) -> u128 {
        u128::from(self.us) * u128::from(unit) + u128::from(self.part)
    }

    /// The same in another unit: parts are rounded up to the next microsecond.
    pub(super) fn into_unit(self, from: u64, to: u64) -> Span {
        match self.part > 0 && (from != to || self.part >= to) {
            true => Span { us: self.us.saturating_add(1), part: 0 },
            false => self,
        }
    }
}

/// An instant on the server's clock, in us since 2025; one before counts as 2025.
pub(super) fn since_2025(now: ServerTime) -> u64 {
    now.0.saturating_sub(EPOCH_US)
}

/// What the key holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) tat: Span,
    /// When it was written, in us since 2025, if it lies beyond the horizon on purpose: some of what it counts was reserved,
    /// and comes later than now.
    pub(crate) at: Option<u64>,
}

impl Stored {
    /// Reads `us`, `us+part/unit`, or `us+<part><at>/<unit>0000000000000000` where `at` has 16 digits: the same part to 16 more
    /// places, which a reader that knows no reservations takes for a part in another unit. A part in another unit is rounded up
    /// to the next microsecond, so that a change of the rate never grants more. `None` for what is no such text.
    pub(super) fn parse(text: &str, unit: u64) -> Option<Stored> {
        let Some((us, fraction)) = text.split_once('+') else {
            return Some(Stored { tat: Span { us: digits(text)?, part: 0 }, at: None });
        };
        let (part, in_unit) = fraction.split_once('/')?;
        // Also where they are split below: no text of others is cut inside of a character.
        let (us, _, _) = (digits(us)?, digits(part)?, digits(in_unit)?);
        let (part, in_unit, at) = match in_unit.strip_suffix(PLACES) {
            Some(in_unit) if !in_unit.is_empty() && part.len() > PLACES.len() => {
                let (part, at) = part.split_at(part.len() - PLACES.len());
                (part, in_unit, Some(digits(at)?))
            }
            _ => (part, in_unit, None),
        };
        Some(Stored { tat: Span { us, part: digits(part)? }.into_unit(digits(in_unit)?, unit), at })
    }

    pub(super) fn text(self, unit: u64) -> String {
        let Span { us, part } = self.tat;
        match (self.at, part) {
            (Some(at), part) => format!("{us}+{part}{at:016}/{unit}{PLACES}"),
            (None, 0) => us.to_string(),
            (None, part) => format!("{us}+{part}/{unit}"),
        }
    }
}

/// As many places as the time of writing has.
const PLACES: &str = "0000000000000000";

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
        for tat in [Span { us: 7, part: 0 }, Span { us: 7, part: 2 }] {
            for at in [None, Some(0), Some(61_000_000_000_000)] {
                let stored = Stored { tat, at };
                assert_eq!(Stored::parse(&stored.text(3), 3), Some(stored));
            }
        }
        let read =
            |text: &str, unit| Stored::parse(text, unit).map(|stored| (stored.tat.us, stored.tat.part, stored.at));
        assert_eq!(read("7+2/3", 5), Some((8, 0, None)));
        assert_eq!(read("7+3/3", 3), Some((8, 0, None)));
        assert_eq!(read("7+0/3", 5), Some((7, 0, None)));
        assert_eq!(read(&"9".repeat(400), 1), Some((u64::MAX, 0, None)));
        assert_eq!(read("7+20000000000000005/30000000000000000", 3), Some((7, 2, Some(5))));
        assert_eq!(read("7+20000000000000005/30000000000000000", 4), Some((8, 0, Some(5))));
        for wrong in
            ["", "x", "7+", "7+1", "7+1/", "-7", "7.5", "7+1/3/3", " 7", "7+\u{e9}0000000000000000/30000000000000000"]
        {
            assert_eq!(read(wrong, 3), None, "{wrong:?}");
        }
    }
}
