//! Whether no more permits were held than there are, of a semaphore or, by the numbers that stand for readers and writers, of a
//! read-write lock; and whether the tokens of the latter increase. See [`history`](super::history) for what excuses something
//! else.

use std::collections::VecDeque;

use super::{history::Hold, removal::Removal};

/// The holds of one semaphore or read-write lock.
#[derive(Debug)]
pub(super) struct Shared {
    total: u32,
    /// Ended, and not judged yet.
    pub(super) ended: Vec<Hold>,
    /// Of those judged: all that had not ended when the last one began.
    going_on: Vec<Hold>,
    /// Of those that had ended by then: the one with the largest token, of all and of those that were alone. Permits have none.
    highest: Option<Hold>,
    highest_alone: Option<Hold>,
}

impl Shared {
    pub(super) fn new(total: u32) -> Shared {
        Shared { total, ended: Vec::new(), going_on: Vec::new(), highest: None, highest_alone: None }
    }

    /// What is wrong with a hold among those that began before it and go on, and whether something had to be excused. The most
    /// are held at an instant at which one begins, so that nothing else needs to be looked at.
    pub(super) fn judge(&mut self, name: &str, hold: Hold, removals: &VecDeque<Removal>) -> (Option<String>, bool) {
        self.forget(hold.acquired_at);
        // A reply may have been slow: either of two may have been granted first.
        let let_in =
            |before: &&Hold| removals.iter().any(|r| r.excuses(name, before, &hold) || r.excuses(name, &hold, before));
        let (excused, counted): (Vec<&Hold>, Vec<&Hold>) = self.going_on.iter().partition(let_in);
        let sum = |holds: &[&Hold]| holds.iter().map(|before| before.permits).sum::<u32>();
        let held = hold.permits + sum(&counted);
        let found = if held > self.total {
            let others: Vec<String> = counted.iter().map(|before| before.to_string()).collect();
            let total = self.total;
            (Some(format!("{name}: {held} permits of {total} at once: {}; {hold}", others.join("; "))), false)
        } else {
            let was_let_in = held + sum(&excused) > self.total;
            let (violation, was_forgotten) = self.judge_token(name, &hold, removals);
            (violation, was_let_in || was_forgotten)
        };
        self.going_on.push(hold);
        found
    }

    /// What has ended before that instant counts no more, but for its token.
    fn forget(&mut self, until: i64) {
        let (ended, going_on) = std::mem::take(&mut self.going_on).into_iter().partition(|hold| hold.ended_at <= until);
        self.going_on = going_on;
        let ended: Vec<Hold> = ended;
        for hold in ended.into_iter().filter(|hold| hold.token > 0) {
            let is_higher = |than: &Option<Hold>| than.as_ref().is_none_or(|than| hold.token > than.token);
            if hold.permits == self.total && is_higher(&self.highest_alone) {
                self.highest_alone = Some(hold.clone());
            }
            if is_higher(&self.highest) {
                self.highest = Some(hold);
            }
        }
    }

    /// A token is larger than those of all that ended before, if one of the two was alone: readers share a hold.
    fn judge_token(&mut self, name: &str, hold: &Hold, removals: &VecDeque<Removal>) -> (Option<String>, bool) {
        let before = if hold.permits == self.total { &self.highest } else { &self.highest_alone };
        let Some(before) = before.as_ref().filter(|before| hold.token <= before.token) else { return (None, false) };
        if !removals.iter().any(|r| r.forgot(name, before, hold) || r.excuses(name, hold, before)) {
            return (Some(format!("{name}: the token did not increase: {before}; then {hold}")), false);
        }
        // They grow from here on anew.
        (self.highest, self.highest_alone) = (None, None);
        (None, true)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        contended::{Contended, WRITER},
        history::History,
        removal::Tokens,
    };
    use super::*;

    const VALIDITY: i64 = 1_790_000;

    fn hold(process: u64, permits: u32, acquired_at: i64, ended_at: i64) -> Hold {
        let owner = format!("{process}:1/{permits}");
        let (who, sent) = ((process, 0), acquired_at - 10);
        Hold { who, token: 0, permits, owner, sent, acquired_at, ended_at, validity: VALIDITY }
    }

    fn removal(at: i64) -> Removal {
        Removal { name: None, from: at, to: at + 5, tokens: Tokens::Kept }
    }

    /// What is found when these holds of three permits are reported, with these removals.
    fn found(holds: &[Hold], removals: &[Removal]) -> (Vec<String>, u64) {
        let mut history = History::of(&[Contended::semaphore("pool", 3)]);
        removals.iter().for_each(|r| history.removed(r.clone()));
        for hold in holds {
            history.began("pool", hold.clone());
            history.ended(hold.who, hold.ended_at);
        }
        history.settle(i64::MAX);
        assert_eq!((history.holds, history.judged), (holds.len() as u64, holds.len() as u64));
        (history.violations, history.excused)
    }

    #[track_caller]
    fn finds(what: &str, holds: &[Hold], removals: &[Removal]) {
        let (violations, _) = found(holds, removals);
        assert!(violations.len() == 1 && violations[0].contains(what), "{violations:?}");
    }

    #[test]
    fn as_many_as_there_are_is_lawful_in_any_order() {
        let holds = [hold(3, 3, 300, 400), hold(1, 1, 100, 300), hold(2, 2, 200, 250), hold(4, 2, 250, 300)];
        assert_eq!(found(&holds, &[]), (vec![], 0));
    }

    #[test]
    fn one_too_many_is_found_behind_others_that_ended() {
        let long = hold(1, 1, 100, 900);
        let holds = [long, hold(2, 2, 200, 300), hold(3, 1, 350, 400), hold(4, 2, 399, 500)];
        finds("4 permits of 3 at once: process 1 waiter 0 held [100, 900]", &holds, &[]);
        assert_eq!(found(&[hold(1, 3, 100, 200), hold(2, 3, 200, 300)], &[]), (vec![], 0));
    }

    #[test]
    fn permits_taken_away_excuse_only_those_of_before() {
        let holds = [hold(1, 3, 100, 900), hold(2, 3, 300, 400)];
        assert_eq!(found(&holds, &[removal(200)]), (vec![], 1));
        finds("6 permits of 3", &holds, &[removal(50)]);
        finds("6 permits of 3", &holds, &[removal(301)]);
        // Behind it they count again.
        finds("4 permits of 3", &[hold(1, 3, 100, 900), hold(2, 3, 300, 500), hold(3, 1, 400, 500)], &[removal(200)]);
        let elsewhere = Removal { name: Some("other".into()), ..removal(200) };
        finds("6 permits of 3", &holds, &[elsewhere]);
    }

    #[test]
    fn a_holder_that_believes_too_long_is_not_excused() {
        finds("6 permits of 3", &[hold(1, 3, 100, 300 + VALIDITY), hold(2, 3, 300, 400)], &[removal(200)]);
    }

    #[test]
    fn a_slow_answer_does_not_tell_who_was_first() {
        let slow = Hold { sent: 100, ..hold(1, 3, 350, 700) };
        assert_eq!(found(&[hold(2, 3, 300, 400), slow.clone()], &[removal(200)]), (vec![], 1));
        finds("6 permits of 3", &[hold(2, 3, 300, 400), slow], &[removal(50)]);
    }

    /// What is found when these holds of a read-write lock are reported, with these removals.
    fn found_of_sides(holds: &[Hold], removals: &[Removal]) -> (Vec<String>, u64) {
        let mut history = History::of(&[Contended::rw_lock("sides")]);
        removals.iter().for_each(|r| history.removed(r.clone()));
        for hold in holds {
            history.began("sides", hold.clone());
            history.ended(hold.who, hold.ended_at);
        }
        history.settle(i64::MAX);
        (history.violations, history.excused)
    }

    #[test]
    fn readers_may_share_a_token_and_a_writer_is_alone() {
        let side = |process, token, permits, from, to| Hold { token, ..hold(process, permits, from, to) };
        let readers = [side(1, 5, 1, 100, 300), side(2, 5, 1, 150, 200), side(3, 4, 1, 310, 320)];
        assert_eq!(found_of_sides(&readers, &[]), (vec![], 0));
        let writer = |token, from, to| side(9, token, WRITER, from, to);
        let lawful = [side(1, 5, 1, 100, 300), writer(6, 300, 400), side(2, 7, 1, 400, 500), writer(8, 500, 600)];
        assert_eq!(found_of_sides(&lawful, &[]), (vec![], 0));
        for (holds, what) in [
            ([side(1, 5, 1, 100, 300), writer(6, 299, 400)], "1001 permits of 1000 at once"),
            ([side(1, 5, 1, 100, 300), writer(5, 300, 400)], "the token did not increase"),
            ([writer(6, 100, 200), side(1, 6, 1, 200, 300)], "the token did not increase"),
        ] {
            let (violations, _) = found_of_sides(&holds, &[]);
            assert!(violations.len() == 1 && violations[0].contains(what), "{violations:?}");
        }
        let forgotten = Removal { tokens: Tokens::Forgotten, ..removal(250) };
        assert_eq!(found_of_sides(&[writer(6, 100, 200), side(1, 3, 1, 300, 400)], &[forgotten]), (vec![], 1));
    }

    #[test]
    fn an_excuse_that_was_not_needed_is_not_counted() {
        assert_eq!(found(&[hold(1, 1, 100, 900), hold(2, 2, 300, 400)], &[removal(200)]), (vec![], 0));
    }
}
