//! The keys of a read-write lock, and what its steps share; `holds.lua` does the same next to the data.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::swap;

use super::{ALL, CHANNEL, QUEUE, channel, writes};
use crate::contended::token::TOKEN;
use crate::contended::{Queue, QueueAt};
use crate::name::ObjectName;
use crate::step::keys::{Fields, expire_text};
use crate::step::{Expires, MainKey, Outbox, SharedKeys, State, Text, WrongType};
use crate::text::start_of;
use crate::time::ServerTime;

/// How many fields one script examines, and of one field how many keys.
const MOST_FIELDS: usize = 500;
const MOST_ENTRIES: u64 = 100;

/// So many fields that of a writer that is first, which may wait for nothing but holds that are over.
const MOST_OF_A_CROWD: usize = 2_000;

/// So much of a writer is shown: a foreign one may be of any size.
pub(super) const HOLDER_BYTES: usize = 256;

/// A client's id, a UUID, which an owner begins with.
const CLIENT_BYTES: usize = 36;

/// The same for a reader's release for which nobody waits: its cost must not grow with the number of readers.
const FEW_FIELDS: usize = 5;

/// What a lease without end lasts.
const WITHOUT_END: u64 = u64::MAX;

/// The keys of a read-write lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RwLockState {
    /// A hash: `mode`, and how often each hold was entered.
    pub(crate) main: MainKey,
    /// The keys that end with a hold, by its field and their number. That of a hold of ours has its token.
    pub(crate) timeouts: BTreeMap<(String, u64), Text>,
    pub(crate) token: Option<Text>,
    pub(crate) queue: Queue,
}

/// Who holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
}

/// What the holds in the hash last.
pub(super) enum Longest {
    Ms(u64),
    /// They are too many, or one has no end.
    Unknown,
}

impl Expires for RwLockState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.timeouts.retain(|_, timeout| !timeout.is_over(now));
        let nothing_held = self.main.expire(now) && self.timeouts.is_empty();
        expire_text(&mut self.token, now) & self.queue.expire(now) && nothing_held
    }
}

impl State for RwLockState {
    const ACCESS: &'static str = "~<name> ~redisson_lock_token:* ~*:rwlock_timeout:* ~dlock_rw_queue:* ~dlock_rw_seen:* \
        &redisson_rwlock:* &dlock_inbox:* \
        +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish +get +set +del +exists +pexpire +persist +pttl \
        +hget +hgetall +hset +hdel +hexists +hincrby +hlen +zadd +zcard +zrange +zrank +zrem";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
        swap(&mut self.token, &mut keys.token);
    }
}

impl Mode {
    const fn as_str(self) -> &'static str {
        match self {
            Mode::Read => "read",
            Mode::Write => "write",
        }
    }
}

/// What is available of the lock then: a reader wants 1, a writer all.
pub(super) fn available_in(mode: Option<Mode>) -> i64 {
    match mode {
        None => ALL.into(),
        Some(Mode::Read) => i64::from(ALL) - 1,
        Some(Mode::Write) => 0,
    }
}

/// Whether it is a hold of a libdlock client, whose ids are UUIDs of version 8.
fn is_ours(field: &str) -> bool {
    field.as_bytes().get(14) == Some(&b'8') && field.as_bytes().get(CLIENT_BYTES) == Some(&b':')
}

/// How many keys end with a hold at most.
fn entries_of(count: &str) -> u64 {
    let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let entries = if is_number { count.parse().unwrap_or(u64::MAX) } else { 1 };
    entries.min(MOST_ENTRIES)
}

impl RwLockState {
    /// Who holds it; `None`: nobody.
    pub(super) fn mode(&self) -> Result<Option<Mode>, WrongType> {
        let Some(fields) = self.main.fields()? else { return Ok(None) };
        match fields.get("mode").map(String::as_str) {
            Some("read") => Ok(Some(Mode::Read)),
            Some("write") => Ok(Some(Mode::Write)),
            _ => Err(WrongType),
        }
    }

    /// The fields of the hash, if there is one.
    pub(super) fn fields(&self) -> Option<&Fields> {
        self.main.fields().ok().flatten()
    }

    pub(super) fn has(&self, field: &str) -> bool {
        self.fields().is_some_and(|fields| fields.contains_key(field))
    }

    /// Takes a hold out of the hash; whether it was there.
    pub(super) fn remove(&mut self, field: &str) -> bool {
        self.main.fields_mut().is_some_and(|fields| fields.remove(field).is_some())
    }

    /// The holds in the hash; `None` when they are too many.
    pub(super) fn holds(&self) -> Option<Vec<(&str, &str)>> {
        self.holds_of(MOST_FIELDS)
    }

    fn holds_of(&self, most: usize) -> Option<Vec<(&str, &str)>> {
        let fields = self.fields();
        let many = fields.is_some_and(|fields| fields.len() > most);
        let holds = fields
            .into_iter()
            .flatten()
            .filter(|(field, _)| *field != "mode")
            .map(|(field, count)| (field.as_str(), count.as_str()));
        (!many).then(|| holds.collect())
    }

    /// For how many ms a hold lasts yet; 0 when it is over.
    pub(super) fn left_of(&self, (field, count): (&str, &str), now: ServerTime) -> u64 {
        let left = |deadline: Option<u64>| deadline.map_or(WITHOUT_END, |at| at.saturating_sub(now.millis()));
        if writes(field) && !is_ours(field) {
            return left(self.main.deadline());
        }
        let keys = (1..=entries_of(count)).filter_map(|n| self.timeouts.get(&(field.to_owned(), n)));
        keys.map(|timeout| left(timeout.deadline)).max().unwrap_or(0)
    }

    /// The writer and for how many ms it lasts yet; 0 when there is none any more.
    pub(super) fn writer(&self, now: ServerTime) -> (String, u64) {
        let Some(holds) = self.holds() else { return (String::new(), WITHOUT_END) };
        let writer = holds.into_iter().find(|(field, _)| writes(field));
        writer.map_or((String::new(), 0), |hold| (hold.0.to_owned(), self.left_of(hold, now)))
    }

    /// For how long the longest of all holds lasts yet. Holds of ours that are over leave the hash.
    pub(super) fn survey(&mut self, now: ServerTime) -> Longest {
        self.survey_of(MOST_FIELDS, now)
    }

    fn survey_of(&mut self, most: usize, now: ServerTime) -> Longest {
        let Some(holds) = self.holds_of(most) else { return Longest::Unknown };
        let lasts: Vec<(String, u64)> =
            holds.into_iter().map(|hold| (hold.0.to_owned(), self.left_of(hold, now))).collect();
        for (field, _) in lasts.iter().filter(|(field, left)| *left == 0 && is_ours(field)) {
            self.remove(field);
        }
        match lasts.iter().map(|(_, left)| *left).max().unwrap_or(0) {
            WITHOUT_END => Longest::Unknown,
            longest => Longest::Ms(longest),
        }
    }

    /// Nobody holds it any more. The clients of libdlock that did, each once; none when the holds are too many.
    pub(super) fn end_all(&mut self) -> BTreeSet<String> {
        let owned = |(field, count): (&str, &str)| (field.to_owned(), entries_of(count));
        let holds: Vec<(String, u64)> = self.holds().into_iter().flatten().map(owned).collect();
        self.main.delete();
        for (field, entries) in &holds {
            for n in 1..=*entries {
                self.timeouts.remove(&(field.clone(), n));
            }
        }
        holds.iter().filter(|(field, _)| is_ours(field)).map(|(field, _)| start_of(field, CLIENT_BYTES)).collect()
    }

    /// Ends every hold, whoever has it, and tells its clients.
    pub(super) fn take_away(&mut self, name: &ObjectName, now: ServerTime, outbox: &mut Outbox<'_>) {
        let clients = self.end_all();
        let mut queue = self.queue_at(name, now, outbox);
        for client in &clients {
            queue.tell(client, "lost");
        }
    }

    /// A hold enters the hash, made for it if nobody holds the lock.
    pub(super) fn add(&mut self, field: &str, mode: Mode, deadline: u64) {
        if let Some(fields) = self.main.fields_mut() {
            fields.insert(field.to_owned(), "1".to_owned());
            self.keep_until(deadline);
            return;
        }
        self.main = MainKey::of_fields([("mode", mode.as_str()), (field, "1")], Some(deadline));
    }

    /// The hash lives until then at least. One that has no end keeps none.
    pub(super) fn keep_until(&mut self, deadline: u64) {
        if let Some(ends) = self.main.deadline() {
            self.main.end_at(ends.max(deadline));
        }
    }

    pub(super) fn set_ttl(&mut self, ms: u64, now: ServerTime) {
        self.main.end_at(now.millis() + ms);
    }

    /// The writer has left the hash: the lock is its readers' from now on, or free. Redisson's waiters are told: by `1` those
    /// that sleep, and by `0` one that is about to, which misses `1`.
    pub(super) fn after_writer(&mut self, name: &ObjectName, now: ServerTime, outbox: &mut Outbox<'_>) {
        match self.survey(now) {
            Longest::Ms(0) => self.main.delete(),
            longest => {
                if let Some(fields) = self.main.fields_mut() {
                    fields.insert("mode".to_owned(), Mode::Read.as_str().to_owned());
                }
                if let Longest::Ms(longest) = longest {
                    self.set_ttl(longest, now);
                }
            }
        }
        if outbox.publish(channel(name), "1".to_owned()) {
            outbox.publish(channel(name), "0".to_owned());
        }
    }

    /// A reader has left the hash.
    pub(super) fn after_reader(&mut self, name: &ObjectName, now: ServerTime, outbox: &mut Outbox<'_>) -> bool {
        let most = if self.queue.head().is_some() { MOST_FIELDS } else { FEW_FIELDS };
        self.after_readers(most, name, now, outbox)
    }

    /// The same, or readers of a crowd may be over: the lock is free if no hold lasts, and else lives as long as the longest.
    /// Whether it is free, which Redisson's waiters are told.
    pub(super) fn after_some_of_a_crowd(
        &mut self,
        name: &ObjectName,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> bool {
        self.after_readers(MOST_OF_A_CROWD, name, now, outbox)
    }

    fn after_readers(&mut self, most: usize, name: &ObjectName, now: ServerTime, outbox: &mut Outbox<'_>) -> bool {
        match self.survey_of(most, now) {
            Longest::Ms(0) => {
                self.main.delete();
                outbox.publish(channel(name), "0".to_owned());
                return true;
            }
            Longest::Ms(longest) => self.set_ttl(longest, now),
            Longest::Unknown => {}
        }
        false
    }

    /// Whether there are more readers than a release examines: those that are over are found by the acquire of a writer that
    /// is first.
    pub(super) fn is_crowded(&self, mode: Mode) -> bool {
        mode == Mode::Read && self.holds_of(FEW_FIELDS).is_none()
    }

    /// What is said of the holders to somebody who waits: for how many ms they last, -1 without end; and who they are, the
    /// writer or how many readers.
    pub(super) fn in_the_way(&self, mode: Mode, now: ServerTime) -> (i64, String) {
        match mode {
            Mode::Read => {
                let readers = self.fields().map_or(0, |fields| fields.len().saturating_sub(1));
                (self.main.ttl(now), readers.to_string())
            }
            Mode::Write => {
                let (writer, left) = self.writer(now);
                let left = if left == WITHOUT_END { -1 } else { left as i64 };
                (left, start_of(&writer, HOLDER_BYTES))
            }
        }
    }

    /// Tells those for whom room was made from rank `from` on; see [`QueueAt::wake`].
    pub(super) fn wake(
        &mut self,
        name: &ObjectName,
        now: ServerTime,
        from: usize,
        caller: &str,
        outbox: &mut Outbox<'_>,
    ) {
        let available = self.mode().map_or(0, available_in);
        self.queue_at(name, now, outbox).wake(available, ALL.into(), from, caller);
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

const _: () = {
    // The script has the same numbers, and the rules the same keys.
    assert!(ALL == 1_000_000_000 && MOST_FIELDS == 500 && MOST_ENTRIES == 100);
    assert!(MOST_OF_A_CROWD == 2_000 && FEW_FIELDS == 5);
    assert!(CHANNEL.len() == 15 && TOKEN.len() == 19);
};
