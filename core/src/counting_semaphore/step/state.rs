//! The keys of a counting semaphore, and what its steps share; `counting.lua` does the same next to the data.

use std::mem::swap;

use super::QUEUE;
use crate::contended::available::{self, announced, channel};
use crate::contended::{Queue, QueueAt};
use crate::name::ObjectName;
use crate::step::keys::Scores;
use crate::step::{Expires, MainKey, Outbox, Remembered, SharedKeys, State, WrongType};
use crate::time::ServerTime;

/// There is no total: a want of any size may be met one day.
pub(super) const NO_TOTAL: i64 = i64::MAX;

/// The keys of a counting semaphore.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CountingState {
    /// How many permits are available.
    pub(crate) main: MainKey,
    pub(crate) done: Remembered,
    /// The permits of this name that are taken under leases.
    pub(crate) leased: Scores,
    pub(crate) queue: Queue,
}

impl Expires for CountingState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.main.expire(now) & self.leased.expire(now) & self.done.expire(now) & self.queue.expire(now)
    }
}

impl State for CountingState {
    const ACCESS: &'static str = "~<name> ~dlock_counting_done:* ~*:timeout ~dlock_counting_queue:* \
        ~dlock_counting_seen:* &redisson_sc:* &dlock_inbox:* \
        +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish +get +set +decrby +incrby +del +exists +pexpire \
        +pttl +hget +hset +hdel +hexists +hincrby +zadd +zcard +zrange +zrank +zrem +zscore";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
        swap(&mut self.leased, &mut keys.leased);
    }
}

impl CountingState {
    /// How many permits are available; `None` when there is no such key.
    pub(super) fn count(&self) -> Result<Option<i64>, WrongType> {
        let count = available::count(&self.main)?;
        if self.leased.value.is_empty() { Ok(count) } else { Err(WrongType) }
    }

    pub(super) fn set_count(&mut self, available: i64) {
        self.main.set_text(available.to_string());
    }

    /// Permits came: tells Redisson's waiters, and those of the queue whose turn it is by that.
    pub(super) fn announce_and_wake(&mut self, name: &ObjectName, now: ServerTime, outbox: &mut Outbox<'_>) {
        let Ok(Some(available @ 1..)) = self.count() else { return };
        outbox.publish(channel(name), announced(available));
        self.wake(name, now, (available, 0), "", outbox);
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
        self.queue_at(name, now, outbox).wake(available, NO_TOTAL, from, caller);
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
