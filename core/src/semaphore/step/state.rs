//! The keys of a semaphore, and what its steps share; `permits.lua` does the same next to the data.

use std::collections::BTreeMap;

use super::{CHANNEL, QUEUE, TIMEOUT, Taker, channel};
use crate::contended::{Queue, QueueAt, REACH};
use crate::name::ObjectName;
use crate::step::{Expires, Outbox, State, WrongType};
use crate::time::{ServerTime, millis};
use std::time::Duration;

/// How long the keys outlive their last use.
const IDLE_MS: u64 = 86_400_000;

/// How many expired permits one script takes back.
const RECLAIMED: usize = 500;

/// Deadlines are in ms of the server's clock; a key is gone when now > deadline, as in Redis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SemaphoreState {
    pub(crate) available: Option<Available>,
    /// The ids of the permits that are taken, and when they expire, at that ms already.
    pub(crate) taken: BTreeMap<String, u64>,
    pub(crate) taken_deadline: Option<u64>,
    pub(crate) queue: Queue,
}

/// How many permits are available, as its key has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Available {
    pub(crate) text: String,
    pub(crate) deadline: Option<u64>,
}

impl Expires for SemaphoreState {
    fn expire(&mut self, now: ServerTime) -> bool {
        let gone = |deadline: Option<u64>| deadline.is_some_and(|deadline| now.millis() > deadline);
        if self.available.as_ref().is_some_and(|available| gone(available.deadline)) {
            self.available = None;
        }
        if self.taken.is_empty() || gone(self.taken_deadline) {
            self.taken.clear();
            self.taken_deadline = None;
        }
        self.queue.expire(now) && self.available.is_none() && self.taken.is_empty()
    }
}

impl State for SemaphoreState {
    const ACCESS: &'static str = "~<name> ~*:timeout ~dlock_semaphore_queue:* ~dlock_semaphore_seen:* \
        &redisson_sc:* &dlock_inbox:* \
        +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish +get +set +decrby +incrby +del +exists +pexpire \
        +persist +pttl +hget +hset +hdel +hexists +hincrby +zadd +zcard +zcount +zrange +zrangebyscore +zrank +zrem +zscore";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }
}

impl SemaphoreState {
    /// How many permits are available; `None` when there is no such key.
    pub(super) fn count(&self) -> Result<Option<i64>, WrongType> {
        let Some(available) = &self.available else { return Ok(None) };
        let text = available.text.as_str();
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit()) && !digits.is_empty();
        // As the server writes a number: of others it takes none.
        let is_number = text.len() <= 16 && is_number && (text == "0" || !digits.starts_with('0'));
        if is_number { text.parse().map(Some).map_err(|_| WrongType) } else { Err(WrongType) }
    }

    pub(super) fn set_count(&mut self, available: i64) {
        let deadline = self.available.as_ref().and_then(|available| available.deadline);
        self.available = Some(Available { text: available.to_string(), deadline });
    }

    /// When the ids of `taker` expire, if they are there.
    pub(super) fn expiry(&self, taker: &Taker<'_>) -> Option<u64> {
        self.taken.get(&taker.id(0)).copied()
    }

    /// Has those ids of `taker` that are there expire at `expiry`.
    pub(super) fn set_expiry(&mut self, taker: &Taker<'_>, expiry: u64) {
        for id in taker.ids() {
            self.taken.entry(id).and_modify(|at| *at = expiry);
        }
    }

    /// Has all ids of `taker` expire at `expiry`; how many were not there.
    pub(super) fn give(&mut self, taker: &Taker<'_>, expiry: u64) -> i64 {
        let before = self.taken.len();
        self.taken.extend(taker.ids().map(|id| (id, expiry)));
        (self.taken.len() - before) as i64
    }

    /// The keys live on for a lease and half of `IDLE_MS` at least. Those that somebody else has made to stay do.
    pub(super) fn keep(&mut self, now: ServerTime, lease: u64, made: bool) {
        let deadline = match &self.available {
            Some(available) if !made => match available.deadline {
                None => {
                    self.taken_deadline = None;
                    return;
                }
                deadline => deadline,
            },
            _ => None,
        };
        let fresh = now.millis() + lease + IDLE_MS;
        let deadline = deadline.filter(|deadline| *deadline >= fresh - IDLE_MS / 2).unwrap_or(fresh);
        if let Some(available) = &mut self.available {
            available.deadline = Some(deadline);
        }
        self.taken_deadline = (!self.taken.is_empty()).then_some(deadline);
    }

    /// When the first of the permits expires that are taken, in ms from now; -1 when none will.
    pub(super) fn first_expiry(&self, now: ServerTime) -> i64 {
        match self.taken.values().min() {
            Some(first) if *first < super::NO_LEASE => *first as i64 - now.millis() as i64,
            _ => -1,
        }
    }

    /// Takes back what has expired, at most `RECLAIMED`.
    pub(super) fn reclaim(
        &mut self,
        name: &ObjectName,
        now: ServerTime,
        available: i64,
        outbox: &mut Outbox<'_>,
    ) -> i64 {
        let mut expired: Vec<(u64, String)> =
            self.taken.iter().filter(|(_, at)| **at <= now.millis()).map(|(id, at)| (*at, id.clone())).collect();
        expired.sort();
        expired.truncate(RECLAIMED);
        if expired.is_empty() {
            return available;
        }
        for (_, id) in &expired {
            self.taken.remove(id);
        }
        let available = available + expired.len() as i64;
        self.set_count(available);
        if available > 0 {
            outbox.publish(channel(name), available.to_string());
        }
        available
    }

    /// What a client in the queue wants; more than there is when that is not known.
    pub(super) fn want(&self, client: &str) -> i64 {
        self.queue.wants.get(client).map_or(i64::MAX, |want| i64::from(*want))
    }

    /// Whether `permits` are there besides those that the first `entries` of the queue want.
    pub(super) fn suffices(&self, available: i64, permits: i64, entries: usize) -> bool {
        if permits + entries as i64 > available || entries > REACH {
            return false;
        }
        let wants = self.queue.entries.iter().take(entries).map(|(_, client)| self.want(client));
        wants.fold(permits, i64::saturating_add) <= available
    }

    /// Tells all entries from rank `from` on to ask whose wants fit into what is available together with those in front of
    /// them: room was made for them. Ends at `caller`, whose reply says more. An entry that wants more than there is in all is
    /// told too, and keeps nobody out. One that does not hear is marked, and leaves its permits to those behind it, of which
    /// the first that hears drops it.
    pub(super) fn wake(
        &mut self,
        name: &ObjectName,
        now: ServerTime,
        (mut available, from): (i64, usize),
        caller: &str,
        outbox: &mut Outbox<'_>,
    ) {
        let total = available + self.taken.len() as i64;
        let front: Vec<String> = self.queue.entries.iter().take(REACH).map(|(_, client)| client.clone()).collect();
        let mut marked = false;
        for (at, client) in front.into_iter().enumerate() {
            let mut wanted = self.want(&client);
            let impossible = wanted > total && wanted < i64::MAX;
            if client == caller || !impossible && wanted > available {
                break;
            }
            let mut queue = self.queue_at(name, now, outbox);
            if at >= from && !queue.tell(&client, "free") {
                queue.mark(&client);
                (wanted, marked) = (0, true);
            }
            available -= if impossible { 0 } else { wanted };
        }
        if marked {
            self.queue_at(name, now, outbox).keep();
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

/// The end of a lease that begins now.
pub(super) fn end_of(lease: Duration, now: ServerTime) -> u64 {
    now.millis() + millis(lease)
}

const _: () = {
    // The scripts have the same numbers, and the rules the same keys.
    assert!(IDLE_MS == 86_400_000 && RECLAIMED == 500);
    assert!(CHANNEL.len() == 11 && TIMEOUT.len() == 7);
};
