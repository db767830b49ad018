//! The keys of a pool of worker numbers, and what its steps share; `pool.lua` does the same next to the data.

use std::mem::swap;

use super::POOL;
use crate::name::ObjectName;
use crate::step::keys::Scores;
use crate::step::{Expires, MainKey, SharedKeys, State, WrongType};
use crate::text::contains;
use crate::time::ServerTime;

/// How long the keys outlive their last use.
const IDLE_MS: u64 = 86_400_000;

/// How many leases that have expired one script takes back.
pub(super) const RECLAIMED: usize = 500;

/// A last time further ahead than this comes from a clock that was wrong.
pub(super) const AHEAD_MS: u64 = 86_400_000;

/// Maximum number of free numbers with such a time that one script passes over.
const PASSED_OVER: usize = 32;

/// The field that has the lowest number that nobody has held yet.
pub(super) const NEXT: &str = "next";

/// The keys of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkerState {
    /// Which owner has which number, how far the time of each number has come, and which were never held.
    pub(crate) main: MainKey,
    /// Owners, and when their leases expire, at that ms already.
    pub(crate) leases: Scores,
    /// Numbers that are free again.
    pub(crate) free: Scores,
}

impl Expires for WorkerState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.main.expire(now) & self.leases.expire(now) & self.free.expire(now)
    }
}

impl State for WorkerState {
    const ACCESS: &'static str = "~dlock_id_pool:* ~dlock_id_leases:* ~dlock_id_free:* \
        +eval +evalsha +time +ping +info +hget +hset +hdel +pexpire +pttl +zadd +zcard +zrange +zrangebyscore +zrem +zscore";

    fn main_key(name: &ObjectName) -> String {
        name.companion(POOL)
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
    }
}

/// A number as the scripts write it, below 10^15.
fn parse(text: &str) -> Result<u64, WrongType> {
    let number = text.parse().ok().filter(|number: &u64| text.len() <= 15 && number.to_string() == text);
    number.ok_or(WrongType)
}

impl WorkerState {
    /// The number in a field; `None` where there is none.
    pub(super) fn number(&self, field: &str) -> Result<Option<u64>, WrongType> {
        self.main.fields()?.and_then(|fields| fields.get(field)).map(|text| parse(text)).transpose()
    }

    /// The numbers that nobody holds and of which that is taken down, the lowest first, as many as one script looks at.
    pub(super) fn first_free(&self) -> impl Iterator<Item = Result<u64, WrongType>> {
        // By score and, of equals, by the text.
        let mut free: Vec<(u64, &String)> = self.free.value.iter().map(|(text, score)| (*score, text)).collect();
        free.sort();
        free.into_iter().take(PASSED_OVER).map(|(_, text)| parse(text))
    }

    /// Sets fields, and makes the pool if it is not there.
    pub(super) fn set(&mut self, fields: impl IntoIterator<Item = (String, u64)>) {
        if !self.main.is_there() {
            self.main = MainKey::of_fields([], None);
        }
        let mut texts = fields.into_iter().map(|(field, number)| (field, number.to_string()));
        self.main.fields_mut().into_iter().for_each(|all| all.extend(texts.by_ref()));
    }

    pub(super) fn forget(&mut self, owner: &str) {
        self.leases.value.remove(owner);
        self.main.fields_mut().into_iter().for_each(|fields| drop(fields.remove(owner)));
    }

    pub(super) fn set_free(&mut self, number: u64) {
        self.free.value.insert(number.to_string(), number);
    }

    /// The keys live on for a lease and half of `IDLE_MS`, at least.
    pub(super) fn keep(&mut self, now: ServerTime, lease: u64) {
        let mut left = self.main.ttl(now);
        if left < (lease + IDLE_MS / 2) as i64 {
            left = (lease + IDLE_MS) as i64;
            self.main.end_at(now.millis() + lease + IDLE_MS);
        }
        let deadline = Some(now.millis() + left as u64);
        for key in [&mut self.leases, &mut self.free] {
            key.deadline = deadline.filter(|_| !key.value.is_empty());
        }
    }
}

const _: () = {
    // The scripts have the same numbers.
    let scripts = include_str!("pool.lua");
    assert!(contains(scripts, "local IDLE_MS = 86400000\n") && IDLE_MS == 86_400_000);
    assert!(contains(scripts, "local RECLAIMED = 500\n") && RECLAIMED == 500);
    assert!(contains(scripts, "local AHEAD_MS = 86400000\n") && AHEAD_MS == 86_400_000);
    assert!(contains(scripts, "local PASSED_OVER = 32\n") && PASSED_OVER == 32);
};
