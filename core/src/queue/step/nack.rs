use std::time::Duration;

use super::state::after;
use super::{QueueState, add_keys, with_jobs};
use crate::contended::Released;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Ends a delivery whose job is not done. See `nack.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Nack {
    /// See [`Take`](super::Take).
    pub(crate) owner: String,
    /// After how long it is due again; `None`: as before, so that it keeps its place.
    pub(crate) delay: Option<Duration>,
    /// Nobody has seen the delivery, and it does not count.
    pub(crate) undelivered: bool,
    /// For the dead list.
    pub(crate) reason: String,
}

impl Nack {
    /// Of a delivery that nobody wants.
    pub(crate) fn undelivered(owner: &str) -> Nack {
        Nack { owner: owner.to_owned(), delay: None, undelivered: true, reason: String::new() }
    }
}

impl Step for Nack {
    type State = QueueState;
    type Reply = Released;

    const OP: &'static str = "nack";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Released, WrongType> {
        if !state.held.contains_key(&self.owner) {
            return Ok(Released::NotHeld);
        }
        let before = state.first_due();
        let due = self.delay.map(|delay| after(now, millis(delay)));
        let dead = state.put_back(&self.owner, now, due, self.undelivered, &self.reason);
        state.announce(name, now, before, outbox);
        Ok(if dead { Released::Discarded } else { Released::Freed { announced: true, rank: None } })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_jobs!("nack.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(&self.owner);
        match self.delay {
            Some(delay) => call.args.number(millis(delay)),
            None => call.args.push("-1"),
        }
        call.args.number(self.undelivered.into());
        call.args.push(&self.reason);
    }

    fn decode(reply: Reply) -> Result<Released, Malformed> {
        match wire::int(wire::list(reply)?.first())? {
            0 => Ok(Released::NotHeld),
            1 => Ok(Released::Freed { announced: true, rank: None }),
            2 => Ok(Released::Discarded),
            _ => Err(Malformed),
        }
    }
}
