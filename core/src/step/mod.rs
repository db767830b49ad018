//! The step: one atomic transition of one object's state, defined once with two bodies.
//!
//! `apply` is the executable specification, plain Rust on a plain struct; `memory://` runs it under a mutex. The script
//! does the same next to the data, in Redisson's layout. A property test drives both with the same random sequences
//! under a frozen clock and compares replies, notifications and state (`model.rs`, and each primitive's `model_test.rs`).

#[cfg(test)]
pub(crate) mod model;
mod script;
pub(crate) mod wire;

use redis::Value;

pub(crate) use script::{Call, Script, Words};

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

/// The keys hold something that is not this kind of object; nothing was changed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongType;

/// The server's reply is not what the step's script returns.
#[derive(Debug)]
pub(crate) struct Malformed;

/// The state of one object, as the memory backend keeps it.
pub(crate) trait State: Default + Clone + Send + 'static {
    /// Drops what has expired; true when nothing is left.
    fn expire(&mut self, now: ServerTime) -> bool;

    /// The access rules that a user of the server needs for objects of this kind, as ACL SETUSER takes them.
    const ACCESS: &'static str;

    /// The key that makes an object of this kind of this name be there; two kinds that share it exclude each other.
    fn main_key(name: &ObjectName) -> String;

    /// The place of this kind of object in the memory backend's cell.
    fn of(cell: &mut crate::backend::Cell) -> Option<&mut Self>;

    /// A new cell of this kind.
    fn into_cell(self) -> crate::backend::Cell;
}

/// One atomic transition of one object.
pub(crate) trait Step: Clone + Send + Sync + 'static {
    type State: State;
    type Reply: Send + std::fmt::Debug + 'static;

    /// The operation's name in errors.
    const OP: &'static str;

    /// Whether sending it twice does no more than sending it once, so that a lost reply may be answered by a retry.
    const IDEMPOTENT: bool;

    /// The specification. `state` has been expired to `now`.
    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut Self::State,
        now: ServerTime,
        notices: &mut Vec<Notice>,
    ) -> Result<Self::Reply, WrongType>;

    fn script() -> &'static Script;

    /// Adds this step on `name` to a script call.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call);

    fn decode(value: Value) -> Result<Self::Reply, Malformed>;

    /// The server's time, when the reply carries it.
    fn server_time(_reply: &Self::Reply) -> Option<ServerTime> {
        None
    }
}

/// A step whose script takes any number of objects and answers with one reply each, in order.
pub(crate) trait BatchStep: Step {
    /// The most objects one script call should carry: a longer one would hold the server up.
    const CHUNK: usize;

    fn decode_each(value: Value) -> Result<Vec<Self::Reply>, Malformed>;
}

/// One kind of step over many names.
pub(crate) struct Batch<S> {
    pub(crate) items: Vec<(ObjectName, S)>,
}
