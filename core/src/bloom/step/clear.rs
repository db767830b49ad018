use super::{BloomState, CONFIG, DONE};
use crate::name::ObjectName;
use crate::step::{
    Attempt, Call, Carried, Malformed, Once, Outbox, Remembered, Reply, Script, Step, WrongType, once_lua, wire,
};
use crate::time::ServerTime;

/// Removes a filter of whatever configuration; false when it is not there. See `clear.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Clear {
    pub(crate) once: Once,
}

impl Step for Clear {
    type State = BloomState;
    type Reply = Carried<bool>;

    const OP: &'static str = "clear bloom filter";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        attempt: Attempt,
        state: &mut BloomState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Carried<bool>, WrongType> {
        let there = state.config()?.is_some();
        state.main.bits()?;
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        let known = state.done.knows(self.once.id());
        if !known && there {
            state.done.once(&self.once, now);
            state.main.delete();
            state.config.delete();
        }
        Ok(Carried { now, out: Some(known || there) })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(once_lua!(), include_str!("clear.lua")));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        Remembered::add_keys(name, DONE, call);
        call.keys.join(name.suffixed_parts(CONFIG));
        self.once.encode(attempt, call);
    }

    fn decode(reply: Reply) -> Result<Carried<bool>, Malformed> {
        Carried::decode(reply, |items| Ok(wire::int(items.first())? == 1))
    }

    fn server_time(reply: &Carried<bool>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
