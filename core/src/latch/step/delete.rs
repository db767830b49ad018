use super::{CLOSED, LatchState, channel, encode, with_count};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Once, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Removes a latch; false when it is not there. See `delete.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Delete {
    pub(crate) once: Once,
}

impl Step for Delete {
    type State = LatchState;
    type Reply = Carried<bool>;

    const OP: &'static str = "delete latch";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LatchState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Carried<bool>, WrongType> {
        state.count()?;
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        let (known, there) = (state.done.knows(self.once.id()), state.main.is_there());
        if !known && there {
            state.main.delete();
            state.done.once(&self.once, now);
            outbox.publish(channel(name), CLOSED.to_owned());
        }
        Ok(Carried { now, out: Some(known || there) })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_count!("delete.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        encode(name, (&self.once, attempt), None, call);
    }

    fn decode(reply: Reply) -> Result<Carried<bool>, Malformed> {
        Carried::decode(reply, |items| Ok(wire::int(items.first())? == 1))
    }

    fn server_time(reply: &Carried<bool>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
