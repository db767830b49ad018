use std::time::Duration;

use super::{BLOCK, LimitState};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, Text, WrongType, wire};
use crate::time::ServerTime;

/// Refuses everything for so many ms; 0 ends that. See `block.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    ms: u64,
}

impl Block {
    /// A part of a millisecond counts as one.
    pub(crate) fn new(length: Duration) -> Block {
        Block { ms: u64::try_from(length.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX) }
    }
}

impl Step for Block {
    type State = LimitState;
    type Reply = ();

    const OP: &'static str = "block";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<(), WrongType> {
        let text = || Text { value: "1".to_owned(), deadline: Some(now.millis() + self.ms) };
        state.block = (self.ms > 0).then(text);
        Ok(())
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("block.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.join(name.companion_parts(BLOCK));
        call.args.number(self.ms);
    }

    fn decode(reply: Reply) -> Result<(), Malformed> {
        wire::int(Some(&reply)).map(drop)
    }
}
