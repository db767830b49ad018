use super::LockState;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Frees the lock if `owner` holds it, and tells nobody; whether it was held. See `undo.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    pub(crate) owner: String,
}

impl Step for Undo {
    type State = LockState;
    type Reply = bool;

    const OP: &'static str = "release";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        let held = state.main.fields()?.is_some_and(|owners| owners.contains_key(&self.owner));
        if held {
            state.main.delete();
        }
        Ok(held)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("undo.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.args.push(&self.owner);
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
