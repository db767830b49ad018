//! The keys of a semaphore, and what its steps share; `permits.lua` does the same next to the data.

use std::mem::swap;
use std::time::Duration;

use super::{NO_LEASE, QUEUE, Taker};
use crate::contended::available::{self, announced, channel};
use crate::contended::{Queue, QueueAt};
use crate::name::ObjectName;
use crate::step::keys::Scores;
use crate::step::{Expires, MainKey, Outbox, SharedKeys, State, WrongType};
use crate::text::contains;
use crate::time::{ServerTime, millis};

/// How long the keys outlive their last use.
const IDLE_MS: u64 = 86_400_000;

/// How many expired permits one script takes back.
const RECLAIMED: usize = 500;

/// The keys of a semaphore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SemaphoreState {
    /// How many permits are available.
    pub(crate) main: MainKey,
    /// The ids of the permits that are taken, and when they expire, at that ms already.
    pub(crate) taken: Scores,
    pub(crate) queue: Queue,
}

impl Expires for SemaphoreState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.main.expire(now) & self.taken.expire(now) & self.queue.expire(now)
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

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
        swap(&mut self.taken, &mut keys.leased);
    }
}

impl SemaphoreState {
    /// How many permits are available; `None` when there is no such key.
    pub(super) fn count(&self) -> Result<Option<i64>, WrongType> {
        available::count(&self.main)
    }

    pub(super) fn set_count(&mut self, available: i64) {
        self.main.set_text(available.to_string());
    }

    /// When the ids of `taker` expire, if they are there.
    pub(super) fn expiry(&self, taker: Taker<'_>) -> Option<u64> {
        taker.ids().next().and_then(|first| self.taken.value.get(&first).copied())
    }

    /// Has those ids of `taker` that are there expire at `expiry`.
    pub(super) fn set_expiry(&mut self, taker: Taker<'_>, expiry: u64) {
        for id in taker.ids() {
            self.taken.value.entry(id).and_modify(|at| *at = expiry);
        }
    }

    /// Has all ids of `taker` expire at `expiry`; how many were not there.
    pub(super) fn give(&mut self, taker: Taker<'_>, expiry: u64) -> i64 {
        let before = self.taken.value.len();
        self.taken.value.extend(taker.ids().map(|id| (id, expiry)));
        (self.taken.value.len() - before) as i64
    }

    /// The keys live on for a lease and half of `IDLE_MS`, at least. Those that somebody else has made to stay do.
    pub(super) fn keep(&mut self, now: ServerTime, lease: u64, made: bool) {
        let left = if made { 0 } else { self.main.ttl(now) };
        if left == -1 {
            self.taken.deadline = None;
            return;
        }
        let (fresh, deadline) = (now.millis() + lease + IDLE_MS, self.main.deadline().filter(|_| !made));
        let deadline = deadline.filter(|deadline| *deadline >= fresh - IDLE_MS / 2).unwrap_or(fresh);
        self.main.end_at(deadline);
        self.taken.deadline = (!self.taken.value.is_empty()).then_some(deadline);
    }

    /// In how many ms the first of the permits expires that are taken: 0 when it is to be taken back, -1 when none will expire.
    pub(super) fn first_expiry(&self, now: ServerTime) -> i64 {
        match self.taken.value.values().min() {
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
            self.taken.value.iter().filter(|(_, at)| **at <= now.millis()).map(|(id, at)| (*at, id.clone())).collect();
        expired.sort();
        expired.truncate(RECLAIMED);
        if expired.is_empty() {
            return available;
        }
        for (_, id) in &expired {
            self.taken.value.remove(id);
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
        let total = self.total(available);
        self.queue_at(name, now, outbox).wake(available, total, from, caller);
    }

    /// How many permits there are when so many are available.
    pub(super) fn total(&self, available: i64) -> i64 {
        available + self.taken.value.len() as i64
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
