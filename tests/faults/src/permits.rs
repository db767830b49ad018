//! How many permits of one semaphore were held at once, by what the holders of all processes report.

use libdlock_testkit::Hold;

/// The most permits that were held at one instant. The token of a hold is its number of permits.
pub fn most_at_once(holds: &[Hold]) -> u64 {
    let mut changes: Vec<(i64, i64)> = Vec::new();
    for hold in holds {
        assert!(hold.acquired_at <= hold.ended_at, "the record itself is wrong: {hold}");
        changes.extend([(hold.acquired_at, hold.token as i64), (hold.ended_at, -(hold.token as i64))]);
    }
    // Of one instant, what ends comes first.
    changes.sort_unstable();
    let held = changes.into_iter().scan(0, |held, (_, change)| {
        *held += change;
        Some(*held)
    });
    held.max().unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(permits: u64, acquired_at: i64, ended_at: i64) -> Hold {
        Hold { who: String::new(), token: permits, acquired_at, ended_at }
    }

    #[test]
    fn permits_of_holds_that_overlap_add_up() {
        assert_eq!(most_at_once(&[]), 0);
        assert_eq!(most_at_once(&[hold(2, 0, 10), hold(3, 10, 20)]), 3);
        assert_eq!(most_at_once(&[hold(2, 0, 10), hold(3, 9, 20), hold(1, 15, 16)]), 5);
        assert_eq!(most_at_once(&[hold(1, 0, 100), hold(1, 1, 2), hold(2, 50, 60)]), 3);
    }
}
