//! The step: one atomic transition of one object's state, defined once with two bodies.
//!
//! `apply` is the executable specification, plain Rust on a plain struct; `memory://` runs it under a mutex. The script
//! does the same next to the data, in Redisson's layout. A property test drives both with the same random sequences
//! under a frozen clock and compares replies, notifications and state (`model.rs`, and each primitive's `model_test.rs`).

pub(crate) mod bits;
pub(crate) mod keys;
#[cfg(test)]
pub(crate) mod model;
mod once;
mod script;
pub(crate) mod wire;

use std::any::Any;

pub(crate) use keys::{MainKey, SharedKeys, Text};
pub(crate) use once::{Carried, Once, REMEMBERED, Remembered, once_lua};
pub(crate) use script::{Call, PubSub, Script, Words};
pub(crate) use wire::Reply;

use crate::name::ObjectName;
use crate::time::ServerTime;

/// What is true of one attempt to run a step, as opposed to the step itself: a retry is a new attempt.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attempt {
    /// After this time on the server's clock the attempt must not take effect: its bytes were stuck on a dead
    /// connection, and the caller has long gone on.
    pub(crate) not_after: ServerTime,
}

/// A message for those who wait, as `apply` sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) channel: String,
    pub(crate) payload: String,
}

/// The messages of a step, and who would hear them.
pub(crate) struct Outbox<'a> {
    notices: Vec<Notice>,
    hears: &'a dyn Fn(&str) -> bool,
}

impl<'a> Outbox<'a> {
    /// `hears`: whether anybody listens on a channel.
    pub(crate) fn new(hears: &'a dyn Fn(&str) -> bool) -> Outbox<'a> {
        Outbox { notices: Vec::new(), hears }
    }

    /// Publishes; whether anybody listens. What nobody hears is not kept.
    pub(crate) fn publish(&mut self, channel: String, payload: String) -> bool {
        let heard = (self.hears)(&channel);
        if heard {
            self.notices.push(Notice { channel, payload });
        }
        heard
    }

    pub(crate) fn into_notices(self) -> Vec<Notice> {
        self.notices
    }
}

/// The keys hold something that is not this kind of object; nothing was changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongType;

/// The server's reply is not what the step's script returns.
#[derive(Debug)]
pub(crate) struct Malformed;

/// The state of one object, of whatever kind: all that the memory backend knows of what only that kind has.
pub(crate) trait Expires: Any + Send {
    /// Drops what has expired; true when nothing is left.
    fn expire(&mut self, now: ServerTime) -> bool;
}

/// The state of one kind of object.
pub(crate) trait State: Expires + Default + Clone {
    /// The access rules that a user of the server needs for objects of this kind, as ACL SETUSER takes them.
    const ACCESS: &'static str;

    /// Whether objects of this kind can be had of several independent servers, of which a majority grants them.
    const AT_SEVERAL: bool = false;

    /// The key that makes an object of this kind of this name be there; two kinds may share it.
    fn main_key(name: &ObjectName) -> String;

    /// Exchanges those of the object's keys that other kinds have with `keys`. Done twice, it changes nothing.
    fn exchange(&mut self, keys: &mut SharedKeys);
}

/// The channels among the [`State::ACCESS`] rules.
pub(crate) fn channels<S: State>() -> String {
    let channels: Vec<_> = S::ACCESS.split_whitespace().filter(|rule| rule.starts_with('&')).collect();
    channels.join(" ")
}

/// One atomic transition of one object.
pub(crate) trait Step: Clone + Send + Sync + 'static {
    type State: State;
    type Reply: Send + std::fmt::Debug + 'static;

    /// The operation's name in errors.
    const OP: &'static str;

    /// Whether sending it twice does no more than sending it once, so that a lost reply may be answered by a retry.
    const IDEMPOTENT: bool;

    /// Whether it only reads: then a lost reply leaves nothing unknown.
    const READS: bool = false;

    /// The specification. `state` has been expired to `now`.
    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut Self::State,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Self::Reply, WrongType>;

    fn script() -> &'static Script;

    /// Adds this step on `name` to a script call.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call);

    fn decode(reply: Reply) -> Result<Self::Reply, Malformed>;

    /// The server's time, when the reply carries it.
    fn server_time(_reply: &Self::Reply) -> Option<ServerTime> {
        None
    }
}

/// A step whose script takes any number of objects and answers with one reply each, in order.
pub(crate) trait BatchStep: Step {
    /// The most objects one script call should carry: a longer one would hold the server up.
    const CHUNK: usize;

    /// What the script answers for an object whose key holds something else: the others get their answers all the same.
    fn wrong_type(now: ServerTime) -> Self::Reply;

    fn decode_each(reply: Reply) -> Result<Vec<Self::Reply>, Malformed>;
}

/// A batch step that changes all of its objects or none of them.
pub(crate) trait JointStep: BatchStep {
    /// The specification for all of them, instead of [`Step::apply`] for each.
    fn apply_jointly(
        items: &[(ObjectName, Self)],
        attempt: Attempt,
        states: &mut [Self::State],
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Vec<Self::Reply>;
}

/// One kind of step over many names.
pub(crate) struct Batch<S> {
    pub(crate) items: Vec<(ObjectName, S)>,
}
