use super::super::rate::Rate;
use super::super::tat::{Span, Stored};
use super::scale::Scale;
use super::{KIND, LimitState, lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives tokens back that were reserved and are not wanted any more; false when they have to stay charged. See
/// `give_back.lua`.
#[derive(Clone, Debug)]
pub(crate) struct GiveBack {
    scale: Scale,
    /// The theoretical arrival time as the reservation left it.
    tat: Span,
}

impl GiveBack {
    pub(crate) fn new(rate: Rate, cost: u64, tat: Span) -> GiveBack {
        GiveBack { scale: Scale::new(rate, cost), tat }
    }

    /// The algorithm on bare numbers: whether nothing is charged any more, and what is to be stored, if anything.
    ///
    /// Only the last charge can be taken back. What was charged since keeps its time, which was reckoned with this one in front
    /// of it: without it the bucket could be full before that time, and what flows over cannot be given to others.
    pub(crate) fn judge(&self, stored: Stored, now: Span) -> (bool, Option<Stored>) {
        let Scale { unit, cost, .. } = self.scale;
        if stored.tat < self.tat {
            // A reset, or a step of the clock.
            return (true, None);
        }
        if stored.tat > self.tat || self.tat < now.plus(cost, unit) {
            return (false, None);
        }
        let (tat, _) = self.scale.settle(Stored { tat: stored.tat.minus(cost, unit), ..stored }, now);
        (true, Some(self.scale.stored(tat, now)))
    }
}

impl Step for GiveBack {
    type State = LimitState;
    type Reply = bool;

    const OP: &'static str = "give back tokens";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        let Some(stored) = state.stored(self.scale.unit)? else { return Ok(true) };
        let (given, write) = self.judge(stored, Span::at(now));
        if let Some(write) = write {
            state.store(write, self.scale.unit, now);
        }
        Ok(given)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(lua!("read", "give_back", "settle", "store"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.join(name.companion_parts(KIND));
        self.scale.encode(call);
        [self.tat.us, self.tat.part].into_iter().for_each(|number| call.args.number(number));
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
