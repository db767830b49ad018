//! The contenders that sleep, ordered by when each has to look again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::Looked;
use crate::error::Error;
use crate::time::Tick;

/// How many sleepers are examined to fill a chunk, at most: those that wait for a lease to end are not taken early.
const EXAMINED: usize = 2_000;

/// When a contender looks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alarm {
    /// From here on a chunk with room left takes the contender along.
    pub(super) from: Tick,
    pub(super) at: Tick,
}

impl Alarm {
    /// Neither sooner nor later.
    pub(super) fn exactly(at: Tick) -> Alarm {
        Alarm { from: at, at }
    }
}

/// Why a sleeper was woken.
pub(super) enum WakeReason {
    /// Its time has come, and that of few others: it asks by itself.
    Ask,
    /// The look did not find the object held. Many others may be woken for the same reason, so it asks when its turn comes.
    AskInTurn,
    /// The object is held, and something about that is new to the contender.
    Held { ttl: i64, holder: String, rank: u64, sent: Tick, keys_renewed: Tick },
    /// The server could not be asked, by a look that began at `sent`.
    Failed { error: Error, sent: Tick },
}

enum State {
    Asleep(Alarm),
    /// A look is on its way; `again` if its answer may be older than a message.
    Looking {
        again: bool,
    },
    Woken(Box<WakeReason>),
}

struct Sleeper<L> {
    object: Arc<L>,
    state: State,
    /// When the time to live of the queue's keys was last renewed.
    keys_renewed: Tick,
    /// It listens for a foreign holder.
    foreign: bool,
}

/// A sleeper that is being looked for.
pub(super) struct DueSleeper<L> {
    pub(super) id: u64,
    pub(super) object: Arc<L>,
    /// The look has to renew the time to live of the queue's keys.
    pub(super) keep: bool,
}

/// What is due.
pub(super) enum Work<L> {
    Nothing,
    /// So few that each asks by itself; they are to be woken.
    Few(Vec<Arc<L>>),
    /// One look for all; `late` is by how much the first of them is.
    Many {
        chunk: Vec<DueSleeper<L>>,
        late: Duration,
    },
}

/// What becomes of an answer.
pub(super) enum Answered {
    /// The sleeper sleeps on.
    Settled,
    /// It is to be woken.
    Wake,
    /// It no longer sleeps, and does not know what the look found.
    Overtaken,
}

/// See the module. `L` is the object.
pub(super) struct Sleepers<L> {
    by_id: HashMap<u64, Sleeper<L>>,
    due: BTreeSet<(Tick, u64)>,
    last_id: u64,
    /// The time of the looker's alarm. It may be earlier than the first entry.
    armed: Tick,
}

impl<L> Default for Sleepers<L> {
    fn default() -> Self {
        Sleepers { by_id: HashMap::new(), due: BTreeSet::new(), last_id: 0, armed: Tick(0) }
    }
}

impl<L> Sleepers<L> {
    pub(super) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// A contender goes to sleep. Returns its number, and whether the looker's alarm is later and the looker has to be woken.
    pub(super) fn enter(&mut self, object: Arc<L>, alarm: Alarm, keys_renewed: Tick, foreign: bool) -> (u64, bool) {
        self.last_id += 1;
        let id = self.last_id;
        self.by_id.insert(id, Sleeper { object, state: State::Asleep(alarm), keys_renewed, foreign });
        (id, self.put(id, alarm))
    }

    /// A contender ends its sleep.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(sleeper) = self.by_id.remove(&id) else { return };
        if let State::Asleep(alarm) = sleeper.state {
            self.due.remove(&(alarm.at, id));
        }
        if self.by_id.is_empty() {
            // An empty table keeps its capacity, which is large after 100,000 locks.
            self.by_id = HashMap::new();
        }
    }

    /// A message came: this one is due at `at` at the latest; true when the looker has to be woken.
    pub(super) fn hurry(&mut self, id: u64, at: Tick) -> bool {
        let Some(sleeper) = self.by_id.get_mut(&id) else { return false };
        match &mut sleeper.state {
            State::Asleep(alarm) if at < alarm.at => {
                let sooner = Alarm { from: alarm.from.min(at), at };
                self.due.remove(&(alarm.at, id));
                self.put(id, sooner)
            }
            State::Looking { again } => {
                *again = true;
                false
            }
            State::Asleep(_) | State::Woken(_) => false,
        }
    }

    /// As [`Sleepers::hurry`], for all that sleep for longer.
    pub(super) fn hurry_all(&mut self, at: Tick) -> bool {
        let late: Vec<u64> = self.due.range((at, u64::MAX)..).map(|(_, id)| *id).collect();
        late.into_iter().fold(false, |wake, id| self.hurry(id, at) | wake)
    }

    /// Whether a sleeper was woken for a reason that it has not taken yet.
    pub(super) fn is_woken(&self, id: u64) -> bool {
        self.by_id.get(&id).is_some_and(|sleeper| matches!(sleeper.state, State::Woken(_)))
    }

    /// Why a sleeper was woken, if it was.
    pub(super) fn take_reason(&mut self, id: u64) -> Option<WakeReason> {
        let sleeper = self.by_id.get_mut(&id)?;
        match std::mem::replace(&mut sleeper.state, State::Looking { again: false }) {
            State::Woken(reason) => Some(*reason),
            other => {
                sleeper.state = other;
                None
            }
        }
    }

    /// The looker goes to sleep: until when.
    pub(super) fn arm(&mut self) -> Tick {
        self.armed = self.due.first().map_or(Tick::NEVER, |(at, _)| *at);
        self.armed
    }

    /// Takes out what is due, if anything is. Fewer than `few` in a chunk, of which not more than `singles` are due, ask by
    /// themselves.
    pub(super) fn take(&mut self, now: Tick, most: usize, few: usize, singles: usize, keep_after: Duration) -> Work<L> {
        let Some((first, _)) = self.due.first().copied().filter(|(at, _)| *at <= now) else { return Work::Nothing };
        let may = |&&(at, id): &&(Tick, u64)| {
            let State::Asleep(alarm) = self.by_id[&id].state else { return false };
            at <= now || alarm.from <= now
        };
        let places: Vec<_> = self.due.iter().take(EXAMINED).filter(may).take(most).copied().collect();
        let due = places.iter().take_while(|(at, _)| *at <= now).count();
        if places.len() < few && due <= singles {
            let tell = |place: &(Tick, u64)| {
                self.due.remove(place);
                let sleeper = self.by_id.get_mut(&place.1)?;
                sleeper.state = State::Woken(Box::new(WakeReason::Ask));
                Some(sleeper.object.clone())
            };
            return Work::Few(places[..due].iter().filter_map(tell).collect());
        }
        let take = |place: &(Tick, u64)| {
            self.due.remove(place);
            let sleeper = self.by_id.get_mut(&place.1)?;
            sleeper.state = State::Looking { again: false };
            let keep = now.since(sleeper.keys_renewed) >= keep_after;
            Some(DueSleeper { id: place.1, object: sleeper.object.clone(), keep })
        };
        Work::Many { chunk: places.iter().filter_map(take).collect(), late: now.since(first) }
    }

    /// The server's answer to a look that was sent at `sent`: `alarm` says when a sleeper looks again at a lock that is held,
    /// `is_foreign` whether a head has to listen for such a holder.
    pub(super) fn answered(
        &mut self,
        due: &DueSleeper<L>,
        looked: &Looked,
        sent: Tick,
        is_foreign: impl Fn(u64, &str) -> bool,
        alarm: impl Fn(i64, u64) -> Alarm,
    ) -> Answered {
        let Some(sleeper) = self.by_id.get_mut(&due.id) else { return Answered::Overtaken };
        let State::Looking { again } = sleeper.state else { return Answered::Settled };
        if due.keep && matches!(looked, Looked::Held { .. }) {
            sleeper.keys_renewed = sent;
        }
        let next = match looked {
            _ if again => Alarm::exactly(sent),
            Looked::Held { ttl, holder, rank, .. } if is_foreign(*rank, holder) == sleeper.foreign => {
                alarm(*ttl, *rank)
            }
            Looked::Held { ttl, holder, rank, .. } => {
                let keys_renewed = sleeper.keys_renewed;
                let reason = WakeReason::Held { ttl: *ttl, holder: holder.clone(), rank: *rank, sent, keys_renewed };
                sleeper.state = State::Woken(Box::new(reason));
                return Answered::Wake;
            }
            Looked::Ask { .. } | Looked::TooLate { .. } => {
                sleeper.state = State::Woken(Box::new(WakeReason::AskInTurn));
                return Answered::Wake;
            }
        };
        self.put(due.id, next);
        Answered::Settled
    }

    /// A look brought no answer; true when that one is to be woken.
    pub(super) fn tell(&mut self, id: u64, reason: WakeReason) -> bool {
        match self.by_id.get_mut(&id) {
            Some(sleeper) if matches!(sleeper.state, State::Looking { .. }) => {
                sleeper.state = State::Woken(Box::new(reason));
                true
            }
            _ => false,
        }
    }

    /// Enters a sleeper at its time; true when the looker has to be woken.
    fn put(&mut self, id: u64, alarm: Alarm) -> bool {
        if let Some(sleeper) = self.by_id.get_mut(&id) {
            sleeper.state = State::Asleep(alarm);
            self.due.insert((alarm.at, id));
        }
        let late = alarm.at < self.armed;
        if late {
            // One call is enough.
            self.armed = alarm.at;
        }
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ServerTime;

    const MOST: usize = 3;
    const KEEP: Duration = Duration::from_nanos(1_000);

    fn sleepers(alarms: &[(u64, u64)]) -> Sleepers<usize> {
        let mut sleepers = Sleepers::default();
        for (number, (from, at)) in alarms.iter().enumerate() {
            sleepers.enter(Arc::new(number), Alarm { from: Tick(*from), at: Tick(*at) }, Tick(0), false);
        }
        sleepers
    }

    fn looked_for(sleepers: &mut Sleepers<usize>, now: u64) -> Vec<usize> {
        match sleepers.take(Tick(now), MOST, 2, 0, KEEP) {
            Work::Many { chunk, .. } => chunk.iter().map(|due| *due.object).collect(),
            Work::Nothing => vec![],
            Work::Few(_) => panic!("a look"),
        }
    }

    #[test]
    fn a_chunk_is_filled_with_what_is_due_soon() {
        let mut sleepers = sleepers(&[(90, 100), (99, 104), (107, 107), (80, 108), (95, 120)]);
        assert_eq!(looked_for(&mut sleepers, 99), [0; 0], "nobody's time has come");
        assert_eq!(looked_for(&mut sleepers, 100), [0, 1, 3], "the end of a lease is not looked for early");
        assert_eq!(looked_for(&mut sleepers, 110), [2, 4]);
        assert_eq!(sleepers.arm(), Tick::NEVER);
    }

    #[test]
    fn few_ask_by_themselves_each_at_its_time() {
        let mut sleepers = sleepers(&[(90, 100), (90, 101)]);
        let Work::Few(told) = sleepers.take(Tick(100), MOST, 3, 1, KEEP) else { panic!("few") };
        assert_eq!(told.iter().map(|lock| **lock).collect::<Vec<_>>(), [0]);
        assert!(matches!(sleepers.take_reason(1), Some(WakeReason::Ask)) && sleepers.take_reason(2).is_none());
        assert!(matches!(sleepers.take(Tick(101), MOST, 3, 0, KEEP), Work::Many { .. }), "no more singles");
    }

    #[test]
    fn all_that_sleep_for_longer_are_hurried() {
        let mut sleepers = sleepers(&[(40, 50), (900, 1_000), (1_900, 2_000)]);
        assert_eq!(sleepers.arm(), Tick(50));
        assert!(!sleepers.hurry_all(Tick(100)), "the looker comes for the first one before");
        assert_eq!(looked_for(&mut sleepers, 50), [0]);
        assert_eq!(looked_for(&mut sleepers, 100), [1, 2]);
    }

    #[test]
    fn a_message_during_a_look_has_it_looked_for_again() {
        let mut sleepers = sleepers(&[(100, 100)]);
        let Work::Many { chunk, .. } = sleepers.take(Tick(100), MOST, 0, 0, KEEP) else { panic!("a look") };
        assert!(!sleepers.hurry(1, Tick(101)));
        let held = Looked::Held { now: ServerTime(0), ttl: 5, holder: String::new(), rank: 0 };
        let answered = sleepers.answered(&chunk[0], &held, Tick(102), |_, _| false, |_, _| Alarm::exactly(Tick(900)));
        assert!(matches!(answered, Answered::Settled));
        assert_eq!(sleepers.arm(), Tick(102));
    }

    #[test]
    fn a_message_after_the_answer_finds_the_sleeper_woken() {
        let mut sleepers = sleepers(&[(100, 100)]);
        let Work::Many { chunk, .. } = sleepers.take(Tick(100), MOST, 0, 0, KEEP) else { panic!("a look") };
        let held = Looked::Held { now: ServerTime(0), ttl: 5, holder: String::new(), rank: 0 };
        assert!(!sleepers.is_woken(1));
        let answered = sleepers.answered(&chunk[0], &held, Tick(102), |_, _| true, |_, _| Alarm::exactly(Tick(900)));
        assert!(matches!(answered, Answered::Wake), "it has to listen from now on");
        sleepers.hurry(1, Tick(103));
        assert!(sleepers.is_woken(1), "the message comes after the reason");
        assert!(matches!(sleepers.take_reason(1), Some(WakeReason::Held { .. })) && !sleepers.is_woken(1));
    }

    #[test]
    fn a_look_that_did_not_keep_the_keys_does_not_count_as_one() {
        let looked = |now| {
            let mut sleepers = sleepers(&[(now, now)]);
            let Work::Many { chunk, .. } = sleepers.take(Tick(now), MOST, 0, 0, KEEP) else { panic!("a look") };
            let held = Looked::Held { now: ServerTime(0), ttl: 5, holder: String::new(), rank: 0 };
            sleepers.answered(&chunk[0], &held, Tick(now), |_, _| true, |_, _| Alarm::exactly(Tick(now + 500)));
            let Some(WakeReason::Held { keys_renewed, .. }) = sleepers.take_reason(1) else { panic!("it was woken") };
            keys_renewed
        };
        assert_eq!([100, 1_100].map(looked), [Tick(0), Tick(1_100)]);
    }

    #[test]
    fn an_answer_that_comes_after_its_sleeper_left_is_overtaken() {
        let mut sleepers = sleepers(&[(100, 100)]);
        let Work::Many { chunk, .. } = sleepers.take(Tick(100), MOST, 0, 0, KEEP) else { panic!("a look") };
        sleepers.remove(1);
        let free = Looked::Ask { now: ServerTime(0) };
        let answered = sleepers.answered(&chunk[0], &free, Tick(102), |_, _| false, |_, _| Alarm::exactly(Tick(900)));
        assert!(matches!(answered, Answered::Overtaken));
        assert_eq!((sleepers.len(), sleepers.arm()), (0, Tick::NEVER));
    }

    #[test]
    fn the_keys_of_the_queue_are_kept_now_and_then() {
        let mut sleepers = sleepers(&[(100, 100)]);
        let mut keeps = |now| {
            let Work::Many { chunk, .. } = sleepers.take(Tick(now), MOST, 0, 0, KEEP) else { panic!("a look") };
            let held = Looked::Held { now: ServerTime(0), ttl: 5, holder: String::new(), rank: 0 };
            let next = Alarm::exactly(Tick(now + 500));
            sleepers.answered(&chunk[0], &held, Tick(now), |_, _| false, |_, _| next);
            chunk[0].keep
        };
        assert_eq!([100, 600, 1_100, 1_600, 2_100].map(&mut keeps), [false, false, true, false, true]);
    }
}
