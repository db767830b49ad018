//! Whether a recorded history of holds was lawful: nobody held at the same time as anybody else, and every grant's
//! fencing token is larger than those of all grants before it.

use std::fmt;

/// One hold of one lock, as its holder saw it. Times are of [`crate::wait::monotonic_us`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Which process or thread held it; only for messages.
    pub who: String,
    /// The fencing token of the grant.
    pub token: u64,
    /// When acquire returned.
    pub acquired_at: i64,
    /// When it ended for the holder: the instant at which release was *called* or the one at which the hold stopped
    /// being valid, whichever came first.
    pub ended_at: i64,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} held [{}, {}] us with token {}", self.who, self.acquired_at, self.ended_at, self.token)
    }
}

/// What was wrong with a history: two holds that cannot both have happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// The second began before the first ended.
    Overlap(Hold, Hold),
    /// The second was granted later, but its token is not larger.
    Token(Hold, Hold),
    /// The end lies before the beginning: the record itself is wrong.
    Backwards(Hold),
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Violation::Overlap(a, b) => write!(f, "two holders at once: {a}; {b}"),
            Violation::Token(a, b) => write!(f, "the token did not increase: {a}; then {b}"),
            Violation::Backwards(a) => write!(f, "ends before it begins: {a}"),
        }
    }
}

/// Checks the history of *one* lock, records in any order. The order of grants is that of `acquired_at`: for disjoint
/// holds the two are the same.
pub fn check(history: &[Hold]) -> Result<(), Violation> {
    violations(history).into_iter().next().map_or(Ok(()), Err)
}

/// Everything that [`check`] finds wrong: one violation at most for each hold, with an earlier one.
pub fn violations(history: &[Hold]) -> Vec<Violation> {
    let mut holds: Vec<&Hold> = history.iter().collect();
    holds.sort_by_key(|h| (h.acquired_at, h.ended_at));
    let (mut found, mut last, mut highest): (_, Option<&Hold>, Option<&Hold>) = (Vec::new(), None, None);
    for hold in holds {
        if hold.ended_at < hold.acquired_at {
            found.push(Violation::Backwards(hold.clone()));
            continue;
        }
        if let Some(last) = last.filter(|last| hold.acquired_at < last.ended_at) {
            found.push(Violation::Overlap(last.clone(), hold.clone()));
        } else if let Some(highest) = highest.filter(|highest| hold.token <= highest.token) {
            found.push(Violation::Token(highest.clone(), hold.clone()));
        }
        if last.is_none_or(|last| hold.ended_at > last.ended_at) {
            last = Some(hold);
        }
        if highest.is_none_or(|highest| hold.token > highest.token) {
            highest = Some(hold);
        }
    }
    found
}

/// [`check`], with a panic that says what was wrong.
#[track_caller]
pub fn assert_lawful(history: &[Hold]) {
    if let Err(violation) = check(history) {
        panic!("unlawful history of {} holds: {violation}", history.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(who: &str, token: u64, acquired_at: i64, ended_at: i64) -> Hold {
        Hold { who: who.into(), token, acquired_at, ended_at }
    }

    #[test]
    fn successive_holds_are_lawful_in_any_order_of_records() {
        let history = [hold("b", 2, 20, 30), hold("a", 1, 10, 20), hold("a", 7, 30, 30), hold("c", 9, 31, 40)];
        assert_eq!(check(&history), Ok(()));
        assert_eq!(check(&[]), Ok(()));
    }

    #[test]
    fn two_holders_at_once_are_found() {
        let (a, b) = (hold("a", 1, 10, 20), hold("b", 2, 19, 30));
        assert_eq!(check(&[a.clone(), b.clone()]), Err(Violation::Overlap(a, b)));
    }

    #[test]
    fn a_hold_inside_a_long_one_is_found_behind_another_one() {
        let (long, inner) = (hold("a", 1, 0, 100), hold("b", 2, 10, 11));
        let history = [long.clone(), inner.clone(), hold("c", 3, 120, 130)];
        assert_eq!(check(&history), Err(Violation::Overlap(long, inner)));
    }

    #[test]
    fn each_hold_that_clashes_with_an_earlier_one_counts() {
        let history = [hold("a", 1, 0, 100), hold("b", 2, 10, 20), hold("c", 3, 30, 40), hold("d", 4, 100, 110)];
        assert_eq!(violations(&history).len(), 2, "two inside of the first");
        let late = [hold("a", 9, 0, 10), hold("b", 2, 10, 20), hold("c", 3, 20, 30), hold("d", 10, 30, 40)];
        assert_eq!(violations(&late).len(), 2, "two with less than the highest token");
    }

    #[test]
    fn a_token_that_repeats_or_falls_is_found() {
        for second in [5, 4] {
            let (a, b) = (hold("a", 5, 10, 20), hold("b", second, 20, 30));
            assert_eq!(check(&[b.clone(), a.clone()]), Err(Violation::Token(a, b)));
        }
    }

    #[test]
    fn a_record_that_ends_before_it_begins_is_found() {
        let a = hold("a", 5, 10, 9);
        assert_eq!(check(std::slice::from_ref(&a)), Err(Violation::Backwards(a)));
    }

    #[test]
    #[should_panic(expected = "two holders at once: a held [10, 20] us with token 1; b held [15, 30] us with token 2")]
    fn the_assertion_names_both_holders() {
        assert_lawful(&[hold("a", 1, 10, 20), hold("b", 2, 15, 30)]);
    }
}
