//! The limiter's state on the server and its transitions, one file each; how each algorithm counts is in `algorithm`.

mod algorithm;
mod block;
mod fetch;
mod give_back;
mod judge;
mod numbers;
mod put_back;
mod reset;
mod reward;

use std::collections::BTreeMap;
use std::mem::swap;

use smallvec::SmallVec;

pub(super) use algorithm::{outlook, soonest};
pub(crate) use block::Block;
pub(crate) use fetch::{Fetch, Fetched, Wanted};
pub(crate) use give_back::GiveBack;
pub(crate) use judge::{Judge, Judged};
pub(crate) use put_back::PutBack;
pub(crate) use reset::Reset;
pub(crate) use reward::Reward;

use super::rates::Rates;
use crate::name::ObjectName;
use crate::step::{Call, Expires, MainKey, SharedKeys, State};
use crate::time::ServerTime;

/// The kind of key of a limiter with one rate. One with several has a key for each, of this kind, `_` and the period in us.
const KIND: &str = "dlock_limit";

/// Of each rate the three numbers that say how it stands, see the scripts.
pub(crate) type Standing = [u64; 3];

/// How each rate stood before a charge, and how that left it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stood {
    pub(crate) before: SmallVec<[Standing; 1]>,
    pub(crate) after: SmallVec<[Standing; 1]>,
}

/// A script of what all of them share, the algorithms, and these parts.
macro_rules! lua {
    ($($part:literal),+) => {
        concat!(
            include_str!("begin.lua"),
            include_str!("algorithm/gcra.lua"),
            include_str!("algorithm/window.lua"),
            include_str!("algorithm/counter.lua"),
            include_str!("algorithm/log.lua"),
            $(include_str!(concat!($part, ".lua"))),+
        )
    };
}
use lua;

/// The keys of a limiter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LimitState {
    /// What a limiter with one rate has counted.
    pub(crate) main: MainKey,
    /// What one with several has, by their periods in us.
    pub(crate) each: BTreeMap<u64, MainKey>,
}

impl LimitState {
    /// The key of the `at`-th of these rates.
    fn key(&mut self, rates: &Rates, at: usize) -> &mut MainKey {
        match rates.len() {
            1 => &mut self.main,
            _ => self.each.entry(rates[at].per_us()).or_default(),
        }
    }
}

/// The keys of a limiter with these rates, one of each.
fn push_keys(name: &ObjectName, rates: &Rates, call: &mut Call) {
    match &**rates {
        [_] => call.keys.join(name.companion_parts(KIND)),
        rates => rates.iter().for_each(|rate| call.keys.push(&name.companion(&format!("{KIND}_{}", rate.per_us())))),
    }
}

impl Expires for LimitState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.each.retain(|_, key| !key.expire(now));
        self.main.expire(now) && self.each.is_empty()
    }
}

impl State for LimitState {
    const ACCESS: &'static str = "~dlock_limit:* ~dlock_limit_*:* +eval +evalsha +time +ping +info +get +set +del +exists +type \
        +pexpire +lindex +llen +lset +ltrim +rpop +rpush";

    fn main_key(name: &ObjectName) -> String {
        name.companion(KIND)
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
    }
}
