use super::super::rates::Rates;
use super::super::tat;
use super::algorithm::Asked;
use super::judge::{numbers, read};
use super::{LimitState, Stood, lua, push_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives tokens back that were reserved and are not wanted any more; false when they have to stay charged. See
/// `give_back.lua`.
///
/// Only the last charge can be taken back. What was charged since keeps its time, which was reckoned with this one in front
/// of it: without it there could be room before that time, and what flows over cannot be given to others.
#[derive(Clone, Debug)]
pub(crate) struct GiveBack {
    rates: Rates,
    cost: u64,
    stood: Stood,
}

impl GiveBack {
    pub(crate) fn new(rates: &Rates, cost: u64, stood: Stood) -> GiveBack {
        GiveBack { rates: rates.clone(), cost, stood }
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
        let us = tat::since_2025(now);
        let numbers = numbers(&self.rates, self.cost);
        let held = read(state, &self.rates, &numbers, self.cost, us)?;
        let asked = |at: usize| Asked { numbers: &numbers[at], cost: self.cost, now: us };
        let since =
            held.iter().zip(&self.stood.after).enumerate().map(|(at, (held, then))| held.since(asked(at), *then));
        let (mut all_gone, mut all_same) = (true, true);
        for (gone, same) in since {
            (all_gone, all_same) = (all_gone && gone, all_same && same && !gone);
        }
        if !all_same {
            return Ok(all_gone);
        }
        for (at, (mut held, before)) in held.into_iter().zip(&self.stood.before).enumerate() {
            held.restore(asked(at), *before);
            held.store(state.key(&self.rates, at), asked(at), now);
        }
        Ok(true)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(lua!(
            "marks",
            "rated",
            "give_back",
            "next",
            "restored",
            "algorithm/gcra_restore",
            "algorithm/window_restore",
            "algorithm/counter_restore",
            "algorithm/log_take_back",
            "algorithm/gcra_store",
            "algorithm/window_store",
            "algorithm/counter_store",
            "algorithm/log_store",
            "set",
            "done"
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        push_keys(name, &self.rates, call);
        [self.cost, 0].into_iter().for_each(|number| call.args.number(number));
        numbers(&self.rates, self.cost).iter().for_each(|numbers| numbers.encode(call));
        self.stood.after.iter().chain(&self.stood.before).flatten().for_each(|number| call.args.number(*number));
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
