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

use super::super::rate::Algorithm;
use super::super::tat::Span;
use super::Standing;
use super::numbers::Numbers;
use crate::step::keys::{Key, Value};
use crate::step::{MainKey, WrongType};
use crate::time::ServerTime;

/// The longest that anything may lie ahead of the present, in us.
const LONGEST: u64 = super::super::rate::LONGEST_US;

/// Where a rate stands at an instant.
#[derive(Clone, Debug)]
pub(super) enum Held {
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
    /// Reads what a key holds, with steps of the clock made good; whether there was one.
    pub(super) fn read(key: &MainKey, asked: Asked<'_>) -> Result<(Held, bool), WrongType> {
        match asked.numbers.algorithm {
            Algorithm::Gcra => Bucket::read(key, asked).map(|(held, moved)| (Held::Gcra(held), moved)),
            Algorithm::FixedWindow | Algorithm::AlignedWindow => {
                Window::read(key, asked).map(|(held, moved)| (Held::Window(held), moved))
            }
            Algorithm::SlidingCounter => Counter::read(key, asked).map(|(held, moved)| (Held::Counter(held), moved)),
            Algorithm::SlidingLog => Log::read(key, asked).map(|(held, moved)| (Held::Log(held), moved)),
            Algorithm::Redisson { .. } => unreachable!("its limiters have steps of their own"),
        }
    }

    /// When there are the tokens that are asked for.
    pub(super) fn due(&self, asked: Asked<'_>) -> u64 {
        match self {
            Held::Gcra(bucket) => bucket.due(asked),
            Held::Window(window) => window.due(asked),
            Held::Counter(counter) => counter.due(asked),
            Held::Log(log) => log.due(asked),
        }
    }

    /// Takes the tokens, for use at `at`.
    pub(super) fn charge(&mut self, asked: Asked<'_>, at: u64) {
        match self {
            Held::Gcra(bucket) => bucket.charge(asked, at),
            Held::Window(window) => window.charge(asked, at),
            Held::Counter(counter) => counter.charge(asked, at),
            Held::Log(log) => log.charge(asked, at),
        }
    }

    /// As if the last so many tokens had not been taken.
    pub(super) fn take_back(&mut self, asked: Asked<'_>) {
        match self {
            Held::Gcra(bucket) => bucket.take_back(asked),
            Held::Window(window) => window.take_back(asked),
            Held::Counter(counter) => counter.take_back(asked),
            Held::Log(log) => log.take_back(asked),
        }
    }

    pub(super) fn store(self, key: &mut MainKey, asked: Asked<'_>, now: ServerTime) {
        // The deadline of a key that lives for so many us: whole ms, rounded up, and one more.
        let for_us = |ahead: u64| Some(now.millis() + ahead.div_ceil(1_000) + 1);
        match self {
            Held::Gcra(bucket) => {
                let ahead = bucket.tat.us + u64::from(bucket.tat.part > 0) - asked.now;
                *key = MainKey::of_text(bucket.text(asked), for_us(ahead));
            }
            Held::Window(window) => *key = MainKey::of_text(window.text(asked), for_us(window.ahead(asked))),
            Held::Counter(counter) => {
                let fields = counter.fields(asked);
                let fields = fields.each_ref().map(|(field, text)| (*field, text.as_str()));
                *key = MainKey::of_fields(fields, for_us(counter.ahead(asked)));
            }
            Held::Log(log) => match log.ahead(asked) {
                Some(ahead) => {
                    *key = MainKey(Some(Key { value: Value::List(log.entries(asked)), deadline: for_us(ahead) }))
                }
                None => log.leave(key),
            },
        }
    }

    /// The three numbers of the reply.
    pub(super) fn standing(&self, asked: Asked<'_>) -> Standing {
        match self {
            Held::Gcra(bucket) => [bucket.tat.us, bucket.tat.part, 0],
            Held::Window(window) => [window.start, window.taken, 0],
            Held::Counter(counter) => [counter.start, counter.before, counter.taken],
            Held::Log(log) => log.standing(asked),
        }
    }

    /// Whether nothing is left of the charge after which it stood so, and whether nothing was charged since.
    pub(super) fn since(&self, asked: Asked<'_>, then: Standing) -> (bool, bool) {
        match self {
            Held::Gcra(bucket) => {
                let Numbers { cost, tokens, .. } = *asked.numbers;
                let then = Span { us: then[0], part: then[1] };
                let ahead = then >= Span { us: asked.now, part: 0 }.plus(cost, tokens);
                (bucket.tat < then, bucket.tat == then && ahead)
            }
            Held::Window(window) => (window.taken == 0, [window.start, window.taken] == then[..2]),
            Held::Counter(counter) => (counter.taken == 0, self.standing(asked) == then),
            Held::Log(log) => (log.is_empty(), log.standing(asked)[1..] == then[1..] && log.last_cost() == asked.cost),
        }
    }
}

/// Reads what the key of a limiter by GCRA holds; whether a step of the clock was made good.
pub(super) fn bucket(key: &MainKey, asked: Asked<'_>) -> Result<(Bucket, bool), WrongType> {
    Bucket::read(key, asked)
}

/// Up to where a bucket has tokens now.
pub(super) fn top(asked: Asked<'_>) -> Span {
    gcra::top(asked)
}

/// How a rate stands, in plain words: how many tokens could be had at once at `at`, and how many us later it is as if none had
/// been taken.
pub(in crate::limit) fn outlook(rate: &super::super::rate::Rate, standing: Standing, at: u64) -> (u64, u64) {
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
