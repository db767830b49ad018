use std::time::Duration;

use super::super::rates::Rates;
use super::super::tat;
use super::algorithm::Asked;
use super::judge::{numbers, read};
use super::{LimitState, lua, push_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Refuses everything for so many us; 0 ends that. See `block.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    rates: Rates,
    us: u64,
}

impl Block {
    pub(crate) fn new(rates: &Rates, length: Duration) -> Block {
        Block { rates: rates.clone(), us: u64::try_from(length.as_micros()).unwrap_or(u64::MAX) }
    }
}

impl Step for Block {
    type State = LimitState;
    type Reply = ();

    const OP: &'static str = "block";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<(), WrongType> {
        let us = tat::since_2025(now);
        let numbers = numbers(&self.rates, 0);
        for (at, mut held) in read(state, &self.rates, &numbers, 0, us)?.into_iter().enumerate() {
            let asked = Asked { numbers: &numbers[at], cost: 0, now: us };
            held.block(asked, self.us);
            held.store(state.key(&self.rates, at), asked, now);
        }
        Ok(())
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(lua!(
            "rated",
            "block",
            "next",
            "blocked",
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
        [0, self.us].into_iter().for_each(|number| call.args.number(number));
        numbers(&self.rates, 0).iter().for_each(|numbers| numbers.encode(call));
    }

    fn decode(reply: Reply) -> Result<(), Malformed> {
        wire::int(Some(&reply)).map(drop)
    }
}
