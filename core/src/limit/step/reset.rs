use super::{KIND, LimitState};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Fills the bucket; true when it was not full. See `reset.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Reset;

impl Step for Reset {
    type State = LimitState;
    type Reply = bool;

    const OP: &'static str = "reset rate limit";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        state.main.text()?;
        Ok(std::mem::take(state).main.is_there())
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("reset.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.join(name.companion_parts(KIND));
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
