use super::{CLOSED, LatchState, channel, encode, with_count};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, MainKey, Malformed, Once, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives a latch a count; false when it has one. See `set_count.lua`.
#[derive(Clone, Debug)]
pub(crate) struct SetCount {
    pub(crate) once: Once,
    pub(crate) count: u64,
}

impl Step for SetCount {
    type State = LatchState;
    type Reply = Carried<bool>;

    const OP: &'static str = "set count";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LatchState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Carried<bool>, WrongType> {
        let count = state.count()?;
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        let known = state.done.knows(self.once.id());
        if !known && count == 0 {
            state.main = MainKey::of_text(self.count.to_string(), None);
            state.done.once(&self.once, now);
            outbox.publish(channel(name), CLOSED.to_owned());
        }
        Ok(Carried { now, out: Some(known || count == 0) })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_count!("set_count.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        encode(name, (&self.once, attempt), Some(self.count), call);
    }

    fn decode(reply: Reply) -> Result<Carried<bool>, Malformed> {
        Carried::decode(reply, |items| Ok(wire::int(items.first())? == 1))
    }

    fn server_time(reply: &Carried<bool>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
