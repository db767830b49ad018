//! The state of a Bloom filter on the server and its transitions, one file each.

mod add;
mod clear;
mod contains;
mod look;

use std::mem::swap;

pub(crate) use add::Add;
pub(crate) use clear::Clear;
pub(crate) use contains::Contains;
pub(crate) use look::Look;

use super::Sizing;
use crate::name::ObjectName;
use crate::step::keys::{Fields, MainKey};
use crate::step::{Call, Expires, Malformed, Remembered, Reply, SharedKeys, State, WrongType, wire};
use crate::time::ServerTime;

/// What stands behind the name in the key of the configuration, as Redisson has it.
pub(crate) const CONFIG: &str = "config";

/// The fields of the configuration: size and hashes, which have to be the same, and for how many items with which rate.
pub(super) const FIELDS: [&str; 4] = ["size", "hashIterations", "expectedInsertions", "falseProbability"];

/// The kind of key of the requests to clear that were carried out.
pub(crate) const DONE: &str = "dlock_bloom_done";

/// A script of this file, behind what all scripts have in front that need the caller's configuration.
macro_rules! with_config {
    ($file:literal) => {
        concat!(include_str!("config.lua"), include_str!($file))
    };
}
use with_config;

/// The configuration on the server, as far as it is numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) size: Option<u64>,
    pub(crate) hashes: Option<u64>,
    pub(crate) expected: Option<u64>,
    pub(crate) rate: Option<f64>,
}

/// What a step has done, unless the filter on the server has another configuration.
pub(crate) type Answer<T> = Result<T, Found>;

impl Found {
    fn of_texts([size, hashes, expected, rate]: [Option<&str>; 4]) -> Found {
        let number = |text: Option<&str>| text.and_then(|text| text.parse().ok());
        let rate = rate.and_then(|text| text.parse().ok()).filter(|rate: &f64| rate.is_finite());
        Found { size: number(size), hashes: number(hashes), expected: number(expected), rate }
    }

    fn decode(items: &[Reply]) -> Result<Found, Malformed> {
        let mut texts = [const { None }; 4];
        for (at, text) in texts.iter_mut().enumerate() {
            *text = wire::text(items.get(at))?;
        }
        Ok(Found::of_texts(texts.each_ref().map(Option::as_deref)))
    }
}

/// A digit for each item, or another configuration.
fn decode_answers(reply: Reply) -> Result<Answer<Vec<bool>>, Malformed> {
    match reply {
        Reply::Bytes(digits) => {
            let digit = |digit: u8| match digit {
                b'0' => Ok(false),
                b'1' => Ok(true),
                _ => Err(Malformed),
            };
            Ok(Ok(digits.into_iter().map(digit).collect::<Result<_, _>>()?))
        }
        other => Ok(Err(Found::decode(&wire::list(other)?)?)),
    }
}

/// The keys and the configuration.
fn encode(name: &ObjectName, sizing: &Sizing, call: &mut Call) {
    call.keys.push(name.as_str());
    call.keys.join(name.suffixed_parts(CONFIG));
    call.args.number(sizing.size());
    call.args.number(sizing.hashes().into());
}

/// Bits of items.
fn encode_bits(bits: &[u32], call: &mut Call) {
    bits.iter().for_each(|bit| call.args.number((*bit).into()));
}

/// The keys of a Bloom filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct BloomState {
    /// The bits.
    pub(crate) main: MainKey,
    pub(crate) config: MainKey,
    pub(crate) done: Remembered,
}

impl BloomState {
    /// The configuration's fields; `None` when there is no filter.
    fn config(&self) -> Result<Option<&Fields>, WrongType> {
        let fields = self.config.fields()?;
        let has = |field: &str| fields.is_some_and(|fields| fields.contains_key(field));
        match (has(FIELDS[0]), has(FIELDS[1])) {
            (true, true) => Ok(fields),
            (false, false) if !self.config.is_there() && !self.main.is_there() => Ok(None),
            _ => Err(WrongType),
        }
    }

    /// Whether there is a filter, of this configuration. As `config.lua`.
    fn is_there(&self, sizing: &Sizing) -> Result<Answer<bool>, WrongType> {
        let Some(fields) = self.config()? else { return Ok(Ok(false)) };
        let texts = FIELDS.map(|field| fields.get(field).map(String::as_str));
        let same = texts[..2] == [Some(&*sizing.size().to_string()), Some(&*sizing.hashes().to_string())];
        Ok(if same { Ok(true) } else { Err(Found::of_texts(texts)) })
    }
}

impl Expires for BloomState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.main.expire(now) & self.config.expire(now) & self.done.expire(now)
    }
}

impl State for BloomState {
    const ACCESS: &'static str = "~<name> ~*:config ~dlock_bloom_done:* +eval +evalsha +time +ping +info \
        +bitcount +bitfield +del +exists +getbit +hmget +hset +pexpire +pttl +type +zadd +zrange +zrem +zscore";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
    }
}
