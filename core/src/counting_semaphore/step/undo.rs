use super::{CountingState, add_keys, with_counting};
use crate::contended::Released;
use crate::contended::available::{CHANNEL, MAX_PERMITS, Taker};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives back what an acquire was granted whose caller wants it no more, once. See `undo.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    /// See [`Taker`].
    pub(crate) owner: String,
}

impl Step for Undo {
    type State = CountingState;
    type Reply = Released;

    const OP: &'static str = "give back";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut CountingState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Released, WrongType> {
        let (count, taker) = (state.count()?, Taker::of(&self.owner));
        if taker.may_be_repeated() && !state.done.forget(&self.owner) {
            return Ok(Released::NotHeld);
        }
        if let Some(available) = count {
            let back = i64::from(taker.permits).min(i64::from(MAX_PERMITS) - available);
            if back > 0 {
                state.set_count(available + back);
                state.announce_and_wake(name, now, outbox);
            }
        }
        Ok(Released::Freed { announced: true, rank: None })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_counting!("undo.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(&self.owner);
        call.args.number(Taker::of(&self.owner).permits.into());
        call.args.join(name.companion_parts(CHANNEL));
    }

    fn decode(reply: Reply) -> Result<Released, Malformed> {
        let items = wire::list(reply)?;
        match wire::int(items.first())? {
            0 => Ok(Released::NotHeld),
            1 => Ok(Released::Freed { announced: wire::int(items.get(1))? == 1, rank: None }),
            _ => Err(Malformed),
        }
    }
}
