use std::sync::Arc;

use super::{Answer, BloomState, FIELDS, decode_answers, encode, encode_bits, with_config};
use crate::bloom::Sizing;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, MainKey, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::ServerTime;

/// Adds items: for each whether it is new. Sent twice, it adds them once, but only the first answer shows which were new: so it
/// is never sent again. See `add.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Add {
    pub(crate) sizing: Sizing,
    /// The life of a filter that is made, in ms; 0: it stays.
    pub(crate) ttl_ms: u64,
    /// As many of each item as there are hashes.
    pub(crate) bits: Arc<[u32]>,
}

impl Step for Add {
    type State = BloomState;
    type Reply = Answer<Vec<bool>>;

    const OP: &'static str = "add to bloom filter";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut BloomState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Answer<Vec<bool>>, WrongType> {
        let is_there = match state.is_there(&self.sizing)? {
            Ok(is_there) => is_there,
            Err(found) => return Ok(Err(found)),
        };
        state.main.bits()?;
        let deadline = if !is_there {
            let deadline = (self.ttl_ms > 0).then(|| now.millis() + self.ttl_ms);
            let texts = self.sizing.texts();
            let fields = [0, 1, 2, 3].map(|at| (FIELDS[at], texts[at].as_str()));
            state.config = MainKey::of_fields(fields, deadline);
            deadline
        } else if !state.main.is_there() {
            state.config.deadline().map(|deadline| deadline.max(now.millis() + 1))
        } else {
            None
        };
        let bits = state.main.bits_mut()?;
        let items = self.bits.chunks(self.sizing.hashes() as usize);
        let answers = items.map(|item| item.iter().fold(false, |new, bit| !bits.set(*bit) | new)).collect();
        deadline.into_iter().for_each(|deadline| state.main.end_at(deadline));
        Ok(Ok(answers))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_config!("add.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        encode(name, &self.sizing, call);
        self.sizing.texts()[2..].iter().for_each(|text| call.args.push(text));
        call.args.number(self.ttl_ms);
        encode_bits(&self.bits, call);
    }

    fn decode(reply: Reply) -> Result<Answer<Vec<bool>>, Malformed> {
        decode_answers(reply)
    }
}
