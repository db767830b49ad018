//! The step: one atomic transition of one object's state, defined once with two bodies.
//!
//! `apply` is the executable specification, plain Rust on a plain struct; `memory://` runs it under a mutex. The script
//! does the same next to the data, in Redisson's layout. A property test drives both with the same random sequences
//! under a frozen clock and compares replies, notifications and state (`lock/model_test.rs`).

use std::sync::OnceLock;

use redis::Value;

use crate::name::ObjectName;
use crate::time::ServerTime;

/// A script: its text in `lua/`, and its SHA-1, by which the server knows it.
pub(crate) struct Script {
    text: &'static str,
    sha1: OnceLock<String>,
}

impl Script {
    pub(crate) const fn new(text: &'static str) -> Script {
        Script { text, sha1: OnceLock::new() }
    }

    pub(crate) fn text(&self) -> &'static str {
        self.text
    }

    pub(crate) fn sha1(&self) -> &str {
        self.sha1.get_or_init(|| sha1_smol::Sha1::from(self.text).digest().to_string())
    }
}

/// Keys and arguments of one script call.
#[derive(Default, Debug)]
pub(crate) struct Call {
    pub(crate) keys: Vec<String>,
    pub(crate) args: Vec<String>,
}

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
    pub(crate) payload: &'static str,
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

/// Reads replies apart.
pub(crate) mod wire {
    use super::{Malformed, Value};

    pub(crate) fn array(value: Value) -> Result<Vec<Value>, Malformed> {
        match value {
            Value::Array(items) => Ok(items),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn int(value: Option<&Value>) -> Result<i64, Malformed> {
        match value {
            Some(Value::Int(number)) => Ok(*number),
            _ => Err(Malformed),
        }
    }

    pub(crate) fn unsigned(value: Option<&Value>) -> Result<u64, Malformed> {
        u64::try_from(int(value)?).map_err(|_| Malformed)
    }

    /// A string or nil. Bytes that are not UTF-8 (a foreign owner's) are shown with replacement characters.
    pub(crate) fn text(value: Option<&Value>) -> Result<Option<String>, Malformed> {
        match value {
            Some(Value::BulkString(bytes)) => Ok(Some(String::from_utf8_lossy(bytes).into_owned())),
            Some(Value::SimpleString(text)) => Ok(Some(text.clone())),
            Some(Value::Nil) => Ok(None),
            _ => Err(Malformed),
        }
    }
}
