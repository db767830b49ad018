//! The keys of a delayed queue, and what its steps share; `jobs.lua` does the same next to the data.

use std::collections::{BTreeMap, BTreeSet};

use super::QUEUE;
use super::nack::Seen;
use crate::contended::{DUE, Queue, QueueAt};
use crate::name::ObjectName;
use crate::step::keys::expire_text;
use crate::step::{Expires, Malformed, Outbox, Remembered, SharedKeys, State, Text, WrongType};
use crate::text::contains;
use crate::time::ServerTime;

/// How long the last number outlives its last use.
const IDLE_MS: u64 = 86_400_000;

/// How many deliveries that are over one script takes back.
const RECLAIMED: usize = 50;

/// How many jobs one script removes or moves.
pub(super) const REMOVED: usize = 200;

/// How long a rank is.
pub(super) const RANK: usize = 20;

/// Why a delivery is over that nobody has ended.
pub(crate) const LOST: &str = "its lease ran out";

/// A new head looks by itself within so much.
const SOON_MS: u64 = 2_100;

/// All waiters want one job, of any number.
pub(super) const ANY: i64 = i64::MAX;

/// A sorted set, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ranked<S = u64> {
    scores: BTreeMap<String, S>,
    order: BTreeSet<(S, String)>,
}

impl<S> Default for Ranked<S> {
    fn default() -> Ranked<S> {
        Ranked { scores: BTreeMap::new(), order: BTreeSet::new() }
    }
}

impl<S: Copy + Ord> Ranked<S> {
    pub(crate) fn set(&mut self, member: &str, score: S) {
        self.remove(member);
        self.scores.insert(member.to_owned(), score);
        self.order.insert((score, member.to_owned()));
    }

    pub(crate) fn remove(&mut self, member: &str) -> bool {
        let score = self.scores.remove(member);
        score.is_some_and(|score| self.order.remove(&(score, member.to_owned())))
    }

    pub(crate) fn score(&self, member: &str) -> Option<S> {
        self.scores.get(member).copied()
    }

    pub(crate) fn len(&self) -> u64 {
        self.scores.len() as u64
    }

    /// In their order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(S, String)> {
        self.order.iter()
    }

    pub(crate) fn first(&self) -> Option<&(S, String)> {
        self.order.first()
    }

    /// Those with a score of at most `most`.
    pub(crate) fn up_to(&self, most: S) -> impl Iterator<Item = &(S, String)> {
        self.order.iter().take_while(move |(score, _)| *score <= most)
    }
}

impl Ranked<i64> {
    /// As `promote` in `jobs.lua`: gives its precedence to each job that has become due.
    pub(super) fn promote(&mut self, now: ServerTime) {
        let not_found = self.order.range((0, String::new())..);
        let due = not_found.take_while(|(due, _)| *due <= now.millis() as i64).take(REMOVED);
        for (due, member) in due.cloned().collect::<Vec<_>>() {
            self.set(&member, precedence(&member, due as u64));
        }
    }
}

/// Whether a job is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It waits, or a delivery has it.
    Alive,
    Dead {
        reason: String,
    },
}

/// What the key of the jobs has of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    pub(crate) place: Place,
    /// Server ms.
    pub(crate) due: u64,
    pub(crate) rank: String,
    /// Those that have ended, and count.
    pub(crate) deliveries: u64,
    /// How often it is delivered at most.
    pub(crate) most: u64,
    pub(crate) payload: Vec<u8>,
}

impl Job {
    /// Reads what the key has: see `jobs.lua`.
    pub(crate) fn parse(text: &[u8]) -> Result<Job, Malformed> {
        let mut words = text.get(1..).ok_or(Malformed)?.splitn(6, |byte| *byte == b' ');
        let mut word = || words.next().ok_or(Malformed);
        let text_of = |word: &[u8]| std::str::from_utf8(word).map(str::to_owned).map_err(|_| Malformed);
        let number = |word: &[u8]| text_of(word)?.parse::<u64>().map_err(|_| Malformed);
        let (due, rank) = (number(word()?)?, text_of(word()?)?);
        let (deliveries, most, bytes) = (number(word()?)?, number(word()?)?, number(word()?)?);
        let (reason, payload) = word()?.split_at_checked(bytes as usize).ok_or(Malformed)?;
        let place = match text[0] {
            b'w' => Place::Alive,
            b'd' => Place::Dead { reason: text_of(reason)? },
            _ => return Err(Malformed),
        };
        Ok(Job { place, due, rank, deliveries, most, payload: payload.to_vec() })
    }
}

/// The keys of a queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueueState {
    pub(crate) jobs: BTreeMap<String, Job>,
    pub(crate) done: Remembered,
    /// Rank and id of those that wait, and when they are due; once that is past, their precedence, below zero.
    pub(crate) due: Ranked<i64>,
    /// Owners of deliveries, and when their leases end, at that ms already.
    pub(crate) leases: Ranked,
    /// Owners of deliveries, their tokens and jobs.
    pub(crate) held: BTreeMap<String, (u64, String)>,
    /// Dead jobs, and since when.
    pub(crate) dead: Ranked,
    /// The last number that was given out.
    pub(crate) last: Option<Text>,
    pub(crate) queue: Queue,
}

impl Expires for QueueState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.done.expire(now) & expire_text(&mut self.last, now) & self.queue.expire(now) && self.jobs.is_empty()
    }
}

impl State for QueueState {
    const ACCESS: &'static str = "~dlock_queue_all:* ~dlock_queue_done:* ~dlock_queue_due:* \
        ~dlock_queue_leases:* ~dlock_queue_held:* ~dlock_queue_dead:* ~dlock_queue_last:* \
        ~dlock_queue_queue:* ~dlock_queue_seen:* &dlock_inbox:* \
        +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish +get +set +del +exists +pexpire +pttl \
        +hget +hmget +hset +hdel +hexists +hincrby +hlen +zadd +zcard +zcount +zrange +zrangebyscore +zrank +zrem +zscore";

    fn main_key(name: &ObjectName) -> String {
        name.companion(super::JOBS)
    }

    fn exchange(&mut self, _keys: &mut SharedKeys) {}
}

impl QueueState {
    /// A number above all before it.
    pub(super) fn next_number(&mut self, now: ServerTime) -> Result<u64, WrongType> {
        let last = self.last.as_ref().map_or(Ok(0), |last| last.value.parse::<u64>().map_err(|_| WrongType))?;
        let number = now.0.max(last + 1);
        self.last = Some(Text { value: number.to_string(), deadline: Some(now.millis() + IDLE_MS) });
        Ok(number)
    }

    /// When the first of the jobs that wait is due; 0 when it was found to be.
    pub(super) fn first_due(&self) -> Option<u64> {
        self.due.first().map(|(due, _)| u64::try_from(*due).unwrap_or(0))
    }

    /// Puts a job among those that wait.
    pub(super) fn enter(&mut self, id: &str, now: ServerTime) {
        let Some(job) = self.jobs.get(id) else { return };
        let score = if job.due <= now.millis() { precedence(&job.rank, job.due) } else { job.due as i64 };
        self.due.set(&format!("{}{id}", job.rank), score);
    }

    /// How many jobs are due.
    pub(super) fn ready(&self, now: ServerTime) -> i64 {
        self.due.up_to(now.millis() as i64).count() as i64
    }

    /// In how many ms the head should ask: when a job is due or a lease over; -1: nothing is.
    pub(super) fn next_event(&self, now: ServerTime) -> i64 {
        let over = self.leases.first().map(|(ends, _)| *ends);
        let first = self.first_due().into_iter().chain(over).min();
        first.map_or(-1, |first| first.saturating_sub(now.millis()) as i64)
    }

    /// As `put_back` in `jobs.lua`; true when the job is dead.
    pub(super) fn put_back(&mut self, owner: &str, now: ServerTime, due: Option<u64>, seen: Seen, why: &str) -> bool {
        self.leases.remove(owner);
        let Some((token, id)) = self.held.remove(owner) else { return false };
        let Some(job) = self.jobs.get_mut(&id) else { return false };
        let counts = seen.counts(token);
        job.deliveries += u64::from(counts);
        if counts && job.deliveries >= job.most {
            job.place = Place::Dead { reason: why.to_owned() };
            self.dead.set(&id, now.millis());
            return true;
        }
        if let Some(due) = due {
            (job.due, job.rank) = (due, rank_at(&job.rank, due));
        }
        self.enter(&id, now);
        false
    }

    /// Takes back the deliveries whose lease is over, at most `RECLAIMED`.
    pub(super) fn reclaim(&mut self, now: ServerTime) {
        let over: Vec<String> =
            self.leases.up_to(now.millis()).take(RECLAIMED).map(|(_, owner)| owner.clone()).collect();
        for owner in over {
            self.put_back(&owner, now, None, Seen::Yes, LOST);
        }
    }

    /// As `announce` in `jobs.lua`: jobs have come, of which the first was due at `before`.
    pub(super) fn announce(
        &mut self,
        name: &ObjectName,
        now: ServerTime,
        before: Option<u64>,
        outbox: &mut Outbox<'_>,
    ) {
        let (first, ready) = (self.first_due(), self.ready(now));
        let mut queue = self.queue_at(name, now, outbox);
        match (first, before) {
            (Some(first), _) if first <= now.millis() => queue.wake(ready, ANY, 0, ""),
            (Some(first), before) if before.is_none_or(|before| first < before) => {
                queue.tell_head(&due_in(first, now), "");
            }
            _ => {}
        }
    }

    /// As `tell_new_head` in `jobs.lua`.
    pub(super) fn tell_new_head(&mut self, name: &ObjectName, now: ServerTime, caller: &str, outbox: &mut Outbox<'_>) {
        let soon = now.millis()..now.millis() + SOON_MS;
        let first = self.first_due();
        let is_soon = first.is_some_and(|due| due > now.millis() && soon.contains(&due));
        let head = self.queue.head().map(str::to_owned).filter(|head| head != caller && is_soon);
        let mut queue = self.queue_at(name, now, outbox);
        if let (Some(head), Some(first)) = (head, first) {
            queue.tell(&head, &due_in(first, now));
        }
    }

    pub(super) fn queue_at<'a, 'h>(
        &'a mut self,
        name: &'a ObjectName,
        now: ServerTime,
        outbox: &'a mut Outbox<'h>,
    ) -> QueueAt<'a, 'h> {
        QueueAt { names: &QUEUE, queue: &mut self.queue, name, now, outbox }
    }
}

/// The rank of a job of this urgency and due time that came under this number.
pub(super) fn rank(urgency: &str, due: u64, arrival: u64) -> String {
    format!("{urgency}{:02x}{arrival:014x}", due % 256)
}

/// The rank of a job that is due at another time than before.
pub(super) fn rank_at(rank: &str, due: u64) -> String {
    format!("{}{:02x}{}", &rank[..4], due % 256, &rank[6..])
}

/// As `precedence` in `jobs.lua`: below zero for every priority.
fn precedence(rank: &str, due: u64) -> i64 {
    let urgency = i64::from_str_radix(&rank[..4], 16).unwrap_or(0);
    (urgency - (1 << 16)) * (1 << 36) + (due / 256) as i64
}

/// The message to a head that the first job is due at `first`.
fn due_in(first: u64, now: ServerTime) -> String {
    format!("{DUE}{}", first - now.millis())
}

/// The end of a wait of so many ms that begins now, rounded up: no job comes before its time.
pub(super) fn after(now: ServerTime, ms: u64) -> u64 {
    now.0.div_ceil(1_000) + ms
}

const _: () = {
    // The scripts have the same numbers.
    let scripts = include_str!("jobs.lua");
    assert!(contains(scripts, "local IDLE_MS = '86400000'\n") && IDLE_MS == 86_400_000);
    assert!(contains(scripts, "local RECLAIMED = 50\n") && RECLAIMED == 50);
    assert!(contains(scripts, "local REMOVED = 200\n") && REMOVED == 200);
    assert!(contains(scripts, "local RANK = 20\n") && RANK == 20);
    assert!(contains(scripts, "local LOST = 'its lease ran out'\n"));
    assert!(contains(scripts, "local SOON_MS = 2100\n") && SOON_MS == 2_100);
};

#[cfg(test)]
mod for_tests {
    use std::fmt::Debug;
    use std::str::FromStr;

    use super::*;
    use crate::step::model::{Model, Pair};

    impl<S: Copy + Ord + FromStr<Err: Debug>> Ranked<S> {
        /// Reads it from the server, where it has no time to live.
        pub(crate) fn read_back<M: Model>(pair: &mut Pair<M>, key: &str) -> Ranked<S> {
            let range = pair.server.cmd(&["ZRANGE", key, "0", "-1", "WITHSCORES"]).unwrap();
            let range: Vec<&str> = range.array().iter().map(|word| word.text()).collect();
            let mut ranked = Ranked::default();
            for pair in range.chunks(2) {
                ranked.set(pair[0], pair[1].parse().unwrap());
            }
            assert_eq!(pair.server_deadline(key), None, "{key} would be gone with its jobs");
            ranked
        }
    }
}
