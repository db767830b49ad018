use std::time::Duration;

use super::state::{LOST, after};
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
    pub(crate) seen: Seen,
    /// For the dead list.
    pub(crate) reason: String,
}

/// Whether somebody has seen the delivery: then it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Yes,
    No,
    /// If it has this token. Another one that the owner has was delivered by bytes that came late, to nobody.
    If(u64),
}

impl Seen {
    pub(super) fn counts(self, token: u64) -> bool {
        match self {
            Seen::Yes => true,
            Seen::No => false,
            Seen::If(seen) => seen == token,
        }
    }
}

impl Nack {
    /// Of a delivery that nobody wants.
    pub(crate) fn undelivered(owner: &str) -> Nack {
        Nack { owner: owner.to_owned(), delay: None, seen: Seen::No, reason: String::new() }
    }

    /// Of a delivery that is over for its worker, if it is still there.
    pub(crate) fn over(owner: &str, token: u64) -> Nack {
        Nack { owner: owner.to_owned(), delay: None, seen: Seen::If(token), reason: LOST.to_owned() }
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
        let dead = state.put_back(&self.owner, now, due, self.seen, &self.reason);
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
        call.args.number(match self.seen {
            Seen::Yes => 0,
            Seen::No => 1,
            Seen::If(token) => token,
        });
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
