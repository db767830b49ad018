use redis::Value;

use super::super::rate::Rate;
use super::super::tat::Span;
use super::{KIND, LimitState};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Notice, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Judges one request and, if it is granted, charges it. See `lua/limit_gcra.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Gcra {
    /// In how many parts a microsecond is counted.
    unit: u64,
    /// What the request pushes the theoretical arrival time on by; zero only looks.
    cost: Span,
    /// How far ahead of now it may lie.
    horizon: Span,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) allowed: bool,
    pub(crate) now: ServerTime,
    /// The theoretical arrival time after the decision, never before now.
    pub(crate) tat: Span,
}

impl Gcra {
    pub(crate) fn new(rate: Rate, cost: u64) -> Gcra {
        // A rate of nothing grants nothing and charges nothing: it only looks.
        let cost = if rate.tokens() == 0 { 0 } else { cost };
        Gcra { unit: rate.unit(), cost: rate.span(cost), horizon: rate.span(rate.limit()) }
    }

    /// The algorithm on bare numbers: the stored instant, now, and what is to be stored, if anything.
    pub(crate) fn judge(&self, stored: Span, now: Span) -> (bool, Span, Option<Span>) {
        let horizon = now.plus(self.horizon, self.unit);
        // Beyond the horizon lies only what a step of the server's clock, or another rate, has left there. It is pulled
        // back, and that is written down even if the request is refused: else everybody would be locked out until the
        // clock is where it was.
        let tat = stored.max(now).min(horizon);
        let next = tat.plus(self.cost, self.unit);
        let allowed = next <= horizon;
        let looks = self.cost == Span::default();
        match allowed {
            true => (true, next, (!looks).then_some(next)),
            false => (false, tat, (stored > horizon).then_some(tat)),
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
        _notices: &mut Vec<Notice>,
    ) -> Result<Judged, WrongType> {
        let stored = match &state.tat {
            None => Span::default(),
            Some(text) => Span::parse(text, self.unit).ok_or(WrongType)?,
        };
        let (allowed, tat, write) = self.judge(stored, Span::at(now));
        if let Some(write) = write {
            // Just long enough: a key that is gone means a full bucket, and so does an instant that has passed.
            let ahead = write.us + u64::from(write.part > 0) - Span::at(now).us;
            state.deadline = Some(now.millis() + ahead.div_ceil(1_000) + 1);
            state.tat = Some(write.text(self.unit));
        }
        Ok(Judged { allowed, now, tat })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("../../lua/limit_gcra.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.join(name.companion_parts(KIND));
        let Span { us, part } = self.horizon;
        [self.unit, self.cost.us, self.cost.part, us, part].into_iter().for_each(|number| call.args.number(number));
    }

    fn decode(value: Value) -> Result<Judged, Malformed> {
        let items = wire::array(value)?;
        Ok(Judged {
            allowed: wire::int(items.first())? == 1,
            now: ServerTime(wire::unsigned(items.get(1))?),
            tat: Span { us: wire::unsigned(items.get(2))?, part: wire::unsigned(items.get(3))? },
        })
    }

    fn server_time(reply: &Judged) -> Option<ServerTime> {
        Some(reply.now)
    }
}
