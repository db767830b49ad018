//! The lock's state on the server and its transitions, one file each.

mod acquire;
mod acquire_all;
mod cancel;
mod force_release;
mod inspect;
mod look;
mod raise;
mod release;
mod release_all;
mod renew;
mod transfer;
mod undo;

use std::mem::swap;

pub(crate) use acquire::Acquire;
pub(crate) use acquire_all::AcquireAll;
pub(crate) use cancel::Cancel;
pub(crate) use force_release::ForceRelease;
pub(crate) use inspect::{Inspect, Inspected};
pub(crate) use raise::Raise;
pub(crate) use release::Release;
pub(crate) use release_all::ReleaseAll;
pub(crate) use renew::Renew;
pub(crate) use transfer::{Transfer, Transferred};
pub(crate) use undo::Undo;

use crate::contended::{Queue, QueueAt, QueueNames};
use crate::name::ObjectName;
use crate::step::keys::expire_text;
use crate::step::{Expires, MainKey, Outbox, SharedKeys, State, Text};
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

/// The keys of a lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LockState {
    /// A hash of owners and their hold counts. libdlock writes one field with the count 1; Redisson counts re-entries here.
    pub(crate) main: MainKey,
    pub(crate) token: Option<Text>,
    pub(crate) queue: Queue,
}

impl LockState {
    /// Held by this owner alone.
    fn set_owner(&mut self, owner: &str, deadline: u64) {
        self.main = MainKey::of_fields([(owner, "1")], Some(deadline));
    }
}

impl Expires for LockState {
    fn expire(&mut self, now: ServerTime) -> bool {
        expire_text(&mut self.token, now) & self.main.expire(now) & self.queue.expire(now)
    }
}

impl State for LockState {
    const ACCESS: &'static str = "~<name> ~redisson_lock_token:* ~dlock_queue:* ~dlock_seen:* \
        &redisson_lock__channel:* &dlock_inbox:* \
        +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish +get +set +del +exists +pexpire +persist +pttl \
        +hget +hset +hdel +hexists +hincrby +hrandfield +zadd +zcard +zrange +zrank +zrem";
    const AT_SEVERAL: bool = true;

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
        swap(&mut self.token, &mut keys.token);
    }
}
