use super::{LatchState, OPEN, channel, encode, with_count};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Once, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Counts a latch down. See `count_down.lua`.
#[derive(Clone, Debug)]
pub(crate) struct CountDown {
    pub(crate) once: Once,
    pub(crate) by: u64,
}

/// What a count down has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedDown {
    /// The count after it, or now if it was carried out before.
    pub(crate) left: u64,
    /// False when the server's access rules refused the message: waiters come by their timers.
    pub(crate) told: bool,
}

impl Step for CountDown {
    type State = LatchState;
    type Reply = Carried<CountedDown>;

    const OP: &'static str = "count down";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LatchState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Carried<CountedDown>, WrongType> {
        let count = state.count()?;
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        let carried = |left| Ok(Carried { now, out: Some(CountedDown { left, told: true }) });
        if !state.done.once(&self.once, now) || count == 0 {
            return carried(count);
        }
        let left = count.saturating_sub(self.by);
        if left > 0 {
            state.main.set_text(left.to_string());
        } else {
            state.main.delete();
            outbox.publish(channel(name), OPEN.to_owned());
        }
        carried(left)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_count!("count_down.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        encode(name, (&self.once, attempt), Some(self.by), call);
    }

    fn decode(reply: Reply) -> Result<Carried<CountedDown>, Malformed> {
        Carried::decode(reply, |items| {
            Ok(CountedDown { left: wire::unsigned(items.first())?, told: wire::int(items.get(1))? == 1 })
        })
    }

    fn server_time(reply: &Carried<CountedDown>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
