use std::collections::VecDeque;

use super::super::Standing;
use super::super::numbers::LARGEST;
use super::Asked;
use super::window::number;
use crate::step::WrongType;

/// The log's entries, as the key holds them, and what the last says.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Log {
    entries: VecDeque<String>,
    /// How many of them are over, and what was taken until then.
    over: usize,
    front: u64,
    last: Last,
    /// How far the log's time is ahead of the clock, in us: as far as the clock was set back.
    ahead: u64,
    /// Whether the last entry is to be written.
    rewrite: bool,
}

/// What the last entry says: its time, how many tokens were taken since the log began, how many by it.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    time: u64,
    total: u64,
    cost: u64,
}

/// An entry in numbers.
struct Entry {
    own: Last,
    written: u64,
    ahead: u64,
}

impl Entry {
    fn read(text: &str) -> Option<Entry> {
        // A mark of a block that was written with it.
        let (text, mark) = text.split_once('!').unwrap_or((text, ""));
        if !mark.bytes().all(|byte| byte.is_ascii_digit() || byte == b':') {
            return None;
        }
        let mut words = text.splitn(5, ' ');
        let mut one = || words.next().map(number);
        let (time, total, cost) = (one()??, one()??, one()??);
        // Both or none, or what nobody writes, but the script reads: one and nothing behind it.
        let (written, ahead) = match text.splitn(4, ' ').nth(3) {
            None | Some("") => (None, None),
            Some(rest) => {
                let (written, ahead) = rest.split_once(' ').unwrap_or((rest, ""));
                let optional = |digits: &str| if digits.is_empty() { Some(None) } else { number(digits).map(Some) };
                (optional(written)?, optional(ahead)?)
            }
        };
        let (written, ahead) = (written.unwrap_or(time), ahead.unwrap_or(0));
        let is_sound = [time, total, cost, written, ahead].iter().all(|number| *number <= LARGEST) && cost <= total;
        is_sound.then_some(Entry { own: Last { time, total, cost }, written, ahead })
    }

    fn front(&self) -> u64 {
        self.own.total - self.own.cost
    }
}

impl Log {
    /// What a list holds whose last entry is this text, without a mark behind it.
    pub(super) fn read(
        entries: VecDeque<String>,
        text: Option<&str>,
        asked: Asked<'_>,
    ) -> Result<(Log, bool), WrongType> {
        let Some(text) = text else { return Ok((Log { over: entries.len(), entries, ..Log::default() }, false)) };
        let last = Entry::read(text).ok_or(WrongType)?;
        let mut log = Log { entries, last: last.own, ahead: last.ahead, ..Log::default() };
        // The clock stepped back, and the log's time goes on.
        let moved = last.written > asked.now + last.ahead;
        if moved {
            log.ahead = last.written - asked.now;
        }
        log.over = log.first_of(0, (asked.now + log.ahead).checked_sub(asked.numbers.per_us), 0);
        if log.over == log.entries.len() {
            // Nothing counts any more, and a new log begins.
            return Ok((Log { last: Last::default(), ahead: 0, ..log }, false));
        }
        log.front = Entry::read(&log.entries[log.over]).map_or(0, |entry| entry.front()).min(log.last.total);
        log.rewrite = moved;
        Ok((log, moved))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.last.total <= self.front
    }

    pub(super) fn last_cost(&self) -> u64 {
        self.last.cost
    }

    pub(super) fn due(&self, asked: Asked<'_>) -> u64 {
        if self.over == self.entries.len() {
            return asked.now;
        }
        let due = asked.now.max(self.last.time.saturating_sub(self.ahead));
        let need = (self.last.total + asked.tokens()).saturating_sub(asked.numbers.tokens);
        let free = self.first_of(self.over, None, need);
        if free == self.over {
            return due;
        }
        let time = Entry::read(&self.entries[free - 1]).map_or(0, |entry| entry.own.time);
        due.max((time + asked.numbers.per_us).saturating_sub(self.ahead))
    }

    /// The first entry, from `low` on, that is later than `time`, and has at least `before` tokens in front of it. As the script
    /// looks for it, so that both find the same among entries that nobody understands.
    fn first_of(&self, mut low: usize, time: Option<u64>, before: u64) -> usize {
        let is_it = |at: usize| {
            Entry::read(&self.entries[at])
                .is_some_and(|entry| time.is_none_or(|time| entry.own.time > time) && entry.front() >= before)
        };
        let (mut step, mut high) = (1, low);
        while high < self.entries.len() && !is_it(high) {
            (low, high, step) = (high + 1, high + step, step * 2);
        }
        high = high.min(self.entries.len());
        while low < high {
            let middle = (low + high) / 2;
            if is_it(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }

    pub(super) fn charge(&mut self, asked: Asked<'_>, at: u64) {
        self.entries.drain(..self.over);
        self.over = 0;
        self.entries.push_back(String::new());
        let total = self.last.total + asked.cost;
        self.last = Last { time: at + self.ahead, total, cost: asked.cost };
        self.rewrite = true;
    }

    pub(super) fn take_back(&mut self, asked: Asked<'_>) {
        let mut rest = asked.cost;
        while rest > 0 && !self.is_empty() {
            if self.last.cost > rest {
                self.last.total -= rest;
                self.last.cost -= rest;
                rest = 0;
            } else {
                rest -= self.last.cost;
                self.entries.pop_back();
                self.last = self.entries.back().and_then(|text| begins(text)).unwrap_or_default();
            }
            self.rewrite = true;
        }
    }

    /// Its last entry; what was before a charge is in the entries before.
    pub(super) fn place(&self) -> Standing {
        [self.last.time, self.last.total, self.ahead]
    }

    /// For how long it matters; `None` when nothing is left of it.
    pub(super) fn ahead(&self, asked: Asked<'_>) -> Option<u64> {
        let end = self.last.time + asked.numbers.per_us;
        (!self.is_empty()).then(|| end.saturating_sub(asked.now + self.ahead))
    }

    /// The last entry is to be written, whatever has changed.
    pub(super) fn rewrite(&mut self) {
        self.rewrite = true;
    }

    /// As they are to be stored, with a mark behind the last. None when nothing counts any more.
    pub(super) fn entries(mut self, asked: Asked<'_>, moved: bool, mark: &str) -> VecDeque<String> {
        if self.is_empty() {
            return if mark.is_empty() { VecDeque::new() } else { [mark.to_owned()].into() };
        }
        let Last { time, total, cost } = self.last;
        if let Some(last) = self.entries.back_mut().filter(|_| self.rewrite || moved) {
            *last = format!("{time} {total} {cost}");
            if self.ahead > 0 || time != asked.now {
                *last = format!("{last} {} {}", asked.now + self.ahead, self.ahead);
            }
            last.push_str(mark);
        }
        self.entries
    }

    pub(super) fn standing(&self, asked: Asked<'_>) -> Standing {
        let end = (self.last.time + asked.numbers.per_us).saturating_sub(self.ahead);
        [self.last.total.saturating_sub(self.front), end.max(asked.now), self.last.total]
    }
}

/// The numbers that an entry begins with, whatever is behind them.
fn begins(text: &str) -> Option<Last> {
    let mut words = text.splitn(3, ' ');
    let (time, total, rest) = (number(words.next()?)?, number(words.next()?)?, words.next()?);
    let cost = rest.split(|other: char| !other.is_ascii_digit()).next()?;
    Some(Last { time, total, cost: number(cost)? })
}
