//! The log of a limiter of Redisson: a sorted set with one member for each acquire, and what is available by it.
//!
//! A member is the length of its random part in one byte, that part, and the number of permits in 32 bits, little-endian. Its
//! score is when it was acquired, in ms of Unix time. `step/acquire.lua` does the same next to the data.

use std::collections::BTreeSet;

use crate::step::WrongType;
use crate::step::keys::Key;
use crate::text::contains;
use crate::time::ServerTime;

/// How many entries that are over one call adds up at a time; and how many it gives a time that has come.
pub(crate) const CHUNK: usize = 500;

/// A log with so few entries is added up at each call: nothing that others have left beside it counts then.
pub(crate) const FEW: usize = 32;

/// How many entries are looked at for the time at which enough of them are over.
const LOOKED_AT: usize = 100;

/// How many bytes of a member are random.
const RANDOM_BYTES: usize = 16;

/// The sorted set. Empty, it is gone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Log(pub(crate) Key<BTreeSet<(u64, Vec<u8>)>>);

/// The times that count for a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// What was acquired then or before is over.
    pub(super) over: i64,
    /// What is acquired now has this time: now, rounded up, so that it is not over too soon.
    pub(super) now_ms: u64,
    pub(super) interval_ms: u64,
}

/// What a call finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// How many permits are available; negative when a lower rate was set.
    pub(super) available: i64,
    /// How many of the oldest entries are over and were added up.
    pub(super) over: usize,
    /// When enough of the others are over for what is needed, at the soonest; `None` for never.
    pub(super) due_ms: Option<u64>,
    /// When all are over.
    pub(super) full_ms: Option<u64>,
}

impl Times {
    pub(super) fn new(now: ServerTime, interval_ms: u64) -> Times {
        Times { over: now.millis() as i64 - interval_ms as i64, now_ms: now.0.div_ceil(1_000), interval_ms }
    }

    /// When an entry of this time is over. One of a clock that is ahead, or was set back since, counts as one of now.
    fn end(self, score: u64) -> u64 {
        score.min(self.now_ms) + self.interval_ms
    }
}

/// The permits of a member; none if it has another layout.
fn permits(member: &[u8]) -> Result<i64, WrongType> {
    let (&length, rest) = member.split_first().ok_or(WrongType)?;
    let (_, permits) = rest.split_at_checked(length.into()).ok_or(WrongType)?;
    Ok(u32::from_le_bytes(permits.try_into().map_err(|_| WrongType)?).into())
}

/// The member of an acquire.
pub(crate) fn member(random: [u8; RANDOM_BYTES], permits: u32) -> Vec<u8> {
    [&[RANDOM_BYTES as u8][..], &random, &permits.to_le_bytes()].concat()
}

impl Log {
    fn entries(&self, from: usize) -> impl Iterator<Item = &(u64, Vec<u8>)> + Clone {
        self.0.value.iter().skip(from)
    }

    fn sum<'a>(entries: impl Iterator<Item = &'a (u64, Vec<u8>)>) -> Result<i64, WrongType> {
        entries.map(|(_, member)| permits(member)).sum()
    }

    /// What is available of `rate` permits for a call that needs so many, when `stored` were before.
    ///
    /// The stored number counts what the log counts, less what is over by now. The log is added up instead when the number is
    /// missing, cannot be right, or may be of another rate (`unsure`), and always when it is short.
    pub(super) fn look(
        &self,
        times: Times,
        rate: u64,
        stored: Option<i64>,
        need: i64,
        unsure: bool,
    ) -> Result<Found, WrongType> {
        let (rate, all) = (rate as i64, self.0.value.len());
        let newest = self.0.value.last().map(|(score, _)| *score);
        let (mut over, mut freed) = (0, 0);
        if newest.is_some_and(|newest| newest as i64 <= times.over) {
            over = all;
        } else {
            loop {
                let chunk = self.entries(over).take(CHUNK).take_while(|(score, _)| *score as i64 <= times.over);
                let count = chunk.clone().count();
                freed += Log::sum(chunk)?;
                over += count;
                if count < CHUNK || stored.unwrap_or(0) + freed >= need {
                    break;
                }
            }
        }
        let left = all - over;
        let available = match stored.map(|stored| stored + freed) {
            Some(available) if left > FEW && !unsure && available <= rate - left as i64 => available,
            _ => rate - Log::sum(self.entries(over))?,
        };
        let mut due_ms = None;
        let mut sum = available;
        for (score, member) in self.entries(over).take(LOOKED_AT) {
            if sum >= need {
                break;
            }
            sum += permits(member)?;
            due_ms = Some(times.end(*score));
        }
        let full_ms = newest.filter(|_| left > 0).map(|newest| times.end(newest));
        Ok(Found { available, over, due_ms, full_ms })
    }

    /// Drops the oldest entries, and gives those of a time to come the present one: they count for one interval, and no longer.
    pub(super) fn tidy(&mut self, times: Times, over: usize) {
        self.0.value = std::mem::take(&mut self.0.value).into_iter().skip(over).collect();
        let ahead: Vec<_> = self.entries(0).filter(|(score, _)| *score > times.now_ms).take(CHUNK).cloned().collect();
        for entry in ahead {
            self.0.value.remove(&entry);
            self.0.value.insert((times.now_ms, entry.1));
        }
        self.drop_if_empty();
    }

    /// ZADD.
    pub(super) fn add(&mut self, score: u64, member: Vec<u8>) {
        self.0.value.retain(|(_, other)| *other != member);
        self.0.value.insert((score, member));
    }

    pub(super) fn end_at(&mut self, deadline: u64) {
        if !self.0.value.is_empty() {
            self.0.deadline = Some(deadline);
        }
    }

    /// Drops what has ended; true when nothing is left.
    pub(super) fn expire(&mut self, now: ServerTime) -> bool {
        if self.0.is_over(now) {
            *self = Log::default();
        }
        self.drop_if_empty()
    }

    fn drop_if_empty(&mut self) -> bool {
        if self.0.value.is_empty() {
            *self = Log::default();
        }
        self.0.value.is_empty()
    }
}

const _: () = {
    // The script has the same numbers.
    let script = include_str!("step/acquire.lua");
    assert!(contains(script, "local CHUNK, FEW, LOOKED_AT = 500, 32, 100\n"));
    assert!(CHUNK == 500 && FEW == 32 && LOOKED_AT == 100);
};
