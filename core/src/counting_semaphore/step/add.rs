use super::{CountingState, add_keys, with_counting};
use crate::contended::available::{CHANNEL, MAX_PERMITS};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Once, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Adds permits, or takes some away; once. See `add.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Add {
    pub(crate) once: Once,
    /// Negative to take away.
    pub(crate) permits: i32,
    /// Ids that the server need not know any more.
    pub(crate) answered: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Added {
    /// `announced` is false when the server's access rules refused a message.
    Done { announced: bool },
    /// With these that are available it would be more than there can be, or less.
    OutOfRange { available: i64 },
}

impl Step for Add {
    type State = CountingState;
    type Reply = Carried<Added>;

    const OP: &'static str = "release";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut CountingState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Carried<Added>, WrongType> {
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        let available = state.count()?.unwrap_or(0);
        let sum = available + i64::from(self.permits);
        if sum.abs() > i64::from(MAX_PERMITS) && !state.done.knows(self.once.id()) {
            return Ok(Carried { now, out: Some(Added::OutOfRange { available }) });
        }
        let first = state.done.once(&self.once, now);
        for id in &self.answered {
            state.done.forget(id);
        }
        if first {
            state.set_count(sum);
            if self.permits > 0 {
                state.announce_and_wake(name, now, outbox);
            }
        }
        Ok(Carried { now, out: Some(Added::Done { announced: true }) })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_counting!("add.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        self.once.encode(attempt, call);
        call.args.push(itoa::Buffer::new().format(self.permits));
        call.args.join(name.companion_parts(CHANNEL));
        self.answered.iter().for_each(|id| call.args.push(id));
    }

    fn decode(reply: Reply) -> Result<Carried<Added>, Malformed> {
        Carried::decode(reply, |items| match wire::int(items.first())? {
            0 => Ok(Added::OutOfRange { available: wire::int(items.get(1))? }),
            1 => Ok(Added::Done { announced: wire::int(items.get(1))? == 1 }),
            _ => Err(Malformed),
        })
    }

    fn server_time(reply: &Carried<Added>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
