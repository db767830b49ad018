//! The keys of a limiter of Redisson; `hash.lua` and `acquire.lua` read the same next to the data.

use std::collections::BTreeMap;
use std::mem::swap;

use crate::limit::redisson::log::Log;
use crate::limit::redisson::terms::Terms;
use crate::name::ObjectName;
use crate::step::keys::expire_text;
use crate::step::{Expires, MainKey, SharedKeys, State, Text, WrongType};
use crate::time::ServerTime;

/// The most digits of a number that a double of Lua holds exactly.
const MOST_DIGITS: usize = 15;

/// The keys of a limiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RedissonState {
    /// A hash: `rate`, `interval`, `type`, `keepAliveTime`.
    pub(crate) main: MainKey,
    /// By the id of their client; of no client those that all have together.
    pub(crate) buckets: BTreeMap<String, Bucket>,
}

/// What is available, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bucket {
    /// How many permits are available.
    pub(crate) value: Option<Text>,
    /// What was acquired.
    pub(crate) log: Log,
}

impl Expires for Bucket {
    fn expire(&mut self, now: ServerTime) -> bool {
        expire_text(&mut self.value, now) & self.log.expire(now)
    }
}

impl Expires for RedissonState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.buckets.retain(|_, bucket| !bucket.expire(now));
        self.main.expire(now) && self.buckets.is_empty()
    }
}

impl State for RedissonState {
    const ACCESS: &'static str = "~<name> ~*:value ~*:permits ~*:value:* ~*:permits:* +eval +evalsha +time +ping +info \
        +get +set +exists +unlink +pexpire +pttl +hmget +hset +zadd +zcard +zcount +zrange +zrangebyscore +zremrangebyrank";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
    }
}

impl RedissonState {
    /// What the hash says, and its `keepAliveTime` in ms; `None` without a hash. One in which a field is missing, other than the
    /// last, which is younger, belongs to something else.
    pub(super) fn terms(&self) -> Result<Option<(Terms, u64)>, WrongType> {
        let Some(fields) = self.main.fields()? else { return Ok(None) };
        let number = |field: &str| fields.get(field).and_then(|text| number(text)).ok_or(WrongType);
        let per_client = match fields.get("type").map(String::as_str) {
            Some("0") => false,
            Some("1") => true,
            _ => return Err(WrongType),
        };
        let keep_alive_ms = if fields.contains_key("keepAliveTime") { number("keepAliveTime")? } else { 0 };
        Ok(Some((Terms { permits: number("rate")?, interval_ms: number("interval")?, per_client }, keep_alive_ms)))
    }
}

impl Bucket {
    /// The number of available permits as it is stored.
    pub(super) fn available(&self) -> Result<Option<i64>, WrongType> {
        let read = |text: &Text| {
            let digits = text.value.strip_prefix('-').unwrap_or(&text.value);
            let number = number(digits).ok_or(WrongType)? as i64;
            Ok(if digits.len() < text.value.len() { -number } else { number })
        };
        self.value.as_ref().map(read).transpose()
    }

    /// SET KEEPTTL.
    pub(super) fn set_available(&mut self, available: i64) {
        let deadline = self.value.as_ref().and_then(|value| value.deadline);
        self.value = Some(Text { value: available.to_string(), deadline });
    }

    /// PEXPIREAT of both keys.
    pub(super) fn end_at(&mut self, deadline: u64) {
        self.value.iter_mut().for_each(|value| value.deadline = Some(deadline));
        self.log.end_at(deadline);
    }
}

fn number(digits: &str) -> Option<u64> {
    let is_number = (1..=MOST_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}
