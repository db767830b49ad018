use redis::Value;

use super::{LockState, QUEUE, TOKEN};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Notice, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Reads the lock without changing it. See `lua/lock_inspect.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Inspect;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspected {
    pub(crate) holder: Option<String>,
    /// ms; -1 without expiry, -2 when free.
    pub(crate) ttl: i64,
    pub(crate) token: Option<String>,
    /// How many processes wait.
    pub(crate) queued: u64,
}

impl Step for Inspect {
    type State = LockState;
    type Reply = Inspected;

    const OP: &'static str = "inspect";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        _notices: &mut Vec<Notice>,
    ) -> Result<Inspected, WrongType> {
        Ok(Inspected {
            holder: state.hash.as_ref().and_then(|hash| hash.owners.keys().next().cloned()),
            ttl: state.hash.as_ref().map_or(-2, |hash| hash.ttl(now)),
            token: state.token.as_ref().map(|token| token.value.clone()),
            queued: state.queue.line.len() as u64,
        })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("../../lua/lock_inspect.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(TOKEN));
        call.keys.join(name.companion_parts(QUEUE));
    }

    fn decode(value: Value) -> Result<Inspected, Malformed> {
        let items = wire::array(value)?;
        Ok(Inspected {
            holder: wire::text(items.first())?,
            ttl: wire::int(items.get(1))?,
            token: wire::text(items.get(2))?,
            queued: wire::unsigned(items.get(3))?,
        })
    }
}
