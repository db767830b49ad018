use std::time::Duration;

use super::state::end_of;
use super::{SemaphoreState, Taker, add_permit_keys, with_permits};
use crate::lease::{Grant, Renewal, Renewed};
use crate::name::ObjectName;
use crate::stats::{Counters, HoldCounts};
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Prolongs the lease of an acquire's permits, counted from now. See `renew.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Renew {
    /// See [`Taker`].
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    /// What is left beyond this is cut off.
    pub(crate) cut: Option<Duration>,
}

impl Renewal for Renew {
    const FENCED: bool = false;

    /// The script works on each permit.
    fn weight(owner: &str) -> usize {
        Taker::of(owner).permits as usize
    }

    fn of(grant: &Grant, lease: Duration) -> Renew {
        Renew { owner: grant.owner().to_owned(), lease, cut: grant.asks_for(lease) }
    }

    fn counts(of: &Counters) -> &HoldCounts {
        &of.semaphore
    }
}

impl Step for Renew {
    type State = SemaphoreState;
    type Reply = Renewed;

    const OP: &'static str = "renew";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut SemaphoreState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Renewed, WrongType> {
        let taker = Taker::of(&self.owner);
        let Some(expiry) = state.expiry(taker).filter(|expiry| *expiry > now.millis()) else {
            return Ok(Renewed::Gone);
        };
        let ends = match self.cut.map(|cut| end_of(cut, now)) {
            _ if expiry < end_of(self.lease, now) => end_of(self.lease, now),
            Some(cut) if expiry > cut => cut,
            _ => return Ok(Renewed::Prolonged { left_ms: expiry - now.millis() }),
        };
        state.set_expiry(taker, ends);
        state.keep(now, ends - now.millis(), false);
        Ok(Renewed::Prolonged { left_ms: ends - now.millis() })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("renew.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        let taker = Taker::of(&self.owner);
        add_permit_keys(name, call);
        call.args.push(&taker.base());
        call.args.number(taker.permits.into());
        call.args.number(millis(self.lease));
        call.args.number(self.cut.map_or(0, millis));
    }

    fn decode(reply: Reply) -> Result<Renewed, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }
}

impl BatchStep for Renew {
    /// 50 permits are about 200 us of the server's time.
    const CHUNK: usize = 50;

    fn wrong_type(_now: ServerTime) -> Renewed {
        Renewed::WrongType
    }

    fn decode_each(reply: Reply) -> Result<Vec<Renewed>, Malformed> {
        let read = |item: &Reply| match wire::int(Some(item))? {
            left @ 1.. => Ok(Renewed::Prolonged { left_ms: left.unsigned_abs() }),
            0 => Ok(Renewed::Gone),
            -3 => Ok(Renewed::WrongType),
            _ => Err(Malformed),
        };
        wire::list(reply)?.iter().map(read).collect()
    }
}
