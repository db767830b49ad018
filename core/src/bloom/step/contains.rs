use std::sync::Arc;

use super::{Answer, BloomState, decode_answers, encode, encode_bits, with_config};
use crate::bloom::Sizing;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::ServerTime;

/// Looks for items: for each whether all of its bits are set. See `contains.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Contains {
    pub(crate) sizing: Sizing,
    /// As many of each item as there are hashes.
    pub(crate) bits: Arc<[u32]>,
}

impl Step for Contains {
    type State = BloomState;
    type Reply = Answer<Vec<bool>>;

    const OP: &'static str = "look into bloom filter";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut BloomState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Answer<Vec<bool>>, WrongType> {
        if let Err(found) = state.is_there(&self.sizing)? {
            return Ok(Err(found));
        }
        let bits = state.main.bits()?;
        let has = |bit: &u32| bits.as_ref().is_some_and(|bits| bits.has(*bit));
        let items = self.bits.chunks(self.sizing.hashes() as usize);
        Ok(Ok(items.map(|item| item.iter().all(has)).collect()))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_config!("contains.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        encode(name, &self.sizing, call);
        encode_bits(&self.bits, call);
    }

    fn decode(reply: Reply) -> Result<Answer<Vec<bool>>, Malformed> {
        decode_answers(reply)
    }
}
