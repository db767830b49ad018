//! How each algorithm counts: where a rate stands, when it has the tokens of a request, what a charge changes. The Lua parts beside
//! these files do the same on the server.

mod counter;
mod gcra;
mod log;
mod window;

use counter::Counter;
use gcra::Bucket;
use log::Log;
use window::Window;

use super::super::rate::{Algorithm, Rate};
use super::super::tat::Span;
use super::Standing;
use super::numbers::{LARGEST, Numbers};
use crate::step::keys::{Key, Value};
use crate::step::{MainKey, WrongType};
use crate::time::ServerTime;

/// The longest that anything may lie ahead of the present, in us.
const LONGEST: u64 = super::super::rate::LONGEST_US;

/// Where a rate stands at an instant.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub(super) count: Count,
    /// Until when nothing is granted, in us since 2025; 0 when it is not blocked.
    pub(super) blocked_until: u64,
    /// Whether a step of the clock has changed it.
    pub(super) moved: bool,
}

/// What an algorithm has counted.
#[derive(Clone, Debug)]
pub(super) enum Count {
    Gcra(Bucket),
    Window(Window),
    Counter(Counter),
    Log(Log),
}

/// What each call of an algorithm is told: the rate and the request in numbers, and the time, in us since 2025.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) numbers: &'a Numbers,
    pub(super) cost: u64,
    pub(super) now: u64,
}

impl Asked<'_> {
    /// The tokens that are asked for: one by a request that only looks.
    fn tokens(&self) -> u64 {
        self.cost.max(1)
    }
}

impl Held {
    /// Reads what a key holds, with steps of the clock made good.
    pub(super) fn read(key: &MainKey, asked: Asked<'_>) -> Result<Held, WrongType> {
        let is_log = asked.numbers.algorithm == Algorithm::SlidingLog;
        let text = if is_log { key.list()?.and_then(|list| list.back()).map(String::as_str) } else { key.text()? };
        let mark = text.map(|text| Mark::split(text, asked.now)).transpose()?;
        let text = mark.as_ref().and_then(|mark| mark.rest);
        let (count, moved) = match asked.numbers.algorithm {
            Algorithm::Gcra => Bucket::read(text, asked).map(|(held, moved)| (Count::Gcra(held), moved)),
            Algorithm::FixedWindow | Algorithm::AlignedWindow => {
                Window::read(text, asked).map(|(held, moved)| (Count::Window(held), moved))
            }
            Algorithm::SlidingCounter => Counter::read(text, asked).map(|(held, moved)| (Count::Counter(held), moved)),
            Algorithm::SlidingLog => {
                let entries = key.list()?.cloned().unwrap_or_default();
                Log::read(entries, text, asked).map(|(held, moved)| (Count::Log(held), moved))
            }
            Algorithm::Redisson { .. } => unreachable!("its limiters have steps of their own"),
        }?;
        let (blocked_until, block_moved) = mark.map_or((0, false), |mark| (mark.until, mark.moved));
        Ok(Held { count, blocked_until, moved: moved || block_moved })
    }

    /// When there are the tokens that are asked for.
    pub(super) fn due(&self, asked: Asked<'_>) -> u64 {
        match &self.count {
            Count::Gcra(bucket) => bucket.due(asked),
            Count::Window(window) => window.due(asked),
            Count::Counter(counter) => counter.due(asked),
            Count::Log(log) => log.due(asked),
        }
    }

    /// The bucket of a limiter by GCRA.
    pub(super) fn bucket(&mut self) -> Result<&mut Bucket, WrongType> {
        match &mut self.count {
            Count::Gcra(bucket) => Ok(bucket),
            _ => Err(WrongType),
        }
    }

    /// Takes the tokens, for use at `at`.
    pub(super) fn charge(&mut self, asked: Asked<'_>, at: u64) {
        match &mut self.count {
            Count::Gcra(bucket) => bucket.charge(asked, at),
            Count::Window(window) => window.charge(asked, at),
            Count::Counter(counter) => counter.charge(asked, at),
            Count::Log(log) => log.charge(asked, at),
        }
    }

    /// As if the last so many tokens had not been taken.
    pub(super) fn take_back(&mut self, asked: Asked<'_>) {
        match &mut self.count {
            Count::Gcra(bucket) => bucket.take_back(asked),
            Count::Window(window) => window.take_back(asked),
            Count::Counter(counter) => counter.take_back(asked),
            Count::Log(log) => log.take_back(asked),
        }
    }

    /// The three numbers with which [`Held::restore`] makes it again.
    pub(super) fn place(&self, asked: Asked<'_>) -> Standing {
        match &self.count {
            Count::Log(log) => log.place(),
            _ => self.standing(asked),
        }
    }

    /// As it stood before the last charge, which took the tokens that are asked for.
    pub(super) fn restore(&mut self, asked: Asked<'_>, before: Standing) {
        match &mut self.count {
            Count::Gcra(bucket) => bucket.restore(asked, before),
            Count::Window(window) => window.restore(asked, before),
            Count::Counter(counter) => counter.restore(asked, before),
            Count::Log(log) => log.take_back(asked),
        }
    }

    /// Refuses everything for so many us from now on.
    pub(super) fn block(&mut self, asked: Asked<'_>, us: u64) {
        self.blocked_until = asked.now + us;
        if let Count::Log(log) = &mut self.count {
            log.rewrite();
        }
    }

    pub(super) fn store(self, key: &mut MainKey, asked: Asked<'_>, now: ServerTime) {
        let blocked_us = self.blocked_until.saturating_sub(asked.now);
        let mark = if blocked_us > 0 { format!("!{}:{}", self.blocked_until, asked.now) } else { String::new() };
        // The deadline of a key that lives for so many us: whole ms, rounded up, and one more.
        let for_us = |ahead: u64| Some(now.millis() + ahead.max(blocked_us).div_ceil(1_000) + 1);
        let (text, ahead) = match self.count {
            Count::Gcra(bucket) => (bucket.text(asked), bucket.tat.us + u64::from(bucket.tat.part > 0) - asked.now),
            Count::Window(window) => (window.text(asked), window.ahead(asked)),
            Count::Counter(counter) => (counter.text(asked), counter.ahead(asked)),
            Count::Log(log) => {
                let ahead = log.ahead(asked).unwrap_or(0);
                let list = log.entries(asked, self.moved, &mark);
                let deadline = for_us(ahead);
                *key = MainKey((!list.is_empty()).then_some(Key { value: Value::List(list), deadline }));
                return;
            }
        };
        *key = MainKey::of_text(text + &mark, for_us(ahead));
    }

    /// The three numbers of the reply.
    pub(super) fn standing(&self, asked: Asked<'_>) -> Standing {
        match &self.count {
            Count::Gcra(bucket) => [bucket.tat.us, bucket.tat.part, 0],
            Count::Window(window) => [window.start, window.taken, 0],
            Count::Counter(counter) => [counter.start, counter.before, counter.taken],
            Count::Log(log) => log.standing(asked),
        }
    }

    /// Whether nothing is left of the charge after which it stood so, and whether nothing was charged since.
    pub(super) fn since(&self, asked: Asked<'_>, then: Standing) -> (bool, bool) {
        match &self.count {
            Count::Gcra(bucket) => {
                let Numbers { cost, tokens, .. } = *asked.numbers;
                let then = Span { us: then[0], part: then[1] };
                let ahead = then >= Span { us: asked.now, part: 0 }.plus(cost, tokens);
                (bucket.tat < then, bucket.tat == then && ahead)
            }
            Count::Window(window) => (window.taken == 0, [window.start, window.taken] == then[..2]),
            Count::Counter(counter) => (counter.before == 0 && counter.taken == 0, self.standing(asked) == then),
            Count::Log(log) => (log.is_empty(), log.standing(asked)[1..] == then[1..] && log.last_cost() == asked.cost),
        }
    }
}

/// What stands behind that which a key holds, while its limiter is blocked: `!until:written`.
struct Mark<'a> {
    rest: Option<&'a str>,
    until: u64,
    moved: bool,
}

impl<'a> Mark<'a> {
    fn split(text: &'a str, now: u64) -> Result<Mark<'a>, WrongType> {
        let Some((rest, times)) = text.rsplit_once('!') else {
            return Ok(Mark { rest: Some(text), until: 0, moved: false });
        };
        let number = |digits| window::number(digits).map(|number| number.min(LARGEST));
        let times = times.split_once(':').and_then(|(until, written)| Some((number(until)?, number(written)?)));
        let (until, written) = times.ok_or(WrongType)?;
        // The clock stepped back: the block is as far ahead as it was.
        let until = until.saturating_sub(written.saturating_sub(now)).min(now + LONGEST);
        Ok(Mark { rest: Some(rest).filter(|rest| !rest.is_empty()), until, moved: written > now })
    }
}

/// Up to where a bucket has tokens now.
pub(super) fn top(asked: Asked<'_>) -> Span {
    gcra::top(asked)
}

/// How a rate stands, in plain words: how many tokens could be had at once at `at`, and how many us later it is as if none had
/// been taken.
pub(in crate::limit) fn outlook(rate: &Rate, standing: Standing, at: u64) -> (u64, u64) {
    let numbers = Numbers::new(rate, 1);
    match numbers.algorithm {
        Algorithm::Gcra => gcra::outlook(rate, standing, at),
        Algorithm::FixedWindow | Algorithm::AlignedWindow => window::outlook(&numbers, standing, at),
        Algorithm::SlidingCounter => counter::outlook(&numbers, standing, at),
        // What stands on a limiter of Redisson is told by a step of its own.
        Algorithm::SlidingLog | Algorithm::Redisson { .. } => {
            (numbers.tokens.saturating_sub(standing[0]), standing[1].saturating_sub(at))
        }
    }
}

/// Time in us from `at`, for which the last charge was made, until the last of `tokens` more can come.
pub(in crate::limit) fn soonest(rate: &Rate, standing: Standing, at: u64, tokens: u64) -> u64 {
    let periods = |whole: u64| rate.per_us().saturating_mul(whole);
    match rate.algorithm() {
        Algorithm::Gcra => gcra::soonest(rate, standing, at, tokens),
        Algorithm::FixedWindow | Algorithm::AlignedWindow => {
            let (remaining, left) = outlook(rate, standing, at);
            let windows = tokens.saturating_sub(remaining).div_ceil(rate.limit().max(1));
            windows.checked_sub(1).map_or(0, |more| left.saturating_add(periods(more)))
        }
        // The charge itself is one in the period that follows it.
        Algorithm::SlidingLog => periods(tokens / rate.limit().max(1)),
        // It may lie in the middle of a window, and later ones at the beginning of theirs.
        Algorithm::SlidingCounter | Algorithm::Redisson { .. } => {
            periods((tokens / rate.limit().max(1)).saturating_sub(1))
        }
    }
}
