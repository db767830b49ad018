use std::time::Duration;

use super::super::rate::{LONGEST_US, Rate};
use super::super::tat::{Span, Stored};
use super::scale::Scale;
use super::{KIND, LimitState, lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Judges one request and, if it is granted, charges it. See `gcra.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Gcra {
    scale: Scale,
    /// For how long the tokens may be waited for; granted then means reserved. In us.
    wait_us: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Charged, for now or for when `tat` is within the horizon.
    pub(crate) allowed: bool,
    pub(crate) now: ServerTime,
    /// The theoretical arrival time after the decision, never before now.
    pub(crate) tat: Span,
}

impl Gcra {
    /// For tokens that are there now.
    pub(crate) fn new(rate: Rate, cost: u64) -> Gcra {
        Gcra { scale: Scale::new(rate, cost), wait_us: 0 }
    }

    /// For tokens that are there within `wait`.
    pub(crate) fn within(self, wait: Duration) -> Gcra {
        Gcra { wait_us: u64::try_from(wait.as_micros()).unwrap_or(u64::MAX).min(LONGEST_US), ..self }
    }

    /// The algorithm on bare numbers: the stored instant, now, and what is to be stored, if anything.
    pub(crate) fn judge(&self, stored: Stored, now: Span) -> (bool, Span, Option<Stored>) {
        let Scale { unit, cost, .. } = self.scale;
        let top = self.scale.top(now);
        let (tat, moved) = self.scale.settle(stored, now);
        let next = tat.plus(cost, unit);
        let allowed = next <= Span { us: top.us.saturating_add(self.wait_us), ..top };
        let looks = cost == Span::default();
        match allowed {
            true => (true, next, (!looks).then(|| self.scale.stored(next, now))),
            // That the clock stepped back is written down even then: else everybody would be locked out until it is where
            // it was.
            false => (false, tat, moved.then(|| self.scale.stored(tat, now))),
        }
    }
}

impl Step for Gcra {
    type State = LimitState;
    type Reply = Judged;

    const OP: &'static str = "rate limit";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Judged, WrongType> {
        let stored = state.stored(self.scale.unit)?.unwrap_or_default();
        let (allowed, tat, write) = self.judge(stored, Span::at(now));
        if let Some(write) = write {
            state.store(write, self.scale.unit, now);
        }
        Ok(Judged { allowed, now, tat })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(lua!("read", "settle", "gcra", "store"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.join(name.companion_parts(KIND));
        self.scale.encode(call);
        call.args.number(self.wait_us);
    }

    fn decode(reply: Reply) -> Result<Judged, Malformed> {
        let items = wire::list(reply)?;
        Ok(Judged {
            allowed: wire::int(items.first())? == 1,
            now: wire::time(items.get(1))?,
            tat: Span { us: wire::unsigned(items.get(2))?, part: wire::unsigned(items.get(3))? },
        })
    }

    fn server_time(reply: &Judged) -> Option<ServerTime> {
        Some(reply.now)
    }
}
