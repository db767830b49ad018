use super::LatchState;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Looks at a latch. See `look.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Look;

/// What a look has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looked {
    pub(crate) now: ServerTime,
    /// 0 when the latch is open.
    pub(crate) count: u64,
}

impl Step for Look {
    type State = LatchState;
    type Reply = Looked;

    const OP: &'static str = "look at latch";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LatchState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Looked, WrongType> {
        Ok(Looked { now, count: state.count()? })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(include_str!("count.lua"), include_str!("look.lua")));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
    }

    fn decode(reply: Reply) -> Result<Looked, Malformed> {
        let items = wire::list(reply)?;
        Ok(Looked { now: wire::time(items.first())?, count: wire::unsigned(items.get(1))? })
    }

    fn server_time(reply: &Looked) -> Option<ServerTime> {
        Some(reply.now)
    }
}
