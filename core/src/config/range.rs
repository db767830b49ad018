//! How errors write a range of durations: as the documentation does.

use std::fmt;
use std::time::Duration;

use super::{MAX_LEASE, MIN_LEASE};

/// From so many ms to so many ms.
#[derive(Clone, Copy)]
pub(crate) struct Range {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Range {
    /// The durations that a lease may have.
    pub(crate) const LEASE: Range = Range { min: millis(MIN_LEASE), max: millis(MAX_LEASE) };
}

const fn millis(duration: Duration) -> u64 {
    duration.as_millis() as u64
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", text(self.min), text(self.max))
    }
}

/// In the largest unit that is exact, days only beyond one; `duration` in `api/words.py` does the same for the tables.
fn text(millis: u64) -> String {
    const DAY: u64 = 24 * 3_600_000;
    let units = [("days", DAY, 2 * DAY), ("h", 3_600_000, 3_600_000), ("s", 1_000, 1_000), ("ms", 1, 1)];
    let unit = units.into_iter().find(|(_, size, least)| millis.is_multiple_of(*size) && millis >= *least);
    unit.map_or("0".to_owned(), |(unit, size, _)| format!("{} {unit}", millis / size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_written_in_the_largest_units_that_are_exact() {
        assert_eq!(Range::LEASE.to_string(), "100 ms to 24 h");
        assert_eq!(Range { min: 0, max: 31_622_400_000 }.to_string(), "0 to 366 days");
        assert_eq!(Range { min: 1_500, max: 90_000 }.to_string(), "1500 ms to 90 s");
    }
}
