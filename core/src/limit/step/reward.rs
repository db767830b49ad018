use super::super::rates::Rates;
use super::super::tat;
use super::algorithm::Asked;
use super::judge::{numbers, read};
use super::{LimitState, lua, push_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Gives tokens back to all rates, as if they had not been taken. See `reward.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Reward {
    rates: Rates,
    tokens: u64,
}

impl Reward {
    pub(crate) fn new(rates: &Rates, tokens: u64) -> Reward {
        Reward { rates: rates.clone(), tokens }
    }
}

impl Step for Reward {
    type State = LimitState;
    type Reply = ();

    const OP: &'static str = "reward";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<(), WrongType> {
        let us = tat::since_2025(now);
        let numbers = numbers(&self.rates, self.tokens);
        let held = read(state, &self.rates, &numbers, self.tokens, us)?;
        for (at, mut held) in held.into_iter().enumerate() {
            let asked = Asked { numbers: &numbers[at], cost: self.tokens, now: us };
            let key = state.key(&self.rates, at);
            if key.is_there() {
                held.take_back(asked);
                held.store(key, asked, now);
            }
        }
        Ok(())
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(lua!(
            "rated",
            "reward",
            "next",
            "taken_back",
            "algorithm/gcra_take_back",
            "algorithm/window_take_back",
            "algorithm/counter_take_back",
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
        [self.tokens, 0].into_iter().for_each(|number| call.args.number(number));
        numbers(&self.rates, self.tokens).iter().for_each(|numbers| numbers.encode(call));
    }

    fn decode(reply: Reply) -> Result<(), Malformed> {
        wire::int(Some(&reply)).map(drop)
    }
}
