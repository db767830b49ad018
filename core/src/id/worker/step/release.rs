use super::{WorkerState, add_keys, with_pool};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives a number back; false when it was not held. See `release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) owner: String,
    /// The last ms of Unix time that its holder has used; 0 when that is not known.
    pub(crate) used_ms: u64,
}

impl Step for Release {
    type State = WorkerState;
    type Reply = bool;

    const OP: &'static str = "release";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut WorkerState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        let Some(number) = state.number(&self.owner)? else { return Ok(false) };
        let used = state.number(&number.to_string()).ok().flatten();
        state.forget(&self.owner);
        state.set_free(number);
        if self.used_ms > 0 && used.is_some_and(|used| self.used_ms < used) {
            state.set([(number.to_string(), self.used_ms)]);
        }
        state.keep(now, 0);
        Ok(true)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_pool!("release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(&self.owner);
        call.args.number(self.used_ms);
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
