//! Whether what the workers report is lawful, while it is reported: holds of a lock disjoint, tokens increasing, no more permits
//! of a semaphore held than there are, no writer beside anybody, no hold lost and no release refused for nothing. Keeps a few
//! seconds of history, whatever the length of the run. What a fault excuses is said in `removal`.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
};

use super::{
    contended::Contended,
    permits::Shared,
    removal::{Removal, Tokens},
};

/// How long a report may take to get here: longer than a worker is ever stopped. Holds are judged when they are older.
const SETTLED_AFTER: i64 = 15_000_000;
/// How long a removal is remembered: longer than any hold that it may excuse has yet to be judged.
const REMEMBERED: i64 = 90_000_000;

/// Counted permits have no holds on a server by which it could make good what a removal did to their number: until the next calm,
/// when the soak sets it, nothing that was acquired counts.
const UNTIL_THE_CALM: i64 = 60_000_000;

/// One worker process's one waiter.
pub type Who = (u64, u32);

/// A hold, as its holder saw it. Times are of the monotonic clock in us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// Who held it.
    pub who: Who,
    /// Its fencing token; 0 for permits.
    pub token: u64,
    /// How many permits, or as how many a side of a read-write lock counts; 0 for a lock.
    pub permits: u32,
    /// Its owner field on the server.
    pub owner: String,
    /// When its grant, or its last renewal before it was reported, was asked for.
    pub sent: i64,
    /// When acquire returned.
    pub acquired_at: i64,
    /// A moment before release was called, or when it stopped being valid, whichever came first.
    pub ended_at: i64,
    /// How long its holder believes in it after that: the lease less the margin.
    pub validity: i64,
}

impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Hold { who: (process, waiter), token, permits, owner, acquired_at, ended_at, .. } = self;
        write!(f, "process {process} waiter {waiter} held [{acquired_at}, {ended_at}] with ")?;
        match permits {
            0 => write!(f, "token {token}, owner {owner}"),
            permits if *token == 0 => write!(f, "{permits} permits, owner {owner}"),
            permits => write!(f, "{permits} permits, token {token}, owner {owner}"),
        }
    }
}

/// One lock's holds.
#[derive(Debug, Default)]
struct Line {
    /// Ended, and not judged yet.
    ended: Vec<Hold>,
    /// Of those judged: the one that ended last, and the one with the largest token.
    furthest: Option<Hold>,
    highest: Option<Hold>,
}

/// All of it.
#[derive(Debug, Default)]
pub struct History {
    lines: HashMap<String, Line>,
    shared: HashMap<String, Shared>,
    /// The names of counting semaphores.
    counted: Vec<String>,
    open: HashMap<Who, (String, Hold)>,
    removals: VecDeque<Removal>,
    /// Found so far, in words; the caller takes them out.
    pub violations: Vec<String>,
    /// How many holds there were.
    pub holds: u64,
    /// How many of them were judged.
    pub judged: u64,
    /// How many of these a fault had to excuse.
    pub excused: u64,
}

impl History {
    /// Of processes that contend for these.
    pub fn of(contended: &[Contended]) -> History {
        let shared = contended.iter().filter_map(|what| Some((what.name.clone(), Shared::new(what.shared()?))));
        let counted = contended.iter().filter(|what| what.counted().is_some()).map(|what| what.name.clone());
        History { shared: shared.collect(), counted: counted.collect(), ..History::default() }
    }

    /// A hold began. It ends with [`ended`](Self::ended) or with its process.
    pub fn began(&mut self, name: &str, hold: Hold) {
        self.holds += 1;
        if let Some((_, open)) = self.open.insert(hold.who, (name.to_owned(), hold)) {
            self.violations.push(format!("the record is wrong: {open} never ended"));
        }
    }

    /// It ended at `at`.
    pub fn ended(&mut self, who: Who, at: i64) {
        let Some((name, mut hold)) = self.open.remove(&who) else {
            return self.violations.push(format!("the record is wrong: {who:?} held nothing"));
        };
        hold.ended_at = at.max(hold.acquired_at);
        match self.shared.get_mut(&name) {
            Some(shared) => shared.ended.push(hold),
            None => self.lines.entry(name).or_default().ended.push(hold),
        }
    }

    /// A process was killed at `at`, and with it what it held.
    pub fn died(&mut self, process: u64, at: i64) {
        let gone: Vec<Who> = self.open.keys().copied().filter(|who| who.0 == process).collect();
        for who in gone {
            // valid no longer than it was known to be when it began
            let ended = self.open.get(&who).map_or(at, |(_, hold)| at.min(hold.sent + hold.validity));
            self.ended(who, ended);
        }
    }

    /// What `who` holds, if it does.
    pub fn open(&self, who: Who) -> Option<&(String, Hold)> {
        self.open.get(&who)
    }

    /// Keys went away.
    pub fn removed(&mut self, removal: Removal) {
        while self.removals.front().is_some_and(|old| old.to < removal.from - REMEMBERED) {
            self.removals.pop_front();
        }
        for name in self.counted.iter().filter(|name| removal.concerns(name)) {
            let to = removal.to + UNTIL_THE_CALM;
            self.removals.push_back(Removal { name: Some(name.clone()), to, ..removal });
        }
        self.removals.push_back(removal);
    }

    /// The server's clock shows again what it showed at `shows`: what was lost after that is forgotten.
    pub fn clock_went_back(&mut self, shows: i64) {
        for removal in self.removals.iter_mut().filter(|r| r.tokens == Tokens::Lost && r.to > shows) {
            removal.tokens = Tokens::Forgotten;
        }
    }

    /// All counted permits are there, whatever a removal did.
    pub fn counted_anew(&mut self, now: i64) {
        let Self { counted, removals, .. } = self;
        let is_counted = |removal: &&mut Removal| removal.name.as_ref().is_some_and(|name| counted.contains(name));
        removals.iter_mut().filter(is_counted).for_each(|removal| removal.to = removal.to.min(now));
    }

    /// Whether the key of `name` was taken away between two instants.
    pub fn was_removed(&self, name: &str, from: i64, to: i64) -> bool {
        self.removals.iter().any(|r| r.concerns(name) && r.from <= to && r.to >= from)
    }

    /// Judges every hold that began so long ago that nothing before it can still be reported. `now` in the future judges all.
    pub fn settle(&mut self, now: i64) {
        let until = self.open.values().map(|(_, hold)| hold.acquired_at).fold(now - SETTLED_AFTER, i64::min);
        let mut verdicts = Vec::new();
        for (name, line) in &mut self.lines {
            for hold in begun_before(until, &mut line.ended) {
                verdicts.push(line.judge(name, &hold, &self.removals));
                line.take(hold);
            }
        }
        for (name, shared) in &mut self.shared {
            for hold in begun_before(until, &mut shared.ended) {
                verdicts.push(shared.judge(name, hold, &self.removals));
            }
        }
        self.judged += verdicts.len() as u64;
        for (violation, excused) in verdicts {
            self.violations.extend(violation);
            self.excused += u64::from(excused);
        }
    }
}

/// Takes out those that began before an instant, in the order in which they began.
fn begun_before(until: i64, ended: &mut Vec<Hold>) -> Vec<Hold> {
    ended.sort_by_key(|hold| hold.acquired_at);
    let settled = ended.partition_point(|hold| hold.acquired_at < until);
    ended.drain(..settled).collect()
}

impl Line {
    /// What is wrong with a hold after those before it, and whether something was excused.
    fn judge(&mut self, name: &str, hold: &Hold, removals: &VecDeque<Removal>) -> (Option<String>, bool) {
        let mut excused = false;
        // The last to end and the one with the largest token may be the same, and it may overlap either.
        for before in [self.furthest.clone(), self.highest.clone()].into_iter().flatten() {
            let forgot = || removals.iter().any(|r| r.forgot(name, &before, hold));
            if hold.token == before.token && hold.owner != before.owner && !forgot() {
                return (Some(format!("{name}: one token twice: {before}; {hold}")), false);
            }
            let overlap = hold.acquired_at < before.ended_at;
            if (overlap || hold.token <= before.token) && let_in(name, &before, hold, removals) {
                excused = true;
            } else if overlap {
                return (Some(format!("{name}: two holders at once: {before}; {hold}")), false);
            } else if hold.token <= before.token {
                if !forgot() {
                    return (Some(format!("{name}: the token did not increase: {before}; then {hold}")), false);
                }
                // They grow from here on anew.
                self.highest = None;
                return (None, true);
            }
        }
        (None, excused)
    }

    fn take(&mut self, hold: Hold) {
        if self.highest.as_ref().is_none_or(|highest| hold.token > highest.token) {
            self.highest = Some(hold.clone());
        }
        if self.furthest.as_ref().is_none_or(|furthest| hold.ended_at > furthest.ended_at) {
            self.furthest = Some(hold);
        }
    }
}

/// Whether a removal let the later of the two in while the earlier still believed. The token tells which one is which, because
/// a reply may have been slow; unless the removal made the server forget the token while its clock was behind: then it
/// may be either.
fn let_in(name: &str, one: &Hold, other: &Hold, removals: &VecDeque<Removal>) -> bool {
    let (first, second) = if one.token < other.token { (one, other) } else { (other, one) };
    let excuses =
        |r: &Removal| r.excuses(name, first, second) || r.tokens == Tokens::Forgotten && r.excuses(name, second, first);
    removals.iter().any(excuses)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALIDITY: i64 = 1_790_000;

    fn hold(process: u64, token: u64, acquired_at: i64, ended_at: i64) -> Hold {
        let owner = format!("{process}:{token}");
        let (who, sent) = ((process, 0), acquired_at - 10);
        Hold { who, token, permits: 0, owner, sent, acquired_at, ended_at, validity: VALIDITY }
    }

    fn removal(at: i64, forgot: bool) -> Removal {
        Removal { name: None, from: at, to: at + 5, tokens: Tokens::lost(forgot) }
    }

    /// What is found when these holds are reported, with these removals.
    fn found(holds: &[Hold], removals: &[Removal]) -> (Vec<String>, u64) {
        let mut history = History::default();
        removals.iter().for_each(|r| history.removed(r.clone()));
        for hold in holds {
            history.began("job", hold.clone());
            history.ended(hold.who, hold.ended_at);
        }
        history.settle(i64::MAX);
        (history.violations, history.excused)
    }

    #[track_caller]
    fn finds(what: &str, holds: &[Hold], removals: &[Removal]) {
        let (violations, _) = found(holds, removals);
        assert!(violations.len() == 1 && violations[0].contains(what), "{violations:?}");
    }

    #[test]
    fn successive_holds_are_lawful_in_any_order_of_reports() {
        let holds = [hold(2, 2, 200, 300), hold(1, 1, 100, 200), hold(1, 3, 300, 300)];
        assert_eq!(found(&holds, &[]), (vec![], 0));
    }

    #[test]
    fn two_holders_at_once_are_found_also_behind_a_third() {
        finds("two holders", &[hold(1, 1, 100, 900), hold(2, 2, 300, 400)], &[]);
        let (violations, _) = found(&[hold(1, 1, 100, 900), hold(2, 2, 300, 400), hold(3, 3, 500, 600)], &[]);
        assert_eq!(violations.len(), 2, "the long one overlaps both: {violations:?}");
    }

    #[test]
    fn a_key_taken_away_excuses_them_only_in_between() {
        let both = [hold(1, 1, 100, 900), hold(2, 2, 300, 400)];
        assert_eq!(found(&both, &[removal(200, false)]), (vec![], 1));
        finds("two holders", &both, &[removal(50, false)]);
        finds("two holders", &both, &[removal(301, false)]);
        let elsewhere = Removal { name: Some("other".into()), ..removal(200, false) };
        finds("two holders", &both, &[elsewhere]);
    }

    #[test]
    fn a_late_answer_to_a_grant_is_excused_by_the_same_rule() {
        let slow = Hold { sent: 100, ..hold(1, 1, 600, 700) };
        let holds = [slow, hold(2, 2, 300, 400)];
        assert_eq!(found(&holds, &[removal(200, false)]), (vec![], 1));
        finds("did not increase", &holds, &[removal(50, false)]);
    }

    /// As it was recorded, but for the ends of the restarts, which were not: the clock went back, the server was restarted from
    /// a snapshot that had the lock, and a second later empty. The next grant has a smaller token; the first holder was told
    /// 155 ms after that restart began.
    #[test]
    fn a_smaller_token_is_excused_if_forgotten_with_a_clock_behind() {
        let first = Hold {
            who: (11, 1),
            token: 1_795_267_513_757_046,
            permits: 0,
            owner: "60706bb9-dc76-81d3-9a6b-1b2bc75241c9:344".into(),
            sent: 32_442_146_916,
            acquired_at: 32_442_147_728,
            ended_at: 32_444_152_618,
            validity: VALIDITY,
        };
        let second = Hold {
            who: (10, 1),
            token: 1_795_267_510_067_223,
            permits: 0,
            owner: "b71211f8-94c3-81aa-953f-c82731c62acf:1269".into(),
            sent: 32_444_028_447,
            acquired_at: 32_444_030_791,
            ended_at: 32_444_035_088,
            validity: 757_000,
        };
        let restart = |from, to, forgot| Removal { name: None, from, to, tokens: Tokens::lost(forgot) };
        let restarts =
            |forgot| [restart(32_442_966_348, 32_442_990_000, forgot), restart(32_443_997_278, 32_444_025_000, forgot)];
        let both = [first.clone(), second.clone()];
        assert_eq!(found(&both, &restarts(true)), (vec![], 1));
        // With a clock that was right the token would have grown.
        finds("two holders", &both, &restarts(false));
        // Nor does it excuse a holder that believes for longer than a lease after it,
        let stubborn = Hold { ended_at: 32_444_025_001 + first.validity, ..first };
        finds("two holders", &[stubborn, second], &restarts(true));
        // or a second one that came before it.
        finds("two holders", &both, &[restart(32_444_030_792, 32_444_050_000, true)]);
    }

    #[test]
    fn a_first_holder_that_believes_too_long_is_not_excused() {
        let late = [hold(1, 1, 100, 300 + VALIDITY), hold(2, 2, 300, 400)];
        finds("two holders", &late, &[removal(200, false)]);
    }

    #[test]
    fn a_token_that_falls_or_repeats_is_excused_only_when_forgotten() {
        let falls = [hold(1, 5, 100, 200), hold(2, 4, 300, 400)];
        finds("did not increase", &falls, &[]);
        finds("did not increase", &falls, &[removal(250, false)]);
        assert_eq!(found(&falls, &[removal(250, true)]), (vec![], 1));
        let twice = [hold(1, 5, 100, 200), hold(2, 5, 300, 400)];
        finds("one token twice", &twice, &[]);
        finds("one token twice", &twice, &[removal(250, false)]);
        // The next of those that it counted to before.
        assert_eq!(found(&twice, &[removal(250, true)]), (vec![], 1));
        let again = [hold(1, 5, 100, 200), hold(2, 4, 300, 400), hold(3, 3, 500, 600)];
        finds("did not increase", &again, &[removal(250, true)]);
    }

    #[test]
    fn a_clock_that_goes_back_after_a_loss_excuses_a_smaller_token() {
        for (shows, violations) in [(205, 1), (204, 0)] {
            let mut history = History::default();
            history.removed(removal(200, false));
            history.clock_went_back(shows);
            for hold in [hold(1, 5, 100, 150), hold(2, 4, 300, 400)] {
                let (who, ended_at) = (hold.who, hold.ended_at);
                history.began("job", hold);
                history.ended(who, ended_at);
            }
            history.settle(i64::MAX);
            assert_eq!(history.violations.len(), violations, "the clock shows {shows} again: {:?}", history.violations);
        }
    }

    #[test]
    fn a_killed_process_holds_until_its_death_or_validity_ends() {
        for (died, ended) in [(500, 500), (90 + VALIDITY * 2, 90 + VALIDITY)] {
            let mut history = History::default();
            history.began("job", hold(1, 1, 100, 0));
            history.died(1, died);
            assert_eq!(history.lines["job"].ended[0].ended_at, ended);
        }
    }

    #[test]
    fn what_may_be_preceded_waits_and_what_was_judged_is_forgotten() {
        let mut history = History::default();
        history.began("job", hold(1, 1, 100, 0));
        for n in 0..1_000 {
            history.began("job", hold(2, n + 2, 1_000 + n as i64, 0));
            history.ended((2, 0), 1_000 + n as i64);
        }
        history.settle(SETTLED_AFTER * 2);
        assert_eq!(history.lines["job"].ended.len(), 1_000, "process 1 may have ended before them");
        history.ended((1, 0), 200);
        history.settle(SETTLED_AFTER * 2);
        assert!(history.lines["job"].ended.is_empty() && history.violations.is_empty());
    }
}
