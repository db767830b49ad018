use std::time::Duration;

use super::{LEASES, QueueState};
use crate::contended::queue_lua;
use crate::lease::{Grant, Renewal, Renewed};
use crate::name::ObjectName;
use crate::stats::{Counters, HoldCounts};
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::{ServerTime, millis};

/// Prolongs the lease of a delivery, counted from now. See `renew.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Renew {
    /// See [`Take`](super::Take).
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    /// What is left beyond this is cut off.
    pub(crate) cut: Option<Duration>,
}

impl Renewal for Renew {
    fn of(grant: &Grant, lease: Duration) -> Renew {
        Renew { owner: grant.owner().to_owned(), lease, cut: grant.asks_for(lease) }
    }

    fn counts(of: &Counters) -> &HoldCounts {
        of.queue.deliveries()
    }
}

impl Step for Renew {
    type State = QueueState;
    type Reply = Renewed;

    const OP: &'static str = "renew";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Renewed, WrongType> {
        let Some(ends) = state.leases.score(&self.owner).filter(|ends| *ends > now.millis()) else {
            return Ok(Renewed::Gone);
        };
        let left = ends - now.millis();
        let left_ms = match self.cut.map(millis) {
            _ if left < millis(self.lease) => millis(self.lease),
            Some(cut) if left > cut => cut,
            _ => return Ok(Renewed::Prolonged { left_ms: left }),
        };
        state.leases.set(&self.owner, now.millis() + left_ms);
        Ok(Renewed::Prolonged { left_ms })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(queue_lua!("queue"), include_str!("renew.lua")));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.join(name.companion_parts(LEASES));
        call.args.push(&self.owner);
        call.args.number(millis(self.lease));
        call.args.number(self.cut.map_or(0, millis));
    }

    fn decode(reply: Reply) -> Result<Renewed, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }
}

impl BatchStep for Renew {
    /// 100 deliveries are about 200 us of the server's time.
    const CHUNK: usize = 100;

    fn wrong_type(_now: ServerTime) -> Renewed {
        Renewed::WrongType
    }

    fn decode_each(reply: Reply) -> Result<Vec<Renewed>, Malformed> {
        Renewed::decode_each(reply)
    }
}
