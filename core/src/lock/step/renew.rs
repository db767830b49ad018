use std::sync::Arc;
use std::time::Duration;

use super::LockState;
use crate::backend::{Done, Failed, Quorum};
use crate::lease::{Grant, Renewal, Renewed};
use crate::lock::quorum;
use crate::name::ObjectName;
use crate::stats::{Counters, HoldCounts};
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::{ServerTime, Tick, millis};

/// Prolongs the lease of `owner`, counted from now. See `renew.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Renew {
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    /// What is left beyond this is cut off.
    pub(crate) cut: Option<Duration>,
}

impl Renewal for Renew {
    fn of(grant: &Grant, lease: Duration) -> Renew {
        Renew { owner: grant.owner().to_owned(), lease, cut: grant.asks_for(lease) }
    }

    async fn at_several(
        quorum: &Arc<Quorum>,
        holds: &[(Grant, Duration)],
        deadline: Tick,
    ) -> Result<Done<Vec<Renewed>>, Failed> {
        quorum::renew(quorum, holds, deadline).await
    }

    fn counts(of: &Counters) -> &HoldCounts {
        &of.lock
    }
}

impl Step for Renew {
    type State = LockState;
    type Reply = Renewed;

    const OP: &'static str = "renew";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Renewed, WrongType> {
        let Ok(owners) = state.main.fields() else { return Ok(Self::wrong_type(now)) };
        Ok(match owners {
            None => Renewed::Gone,
            Some(owners) if owners.contains_key(&self.owner) => {
                // Never shorter: a renewal and an extension may overtake one another.
                let mut ends = state.main.deadline().unwrap_or(0).max(now.millis() + millis(self.lease));
                if let Some(cut) = self.cut {
                    ends = ends.min(now.millis() + millis(cut));
                }
                state.main.end_at(ends);
                Renewed::Prolonged { left_ms: ends - now.millis() }
            }
            Some(_) => Renewed::Taken,
        })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("renew.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.args.push(&self.owner);
        call.args.number(millis(self.lease));
        call.args.number(self.cut.map_or(0, millis));
    }

    fn decode(reply: Reply) -> Result<Renewed, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }
}

impl BatchStep for Renew {
    /// 100 locks are about 200 us of the server's time.
    const CHUNK: usize = 100;

    fn wrong_type(_now: ServerTime) -> Renewed {
        Renewed::WrongType
    }

    fn decode_each(reply: Reply) -> Result<Vec<Renewed>, Malformed> {
        Renewed::decode_each(reply)
    }
}
