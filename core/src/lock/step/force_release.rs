use redis::Value;

use super::{LockState, announce, channel};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Notice, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Frees the lock whoever holds it; true when somebody did. See `lua/lock_force_release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct ForceRelease;

impl Step for ForceRelease {
    type State = LockState;
    type Reply = bool;

    const OP: &'static str = "force release";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        _now: ServerTime,
        notices: &mut Vec<Notice>,
    ) -> Result<bool, WrongType> {
        let held = state.hash.take().is_some();
        if held {
            announce(name, notices);
        }
        Ok(held)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("../../lua/lock_force_release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str().to_owned());
        call.args.push(channel(name));
    }

    fn decode(value: Value) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&value))? == 1)
    }
}
