//! The queue of the processes that wait for one object, as `queue.lua` keeps it in two keys. Each kind has queues of its own.

use std::collections::BTreeMap;

use super::pace::{HEAD_SILENCE_MS, KEPT_MS, REACH, RECENT_MS, SILENCE_MS};
use crate::context::{inbox, message};
use crate::name::ObjectName;
use crate::step::{Outbox, Words};
use crate::time::ServerTime;

/// How many non-blocking attempts may jump one head.
const MAY_BARGE: u64 = 2;

/// Q and S. Each is a key of its own: what belongs together may have been deleted apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// By score, then by client, as a sorted set is.
    pub(crate) entries: Vec<(u64, String)>,
    pub(crate) entries_deadline: Option<u64>,
    pub(crate) seen: BTreeMap<String, u64>,
    /// Since when nobody listens to the inbox of a client.
    pub(crate) deaf: BTreeMap<String, u64>,
    pub(crate) barged: Option<u64>,
    /// How many permits the first in line of a client wants, for a kind of which there are several.
    pub(crate) wants: BTreeMap<String, u32>,
    /// For such a kind: when a client was told `free` and heard it, if it has not asked since.
    pub(crate) told: BTreeMap<String, u64>,
    pub(crate) seen_deadline: Option<u64>,
}

/// What the queues of one kind, and the messages about its objects, are called. No two kinds share one.
#[derive(Debug)]
pub(crate) struct QueueNames {
    /// As messages name it.
    pub(crate) kind: &'static str,
    /// The kind of key of the waiting clients.
    pub(crate) queue: &'static str,
    /// The kind of key of when the waiting clients were last seen.
    pub(crate) seen: &'static str,
    /// Whether entries say how many permits they want; the steps say themselves whose turn it is then.
    pub(crate) wants: bool,
}

impl QueueNames {
    /// `dlock_<kind>_queue` and `dlock_<kind>_seen`. The lock's are older than this rule and name no kind.
    pub(crate) const fn new(kind: &'static str, queue: &'static str, seen: &'static str) -> QueueNames {
        assert!(
            is_companion_of(queue, kind, b"queue") && is_companion_of(seen, kind, b"seen"),
            "the keys name their kind"
        );
        QueueNames { kind, queue, seen, wants: false }
    }

    /// Those of a kind of which there are several.
    pub(crate) const fn with_wants(mut self) -> QueueNames {
        self.wants = true;
        self
    }

    /// Adds Q and S of that object.
    pub(crate) fn add_keys(&self, name: &ObjectName, keys: &mut Words) {
        keys.join(name.companion_parts(self.queue));
        keys.join(name.companion_parts(self.seen));
    }
}

/// Whether this is the key kind `dlock_<kind>_<part>`, of a kind that has no `_`: else two kinds could be taken for one
/// another.
const fn is_companion_of(key: &str, kind: &str, part: &[u8]) -> bool {
    let Some((b"dlock_", rest)) = key.as_bytes().split_at_checked(6) else { return false };
    let (kind, mut at) = (kind.as_bytes(), 0);
    while at < kind.len() {
        if !matches!(kind[at], b'a'..=b'z' | b'0'..=b'9') || at == rest.len() || rest[at] != kind[at] {
            return false;
        }
        at += 1;
    }
    if at > 0 {
        if at == rest.len() || rest[at] != b'_' {
            return false;
        }
        at += 1;
    }
    let mut same = 0;
    while same < part.len() && at + same < rest.len() && rest[at + same] == part[same] {
        same += 1;
    }
    same == part.len() && at + same == rest.len()
}

/// The text that stands in front of each script that has to do with a queue, of the lock or of the kind of this name.
macro_rules! queue_lua {
    () => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/contended/queue.lua"))
    };
    ($kind:literal) => {
        concat!($crate::contended::queue_lua!(), "KIND = '", $kind, ":'\n")
    };
}
pub(crate) use queue_lua;

/// A step's view of the queue: whose it is, what time it is, and where messages go.
pub(crate) struct QueueAt<'a, 'h> {
    pub(crate) names: &'static QueueNames,
    pub(crate) queue: &'a mut Queue,
    pub(crate) name: &'a ObjectName,
    pub(crate) now: ServerTime,
    pub(crate) outbox: &'a mut Outbox<'h>,
}

impl Queue {
    pub(crate) fn head(&self) -> Option<&str> {
        self.at(0)
    }

    pub(crate) fn at(&self, rank: usize) -> Option<&str> {
        self.entries.get(rank).map(|(_, client)| client.as_str())
    }

    pub(crate) fn rank(&self, client: &str) -> Option<usize> {
        self.entries.iter().position(|(_, waiting)| waiting == client)
    }

    /// Drops what has expired; true when nothing is left.
    pub(crate) fn expire(&mut self, now: ServerTime) -> bool {
        let gone = |deadline: Option<u64>| deadline.is_some_and(|deadline| now.millis() > deadline);
        if self.entries.is_empty() || gone(self.entries_deadline) {
            self.entries.clear();
            self.entries_deadline = None;
        }
        if self.lacks_seen() || gone(self.seen_deadline) {
            self.forget_seen();
        }
        self.entries.is_empty() && self.lacks_seen()
    }

    /// Whether a non-blocking attempt may jump the present head.
    pub(crate) fn may_barge(&self) -> bool {
        self.barged.unwrap_or(0) < MAY_BARGE
    }

    /// S is deleted.
    fn forget_seen(&mut self) {
        self.seen.clear();
        self.deaf.clear();
        self.barged = None;
        self.wants.clear();
        self.told.clear();
        self.seen_deadline = None;
    }

    /// Whether S has no field.
    fn lacks_seen(&self) -> bool {
        let of_clients = self.seen.is_empty() && self.deaf.is_empty() && self.wants.is_empty() && self.told.is_empty();
        of_clients && self.barged.is_none()
    }
}

impl QueueAt<'_, '_> {
    pub(crate) fn head(&self) -> Option<&str> {
        self.queue.head()
    }

    /// Tells a client something; whether its inbox is listened to.
    pub(crate) fn tell(&mut self, client: &str, what: &str) -> bool {
        self.outbox.publish(inbox(client), message(self.names.kind, what, self.name.as_str()))
    }

    /// Tells the head, if there is one, that it should ask. The scripts write this out: they need the reply of `tell`.
    pub(crate) fn tell_free(&mut self, caller: &str) {
        self.tell_head("free", caller);
    }

    /// As [`QueueAt::tell_free`], with another word.
    pub(crate) fn tell_head(&mut self, what: &str, caller: &str) {
        let Some(head) = self.head().map(str::to_owned) else { return };
        if !self.tell(&head, what) {
            self.pass_on(caller);
        }
    }

    /// The head was told `free` and did not hear it: marks it, and tells the entries behind it in turn, marking each that does
    /// not hear either. The first that hears asks in their place, and later drops them.
    fn pass_on(&mut self, caller: &str) {
        for (at, client) in self.front().iter().enumerate() {
            if client == caller || at > 0 && self.tell(client, "free") {
                break;
            }
            self.deaf_since(client);
        }
        self.keep();
    }

    /// The entries that one script scans.
    pub(super) fn front(&self) -> Vec<String> {
        self.queue.entries.iter().take(REACH).map(|(_, client)| client.clone()).collect()
    }

    /// Since when nobody listens to a client's inbox: from now on, unless that was known.
    pub(super) fn deaf_since(&mut self, client: &str) -> u64 {
        let now = self.now.millis();
        let since = self.queue.deaf.get(client).copied().filter(|since| *since <= now);
        since.unwrap_or_else(|| {
            self.queue.deaf.insert(client.to_owned(), now);
            now
        })
    }

    /// The object is free and another client is head: scans the queue from the front and drops the dead entries. The scan ends
    /// at the first entry that hears, or at `client`, which makes the request and may wait.
    pub(crate) fn drop_gone(&mut self, client: &str, waits: bool) {
        let caller = if waits { client } else { "" };
        let (mut first, mut count) = (None, 0);
        for (at, entry) in self.front().iter().enumerate() {
            if entry == client {
                break;
            }
            // The head and the next one have to ask often.
            let limit = if at <= 1 { HEAD_SILENCE_MS } else { SILENCE_MS };
            if !self.is_silent(entry, limit) {
                if self.tell(entry, "here") {
                    self.queue.deaf.remove(entry);
                    break;
                }
                if self.now.millis() - self.deaf_since(entry) < HEAD_SILENCE_MS {
                    continue;
                }
            }
            self.leave(entry);
            first = first.or(Some(at));
            count += 1;
        }
        if count == REACH && waits && self.queue.head().is_some() {
            self.tell(caller, "free");
        } else if let Some(first @ (0 | 1)) = first {
            self.moved_up(first, !self.names.wants, caller);
        }
        self.keep();
    }

    /// Whether a client was seen so recently that it need not be asked whether it is there.
    pub(crate) fn is_there(&self, client: &str) -> bool {
        self.is_recent(&self.queue.seen, client)
    }

    pub(super) fn is_recent(&self, stamps: &BTreeMap<String, u64>, client: &str) -> bool {
        let now = self.now.millis();
        let at = stamps.get(client).filter(|at| **at <= now);
        at.is_some_and(|at| now - at < RECENT_MS) && !self.queue.deaf.contains_key(client)
    }

    /// True when the client had no stamp before.
    fn stamp(&mut self, client: &str) -> bool {
        self.queue.seen.insert(client.to_owned(), self.now.millis()).is_none()
    }

    pub(crate) fn keep(&mut self) {
        let until = Some(self.now.millis() + KEPT_MS);
        let queue = &mut *self.queue;
        if !queue.entries.is_empty() {
            queue.entries_deadline = until;
        }
        if !queue.lacks_seen() {
            queue.seen_deadline = until;
        }
    }

    /// A non-blocking attempt has jumped the head.
    pub(crate) fn barge(&mut self) {
        self.queue.barged = Some(self.queue.barged.unwrap_or(0) + 1);
        self.keep();
    }

    /// Whether a client was silent for so long. One without a stamp, or with a stamp of the future, is stamped now.
    fn is_silent(&mut self, client: &str, limit: u64) -> bool {
        match self.queue.seen.get(client) {
            Some(seen) if *seen <= self.now.millis() => self.now.millis() - seen >= limit,
            _ => {
                self.stamp(client);
                false
            }
        }
    }

    /// The entries from rank `from` on (0 or 1) have moved up: stamps a new head and a new next, and tells them.
    pub(crate) fn moved_up(&mut self, from: usize, free: bool, caller: &str) {
        let front: Vec<String> = (0..2).filter_map(|rank| self.queue.at(rank).map(str::to_owned)).collect();
        if front.is_empty() {
            self.queue.forget_seen();
            return;
        }
        // The waiters keep both keys alive, but an S that is made anew has no time to live yet.
        if front.iter().skip(from).filter(|client| self.stamp(client)).count() > 0 {
            self.keep();
        }
        if free && from == 0 && front[0] != caller {
            self.tell_free(caller);
        }
        if let Some(next) = front.get(1).filter(|next| *next != caller) {
            self.tell(next, "next");
        }
    }

    /// Takes a client out; the rank that it had. Nobody has jumped the head that comes after it.
    pub(crate) fn leave(&mut self, client: &str) -> Option<usize> {
        let rank = self.queue.rank(client)?;
        self.queue.entries.remove(rank);
        if rank == 0 {
            self.queue.barged = None;
        }
        self.queue.seen.remove(client);
        self.queue.deaf.remove(client);
        self.queue.wants.remove(client);
        self.queue.told.remove(client);
        Some(rank)
    }

    /// A client that is in the queue says that it still waits; its rank. Without `keep` both keys live on as they are.
    pub(crate) fn stay(&mut self, client: &str, keep: bool) -> Option<usize> {
        let rank = self.queue.rank(client)?;
        let unknown = !self.queue.seen.contains_key(client);
        self.stamp(client);
        self.queue.deaf.remove(client);
        self.queue.told.remove(client);
        if keep || unknown {
            self.keep();
        }
        Some(rank)
    }

    /// Puts a client at the end; its rank.
    pub(crate) fn join(&mut self, client: &str) -> usize {
        let last = self.queue.entries.last().map_or(0, |(score, _)| score + 1);
        self.queue.entries.push((self.now.0.max(last), client.to_owned()));
        self.stamp(client);
        self.keep();
        self.queue.entries.len() - 1
    }

    /// Lines a client up at an acquire: at its place, where a silent entry in front of it is dropped, or at the end; its rank.
    pub(crate) fn enqueue(&mut self, client: &str) -> usize {
        match self.stay(client, true) {
            Some(rank) => self.drop_silent(client, rank),
            None => self.join(client),
        }
    }

    /// Drops the entry in front of a client at `rank` if that was silent for too long; the client's rank then.
    pub(crate) fn drop_silent(&mut self, client: &str, mut rank: usize) -> usize {
        if rank > 0 {
            let front = self.queue.at(rank - 1).unwrap_or_default().to_owned();
            if self.is_silent(&front, SILENCE_MS) {
                self.leave(&front);
                rank -= 1;
                if rank <= 1 {
                    self.moved_up(rank, !self.names.wants, client);
                }
            }
        }
        rank
    }
}
