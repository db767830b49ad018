use super::super::rate::Rate;
use super::super::tat::{self, Span};
use super::algorithm::{Asked, Held};
use super::numbers::Numbers;
use super::{LimitState, lua, push_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives back the end of a stretch that was fetched and not used; false when it has to stay charged. See `put_back.lua`.
///
/// Only what lies behind all other charges: those behind it keep their places, and if the bucket were fuller by this much,
/// it could be full before their times, while they are still to be used.
#[derive(Clone, Debug)]
pub(crate) struct PutBack {
    rate: Rate,
    /// What is given back.
    length: Span,
    /// Where the stretch ends.
    tat: Span,
}

impl PutBack {
    /// The last `unused` parts before `tat`, the theoretical arrival time that a [`Fetch`](super::Fetch) has left.
    pub(crate) fn new(rate: Rate, unused: u128, tat: Span) -> PutBack {
        PutBack { rate, length: Span::of(unused, rate.unit()), tat }
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
        let numbers = Numbers::of_length(&self.rate, self.length);
        let asked = Asked { numbers: &numbers, cost: 1, now: tat::since_2025(now) };
        let mut held = Held::read(&state.main, asked)?;
        let bucket = held.bucket()?;
        if bucket.tat != self.tat {
            // Sooner: a reset, or a step of the clock. Later: somebody else's charge, or all of it has passed.
            return Ok(bucket.tat < self.tat);
        }
        bucket.take_back(asked);
        held.store(&mut state.main, asked, now);
        Ok(true)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script =
            Script::new(lua!("rated", "put_back", "algorithm/gcra_take_back", "algorithm/gcra_store", "set", "put"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        push_keys(name, &self.rate.into(), call);
        [1, 0].into_iter().for_each(|number| call.args.number(number));
        Numbers::of_length(&self.rate, self.length).encode(call);
        [self.tat.us, self.tat.part].into_iter().for_each(|number| call.args.number(number));
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
