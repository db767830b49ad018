use super::{SemaphoreState, Taker, add_keys, with_permits};
use crate::contended::Released;
use crate::contended::available::{CHANNEL, announced, channel};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives the permits of one acquire back. See `release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    /// See [`Taker`].
    pub(crate) owner: String,
}

impl Step for Release {
    type State = SemaphoreState;
    type Reply = Released;

    const OP: &'static str = "release";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut SemaphoreState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Released, WrongType> {
        let count = state.count()?;
        let held: Vec<String> = Taker::of(&self.owner).ids().filter(|id| state.taken.value.contains_key(id)).collect();
        if held.is_empty() {
            return Ok(Released::NotHeld);
        }
        let available = count.map(|available| available + held.len() as i64);
        for id in &held {
            state.taken.value.remove(id);
        }
        if let Some(available) = available {
            state.set_count(available);
            if available > 0 {
                outbox.publish(channel(name), announced(available));
                state.wake(name, now, (available, 0), "", outbox);
            }
        }
        Ok(Released::Freed { announced: true, rank: None })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        let taker = Taker::of(&self.owner);
        add_keys(name, call);
        call.args.push(&taker.base());
        call.args.number(taker.permits.into());
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
