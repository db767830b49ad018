//! The lock's state on the server and its transitions, one file each.

mod acquire;
mod cancel;
mod force_release;
mod inspect;
mod queue;
mod release;
mod renew;
mod transfer;

use std::collections::BTreeMap;

pub(crate) use acquire::{Acquire, Acquired};
pub(crate) use cancel::{Cancel, Cancelled};
pub(crate) use force_release::ForceRelease;
pub(crate) use inspect::Inspect;
pub(crate) use queue::Queue;
pub(crate) use release::{Release, Released};
pub(crate) use renew::Renew;
pub(crate) use transfer::{Transfer, Transferred};

use crate::backend::Cell;
use crate::name::ObjectName;
use crate::step::{Notice, State};
use crate::time::ServerTime;

/// What a release says on the lock's channel; Redisson expects exactly this.
const FREE: &str = "0";

/// The largest token: beyond 2^53 a number of Lua is not exact.
const MAX_TOKEN: u64 = (1 << 53) - 1;

/// The kind of key of the last fencing token (Redisson's RFencedLock).
pub(crate) const TOKEN: &str = "redisson_lock_token";

/// The kind of channel where a release is announced (Redisson's RLock).
const CHANNEL: &str = "redisson_lock__channel";

/// The kind of key of the waiting clients.
pub(crate) const QUEUE: &str = "dlock_queue";

/// The kind of key of when the waiting clients were last seen.
pub(crate) const SEEN: &str = "dlock_seen";

/// Where a release is announced.
pub(crate) fn channel(name: &ObjectName) -> String {
    name.companion(CHANNEL)
}

/// Where a client hears of all the locks that it waits for or holds.
pub(crate) fn inbox(client: &str) -> String {
    format!("dlock_inbox:{client}")
}

/// The client of an owner, which is `<client>:<n>`.
fn client_of(owner: &str) -> &str {
    owner.rsplit_once(':').map_or("", |(client, _)| client)
}

/// A script with what it needs of the queue in front.
macro_rules! with_queue {
    ($file:literal) => {
        concat!(include_str!("../../lua/queue.lua"), include_str!(concat!("../../lua/", $file)))
    };
}
use with_queue;

fn announce(name: &ObjectName, notices: &mut Vec<Notice>) {
    notices.push(Notice { channel: channel(name), payload: FREE.to_owned() });
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

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TokenKey {
    pub(crate) value: String,
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

impl State for LockState {
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

    const ACCESS: &'static str = "~<name> ~redisson_lock_token:* ~dlock_queue:* ~dlock_seen:* \
        &redisson_lock__channel:* &dlock_inbox:* \
        +@read +@write +@scripting +@pubsub +time +ping";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn of(cell: &mut Cell) -> Option<&mut LockState> {
        match cell {
            Cell::Lock(state) => Some(state),
            _ => None,
        }
    }

    fn into_cell(self) -> Cell {
        Cell::Lock(self)
    }
}
