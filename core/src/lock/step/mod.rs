//! The lock's state on the server and its transitions, one file each.

mod acquire;
mod acquire_all;
mod cancel;
mod force_release;
mod inspect;
mod look;
mod release;
mod release_all;
mod renew;
mod transfer;

use std::collections::BTreeMap;

pub(crate) use acquire::Acquire;
pub(crate) use acquire_all::AcquireAll;
pub(crate) use cancel::Cancel;
pub(crate) use force_release::ForceRelease;
pub(crate) use inspect::Inspect;
pub(crate) use look::Look;
pub(crate) use release::Release;
pub(crate) use release_all::ReleaseAll;
pub(crate) use renew::Renew;
pub(crate) use transfer::{Transfer, Transferred};

use crate::contended::token::TokenKey;
use crate::contended::{Queue, QueueAt, QueueNames};
use crate::name::ObjectName;
use crate::step::{Expires, Outbox, State};
use crate::time::ServerTime;

/// What a release says on the lock's channel; Redisson expects exactly this.
const FREE: &str = "0";

/// The kind of channel where a release is announced (Redisson's RLock).
const CHANNEL: &str = "redisson_lock__channel";

/// The keys of the queue, and the messages, are older than other kinds and name none.
pub(crate) const QUEUE: QueueNames = QueueNames::new("", "dlock_queue", "dlock_seen");

/// Where a release is announced.
pub(crate) fn channel(name: &ObjectName) -> String {
    name.companion(CHANNEL)
}

/// The client of an owner, which is `<client>:<n>`.
fn client_of(owner: &str) -> &str {
    owner.rsplit_once(':').map_or("", |(client, _)| client)
}

/// So much of a holder is shown: a foreign one may be of any size.
const HOLDER_BYTES: usize = 256;

/// The start of a text as a script cuts it off, and as the reply is then read.
fn start_of(text: &str, bytes: usize) -> String {
    String::from_utf8_lossy(&text.as_bytes()[..bytes.min(text.len())]).into_owned()
}

/// A script with what it needs of the queue in front.
macro_rules! with_queue {
    ($file:literal) => {
        concat!(crate::contended::queue_lua!(), include_str!($file))
    };
}
use with_queue;

/// A script that releases, with what it needs in front.
macro_rules! free_lua {
    ($file:literal) => {
        concat!(crate::contended::queue_lua!(), include_str!("free.lua"), include_str!($file))
    };
}
use free_lua;

/// The lock's queue, for a step at `now`.
fn queue_at<'a, 'h>(
    queue: &'a mut Queue,
    name: &'a ObjectName,
    now: ServerTime,
    outbox: &'a mut Outbox<'h>,
) -> QueueAt<'a, 'h> {
    QueueAt { names: &QUEUE, queue, name, now, outbox }
}

fn announce(name: &ObjectName, outbox: &mut Outbox<'_>) {
    outbox.publish(channel(name), FREE.to_owned());
}

/// The keys of a lock. Deadlines are in ms of the server's clock; a key is gone when now > deadline, as in Redis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockState {
    pub(crate) hash: Option<LockHash>,
    pub(crate) token: Option<TokenKey>,
    pub(crate) queue: Queue,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockHash {
    /// Owner to hold count. libdlock writes one field with the count 1; Redisson counts re-entries here.
    pub(crate) owners: BTreeMap<String, String>,
    pub(crate) deadline: Option<u64>,
}

impl LockHash {
    fn owned_by(owner: &str, deadline: u64) -> LockHash {
        LockHash { owners: BTreeMap::from([(owner.to_owned(), "1".to_owned())]), deadline: Some(deadline) }
    }

    /// PTTL: -1 without expiry.
    fn ttl(&self, now: ServerTime) -> i64 {
        ttl(self.deadline, now)
    }
}

fn ttl(deadline: Option<u64>, now: ServerTime) -> i64 {
    deadline.map_or(-1, |deadline| deadline.saturating_sub(now.millis()) as i64)
}

impl Expires for LockState {
    fn expire(&mut self, now: ServerTime) -> bool {
        let gone = |deadline: Option<u64>| deadline.is_some_and(|deadline| now.millis() > deadline);
        if self.hash.as_ref().is_some_and(|hash| gone(hash.deadline) || hash.owners.is_empty()) {
            self.hash = None;
        }
        if self.token.as_ref().is_some_and(|token| gone(token.deadline)) {
            self.token = None;
        }
        self.queue.expire(now) && self.hash.is_none() && self.token.is_none()
    }
}

impl State for LockState {
    const ACCESS: &'static str = "~<name> ~redisson_lock_token:* ~dlock_queue:* ~dlock_seen:* \
        &redisson_lock__channel:* &dlock_inbox:* \
        +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish +get +set +del +exists +pexpire +persist +pttl \
        +hget +hset +hdel +hexists +hincrby +hrandfield +zadd +zcard +zrange +zrank +zrem";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }
}
