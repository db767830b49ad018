use super::{Answer, BloomState, Found, encode, with_config};
use crate::bloom::Sizing;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Counts the bits that are set; 0 when there is no filter. See `look.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) sizing: Sizing,
}

impl Step for Look {
    type State = BloomState;
    type Reply = Answer<u64>;

    const OP: &'static str = "look at bloom filter";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut BloomState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Answer<u64>, WrongType> {
        if let Err(found) = state.is_there(&self.sizing)? {
            return Ok(Err(found));
        }
        Ok(Ok(state.main.bits()?.map_or(0, |bits| bits.ones())))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_config!("look.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        encode(name, &self.sizing, call);
    }

    fn decode(reply: Reply) -> Result<Answer<u64>, Malformed> {
        match reply {
            Reply::List(items) => Ok(Err(Found::decode(&items)?)),
            number => Ok(Ok(wire::unsigned(Some(&number))?)),
        }
    }
}
