use super::super::rate::Rate;
use super::super::tat::{Span, Stored};
use super::scale::Scale;
use super::{KIND, LimitState, lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives back the end of a stretch that was fetched and not used; false when it has to stay charged. See `put_back.lua`.
#[derive(Clone, Debug)]
pub(crate) struct PutBack {
    /// With what is given back for the cost.
    scale: Scale,
    /// Where the stretch ends.
    tat: Span,
}

impl PutBack {
    /// The last `unused` parts before `tat`, the theoretical arrival time that a [`Fetch`](super::Fetch) has left.
    pub(crate) fn new(rate: Rate, unused: u128, tat: Span) -> PutBack {
        let scale = Scale { cost: Span::of(unused, rate.unit()), ..Scale::new(rate, 0) };
        PutBack { scale, tat }
    }

    /// The algorithm on bare numbers: whether nothing is charged any more, and what is to be stored, if anything.
    ///
    /// Only what lies behind all other charges: those behind it keep their places, and if the bucket were fuller by this much,
    /// it could be full before their times, while they are still to be used.
    fn judge(&self, stored: Stored, now: Span) -> (bool, Option<Stored>) {
        if stored.tat < self.tat {
            // A reset, or a step of the clock.
            return (true, None);
        }
        if stored.tat > self.tat {
            return (false, None);
        }
        let tat = stored.tat.minus(self.scale.cost, self.scale.unit);
        // What has passed meanwhile has come back by itself.
        let (tat, _) = self.scale.settle(Stored { tat, ..stored }, now);
        (true, Some(self.scale.stored(tat, now)))
    }
}

impl Step for PutBack {
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
        static SCRIPT: Script = Script::new(lua!("read", "put_back", "settle", "store"));
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
