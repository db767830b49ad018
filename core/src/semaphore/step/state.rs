//! The keys of a semaphore, and what its steps share; `permits.lua` does the same next to the data.

use std::collections::BTreeMap;

use super::{NO_LEASE, QUEUE, Taker};
use crate::contended::available::{Available, announced, channel};
use crate::contended::{Queue, QueueAt};
use crate::name::ObjectName;
use crate::step::{Expires, Outbox, State, WrongType};
use crate::text::contains;
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

impl Expires for SemaphoreState {
    fn expire(&mut self, now: ServerTime) -> bool {
        let gone = |deadline: Option<u64>| deadline.is_some_and(|deadline| now.millis() > deadline);
        if self.available.as_ref().is_some_and(|available| available.is_over(now.millis())) {
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
        Available::count(&self.available)
    }

    pub(super) fn set_count(&mut self, available: i64) {
        Available::set(&mut self.available, available);
    }

    /// When the ids of `taker` expire, if they are there.
    pub(super) fn expiry(&self, taker: Taker<'_>) -> Option<u64> {
        taker.ids().next().and_then(|first| self.taken.get(&first).copied())
    }

    /// Has those ids of `taker` that are there expire at `expiry`.
    pub(super) fn set_expiry(&mut self, taker: Taker<'_>, expiry: u64) {
        for id in taker.ids() {
            self.taken.entry(id).and_modify(|at| *at = expiry);
        }
    }

    /// Has all ids of `taker` expire at `expiry`; how many were not there.
    pub(super) fn give(&mut self, taker: Taker<'_>, expiry: u64) -> i64 {
        let before = self.taken.len();
        self.taken.extend(taker.ids().map(|id| (id, expiry)));
        (self.taken.len() - before) as i64
    }

    /// The keys live on for a lease and half of `IDLE_MS`, at least. Those that somebody else has made to stay do.
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

    /// In how many ms the first of the permits expires that are taken: 0 when it is to be taken back, -1 when none will expire.
    pub(super) fn first_expiry(&self, now: ServerTime) -> i64 {
        match self.taken.values().min() {
            Some(first) if *first < NO_LEASE => first.saturating_sub(now.millis()) as i64,
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
            outbox.publish(channel(name), announced(available));
        }
        available
    }

    /// Tells those for whom room was made from rank `from` on; see [`QueueAt::wake`].
    pub(super) fn wake(
        &mut self,
        name: &ObjectName,
        now: ServerTime,
        (available, from): (i64, usize),
        caller: &str,
        outbox: &mut Outbox<'_>,
    ) {
        let total = available + self.taken.len() as i64;
        self.queue_at(name, now, outbox).wake(available, total, from, caller);
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
    // The scripts have the same numbers.
    let scripts = include_str!("permits.lua");
    assert!(contains(scripts, "local IDLE_MS = 86400000\n") && IDLE_MS == 86_400_000);
    assert!(contains(scripts, "local RECLAIMED = 500\n") && RECLAIMED == 500);
    assert!(contains(scripts, "local NO_LEASE = 922337203685477\n") && NO_LEASE == 922_337_203_685_477);
};
