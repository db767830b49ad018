use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::super::span::Span;
use super::{WorkerState, add_keys, with_pool};
use crate::lease::{Grant, Renewal, Renewed};
use crate::name::ObjectName;
use crate::stats::{Counters, HoldCounts};
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::{ServerTime, Tick, millis};

/// Prolongs the lease of a number, and says how far the time of its holder will go. See `renew.lua`.
#[derive(Clone)]
pub(crate) struct Renew {
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    /// What is left beyond this is cut off.
    pub(crate) cut: Option<Duration>,
    /// The last ms of Unix time that the holder may use until the next renewal.
    pub(crate) promise_ms: u64,
    /// Whose time that is, and when this was made; none in a test of the step alone.
    pub(crate) of: Option<(Arc<Span>, Tick)>,
}

impl fmt::Debug for Renew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Renew")
            .field("owner", &self.owner)
            .field("lease", &self.lease)
            .field("cut", &self.cut)
            .field("promise_ms", &self.promise_ms)
            .finish_non_exhaustive()
    }
}

impl Renewal for Renew {
    const FENCED: bool = false;
    const HEARS: bool = true;

    fn of(grant: &Grant, lease: Duration) -> Renew {
        let of = grant.renewal_data::<Span>().map(|span| {
            let now = span.now();
            (span, now)
        });
        let promise_ms = of.as_ref().map_or(0, |(span, now)| span.promise(*now, lease));
        Renew { owner: grant.owner().to_owned(), lease, cut: grant.asks_for(lease), promise_ms, of }
    }

    fn hear(&self, reply: Renewed) {
        if let (Renewed::Prolonged { .. }, Some((span, sent))) = (reply, &self.of) {
            span.confirm(*sent, self.lease);
        }
    }

    fn counts(of: &Counters) -> &HoldCounts {
        &of.worker
    }
}

impl Step for Renew {
    type State = WorkerState;
    type Reply = Renewed;

    const OP: &'static str = "renew";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut WorkerState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Renewed, WrongType> {
        let (ms, lease) = (now.millis(), millis(self.lease));
        let Ok(fields) = state.main.fields() else { return Ok(Renewed::WrongType) };
        let held = fields.is_some_and(|fields| fields.contains_key(&self.owner));
        let Some(expiry) = state.leases.value.get(&self.owner).copied().filter(|expiry| held && *expiry > ms) else {
            return Ok(Renewed::Gone);
        };
        let number = state.number(&self.owner).ok().flatten();
        let used = number.and_then(|number| state.number(&number.to_string()).ok().flatten());
        let (Some(number), Some(used)) = (number, used) else { return Ok(Renewed::WrongType) };
        state.set([(number.to_string(), used.max(self.promise_ms))]);
        let left = match (expiry - ms, self.cut.map(millis)) {
            (left, _) if left < lease => lease,
            (left, Some(cut)) if left > cut => cut,
            (left_ms, _) => return Ok(Renewed::Prolonged { left_ms }),
        };
        state.leases.value.insert(self.owner.clone(), ms + left);
        state.keep(now, left);
        Ok(Renewed::Prolonged { left_ms: left })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_pool!("renew.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(&self.owner);
        let numbers = [millis(self.lease), self.cut.map_or(0, millis), self.promise_ms];
        numbers.into_iter().for_each(|number| call.args.number(number));
    }

    fn decode(reply: Reply) -> Result<Renewed, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }
}

impl BatchStep for Renew {
    /// 50 numbers are about 300 us of the server's time.
    const CHUNK: usize = 50;

    fn wrong_type(_now: ServerTime) -> Renewed {
        Renewed::WrongType
    }

    fn decode_each(reply: Reply) -> Result<Vec<Renewed>, Malformed> {
        Renewed::decode_each(reply)
    }
}
