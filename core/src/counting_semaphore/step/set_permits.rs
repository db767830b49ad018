use super::{CountingState, add_keys, with_counting};
use crate::contended::available::CHANNEL;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Once, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Makes a semaphore that is not there, once; whether this did. See `set_permits.lua`.
#[derive(Clone, Debug)]
pub(crate) struct SetPermits {
    pub(crate) once: Once,
    pub(crate) permits: u32,
}

impl Step for SetPermits {
    type State = CountingState;
    type Reply = Carried<bool>;

    const OP: &'static str = "try set permits";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut CountingState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Carried<bool>, WrongType> {
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        let is_there = state.count()?.is_some();
        let is_repeat = state.done.knows(self.once.id());
        if is_there || is_repeat {
            return Ok(Carried { now, out: Some(is_repeat) });
        }
        state.set_count(self.permits.into());
        state.done.once(&self.once, now);
        state.announce_and_wake(name, now, outbox);
        Ok(Carried { now, out: Some(true) })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_counting!("set_permits.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        self.once.encode(attempt, call);
        call.args.number(self.permits.into());
        call.args.join(name.companion_parts(CHANNEL));
    }

    fn decode(reply: Reply) -> Result<Carried<bool>, Malformed> {
        Carried::decode(reply, |items| Ok(wire::int(items.first())? == 1))
    }

    fn server_time(reply: &Carried<bool>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
