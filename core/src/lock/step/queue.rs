//! The queue of the processes that wait for one lock, as `lua/queue.lua` keeps it in two keys.

use std::collections::BTreeMap;

use super::{QUEUE, SEEN, inbox};
use crate::name::ObjectName;
use crate::step::{Notice, Words};
use crate::time::ServerTime;

/// A head that the lock is free for and that has not been heard of for so long is dropped.
pub(super) const HEAD_SILENCE_MS: u64 = 2_500;

/// Any entry that has not been heard of for so long is dropped by the one behind it.
pub(super) const SILENCE_MS: u64 = 15_000;

/// How long both keys outlive the last change.
const KEPT_MS: u64 = 60_000;

/// How many tries may overtake one head.
pub(super) const MAY_BARGE: u64 = 2;

/// Q and S. Each is a key of its own: what belongs together may have been deleted apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Queue {
    /// By score, then by client, as a sorted set is.
    pub(crate) line: Vec<(u64, String)>,
    pub(crate) line_deadline: Option<u64>,
    pub(crate) seen: BTreeMap<String, u64>,
    pub(crate) barged: Option<u64>,
    pub(crate) seen_deadline: Option<u64>,
}

/// A script's view of the queue: whose it is, what time it is, and where messages go.
pub(super) struct Line<'a> {
    pub(super) queue: &'a mut Queue,
    pub(super) name: &'a ObjectName,
    pub(super) now: ServerTime,
    pub(super) notices: &'a mut Vec<Notice>,
}

impl Queue {
    /// Adds Q and S of that lock.
    pub(super) fn keys(name: &ObjectName, keys: &mut Words) {
        keys.join(name.companion_parts(QUEUE));
        keys.join(name.companion_parts(SEEN));
    }

    pub(super) fn head(&self) -> Option<&str> {
        self.at(0)
    }

    pub(super) fn at(&self, rank: usize) -> Option<&str> {
        self.line.get(rank).map(|(_, client)| client.as_str())
    }

    pub(super) fn rank(&self, client: &str) -> Option<usize> {
        self.line.iter().position(|(_, waiting)| waiting == client)
    }

    /// Drops what has expired; true when nothing is left.
    pub(super) fn expire(&mut self, now: ServerTime) -> bool {
        let gone = |deadline: Option<u64>| deadline.is_some_and(|deadline| now.millis() > deadline);
        if self.line.is_empty() || gone(self.line_deadline) {
            self.line.clear();
            self.line_deadline = None;
        }
        if (self.seen.is_empty() && self.barged.is_none()) || gone(self.seen_deadline) {
            self.seen.clear();
            self.barged = None;
            self.seen_deadline = None;
        }
        self.line.is_empty() && self.seen.is_empty() && self.barged.is_none()
    }
}

impl Line<'_> {
    pub(super) fn tell(&mut self, client: &str, what: &str) {
        let payload = format!("{what};{}", self.name.as_str());
        self.notices.push(Notice { channel: inbox(client), payload });
    }

    fn stamp(&mut self, client: &str) {
        self.queue.seen.insert(client.to_owned(), self.now.millis());
    }

    fn keep(&mut self) {
        let until = Some(self.now.millis() + KEPT_MS);
        let queue = &mut *self.queue;
        if !queue.line.is_empty() {
            queue.line_deadline = until;
        }
        if !queue.seen.is_empty() || queue.barged.is_some() {
            queue.seen_deadline = until;
        }
    }

    /// A try has overtaken the head.
    pub(super) fn barge(&mut self) {
        self.queue.barged = Some(self.queue.barged.unwrap_or(0) + 1);
        self.keep();
    }

    /// How long a client was silent. One without a stamp, or with a stamp of the future, is stamped now.
    pub(super) fn silence(&mut self, client: &str) -> u64 {
        match self.queue.seen.get(client) {
            Some(seen) if *seen <= self.now.millis() => self.now.millis() - seen,
            _ => {
                self.stamp(client);
                0
            }
        }
    }

    /// Those from rank `from` on (0 or 1) have moved up.
    pub(super) fn moved_up(&mut self, from: usize, free: bool, caller: &str) {
        let front: Vec<String> = (0..2).filter_map(|rank| self.queue.at(rank).map(str::to_owned)).collect();
        if from == 0 || front.is_empty() {
            self.queue.barged = None;
        }
        if front.is_empty() {
            self.queue.seen.clear();
            return;
        }
        front.iter().skip(from).for_each(|client| self.stamp(client));
        self.keep();
        if let Some(head) = front.first().filter(|head| free && from == 0 && *head != caller) {
            self.tell(head, "free");
        }
        if let Some(next) = front.get(1).filter(|next| *next != caller) {
            self.tell(next, "next");
        }
    }

    /// Takes a client out; the rank that it had.
    pub(super) fn leave(&mut self, client: &str) -> Option<usize> {
        let rank = self.queue.rank(client)?;
        self.queue.line.remove(rank);
        self.queue.seen.remove(client);
        Some(rank)
    }

    /// A client that is in the queue says that it still waits; its rank.
    pub(super) fn stay(&mut self, client: &str) -> Option<usize> {
        let rank = self.queue.rank(client)?;
        self.stamp(client);
        self.keep();
        Some(rank)
    }

    /// Puts a client at the end; its rank.
    pub(super) fn join(&mut self, client: &str) -> usize {
        let last = self.queue.line.last().map_or(0, |(score, _)| score + 1);
        self.queue.line.push((self.now.0.max(last), client.to_owned()));
        self.stamp(client);
        self.keep();
        self.queue.line.len() - 1
    }

    /// Joins, or says again that it waits, and drops the one in front if that was silent for too long; its rank.
    pub(super) fn line_up(&mut self, client: &str) -> usize {
        let Some(mut rank) = self.stay(client) else {
            return self.join(client);
        };
        if rank > 0 {
            let front = self.queue.at(rank - 1).unwrap_or_default().to_owned();
            if self.silence(&front) >= SILENCE_MS {
                self.leave(&front);
                rank -= 1;
                if rank <= 1 {
                    self.moved_up(rank, true, client);
                }
            }
        }
        rank
    }
}
