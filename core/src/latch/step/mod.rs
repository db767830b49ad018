//! The latch's state on the server and its transitions, one file each.

mod count_down;
mod delete;
mod look;
mod set_count;

use std::mem::swap;

pub(crate) use count_down::CountDown;
pub(crate) use delete::Delete;
pub(crate) use look::Look;
pub(crate) use set_count::SetCount;

use crate::name::ObjectName;
use crate::step::{Call, Expires, MainKey, Once, Remembered, SharedKeys, State, WrongType};
use crate::time::ServerTime;

/// The kind of key of the requests that were carried out.
pub(crate) const DONE: &str = "dlock_latch_done";

/// What the channel's name begins with (Redisson's RCountDownLatch, which always puts braces around the name).
const CHANNEL: [&str; 2] = ["redisson_countdownlatch__channel__{", "}"];

/// What is said there when a latch opens; Redisson expects exactly this.
pub(super) const OPEN: &str = "0";

/// What is said there when a latch gets a count, or is removed.
const CLOSED: &str = "1";

/// The largest count: beyond 2^53 a number of Lua is not exact.
pub(crate) const MAX_COUNT: u64 = (1 << 53) - 1;

/// Where it is announced that the latch opens.
pub(crate) fn channel(name: &ObjectName) -> String {
    [CHANNEL[0], name.as_str(), CHANNEL[1]].concat()
}

/// A script of these parts, behind what all scripts of latches have in front.
macro_rules! with_count {
    ($file:literal) => {
        concat!($crate::step::once_lua!(), include_str!("count.lua"), include_str!("say.lua"), include_str!($file))
    };
}
use with_count;

/// Adds the keys, the request, perhaps a number, and the channel.
fn encode(name: &ObjectName, (once, attempt): (&Once, crate::step::Attempt), number: Option<u64>, call: &mut Call) {
    Remembered::add_keys(name, DONE, call);
    once.encode(attempt, call);
    number.into_iter().for_each(|number| call.args.number(number));
    call.args.join([CHANNEL[0], name.as_str(), CHANNEL[1]]);
}

/// The keys of a latch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct LatchState {
    /// The count. Only others give it an end.
    pub(crate) main: MainKey,
    pub(crate) done: Remembered,
}

impl LatchState {
    /// The count, 0 when the latch is open.
    fn count(&self) -> Result<u64, WrongType> {
        let Some(text) = self.main.text()? else { return Ok(0) };
        let number = text.parse::<i64>().ok().filter(|number| number.unsigned_abs() <= MAX_COUNT);
        // As Redis writes numbers: not +7, 007 or -0.
        let number = number.filter(|number| number.to_string() == text).ok_or(WrongType)?;
        Ok(u64::try_from(number).unwrap_or(0))
    }
}

impl Expires for LatchState {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.main.expire(now) & self.done.expire(now)
    }
}

impl State for LatchState {
    const ACCESS: &'static str = "~<name> ~dlock_latch_done:* &redisson_countdownlatch__channel__* \
        +eval +evalsha +time +ping +info +subscribe +unsubscribe +publish \
        +get +set +del +decrby +pexpire +pttl +zadd +zrange +zrem +zscore";

    fn main_key(name: &ObjectName) -> String {
        name.as_str().to_owned()
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        swap(&mut self.main, &mut keys.main);
    }
}
