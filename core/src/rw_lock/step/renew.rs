use std::time::Duration;

use super::state::Longest;
use super::{RwLockState, add_timeout_key, with_holds};
use crate::lease::{Grant, Renewal, Renewed};
use crate::name::ObjectName;
use crate::stats::{Counters, HoldCounts};
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::{ServerTime, millis};

/// Prolongs the lease of a hold, counted from now. See `renew.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Renew {
    /// The field of the hold.
    pub(crate) field: String,
    pub(crate) lease: Duration,
    /// What is left beyond this is cut off.
    pub(crate) cut: Option<Duration>,
}

impl Renewal for Renew {
    fn of(grant: &Grant, lease: Duration) -> Renew {
        Renew { field: grant.owner().to_owned(), lease, cut: grant.asks_for(lease) }
    }

    fn counts(of: &Counters) -> &HoldCounts {
        &of.rw_lock
    }
}

impl Step for Renew {
    type State = RwLockState;
    type Reply = Renewed;

    const OP: &'static str = "renew";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut RwLockState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Renewed, WrongType> {
        match state.mode() {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(Renewed::Gone),
            Err(WrongType) => return Ok(Renewed::WrongType),
        }
        if !state.has(&self.field) {
            return Ok(Renewed::Taken);
        }
        let Some(timeout) = state.timeouts.get_mut(&(self.field.clone(), 1)) else { return Ok(Renewed::Gone) };
        let mut left = timeout.ttl(now);
        if left == 0 {
            return Ok(Renewed::Gone);
        }
        let (lease, cut) = (millis(self.lease) as i64, self.cut.map(|cut| millis(cut) as i64));
        let cuts = cut.filter(|cut| left > *cut);
        if cuts.is_some() || left < lease {
            left = cuts.unwrap_or(lease);
            timeout.deadline = Some(now.millis() + left as u64);
        }
        let left_ms = left as u64;
        state.keep_until(now.millis() + left_ms);
        let longer = state.main.ttl(now) > left;
        if cut.is_some()
            && longer
            && let Longest::Ms(longest) = state.survey(now)
        {
            state.set_ttl(longest, now);
        }
        Ok(Renewed::Prolonged { left_ms })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_holds!("renew.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        add_timeout_key(name, &self.field, call);
        call.args.push(&self.field);
        call.args.number(millis(self.lease));
        call.args.number(self.cut.map_or(0, millis));
    }

    fn decode(reply: Reply) -> Result<Renewed, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }
}

impl BatchStep for Renew {
    /// 50 holds are about 200 us of the server's time.
    const CHUNK: usize = 50;

    fn wrong_type(_now: ServerTime) -> Renewed {
        Renewed::WrongType
    }

    fn decode_each(reply: Reply) -> Result<Vec<Renewed>, Malformed> {
        Renewed::decode_each(reply)
    }
}
