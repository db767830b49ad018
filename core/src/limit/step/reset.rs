use super::super::rates::Rates;
use super::{LimitState, push_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Forgets what the rates have counted, and a block; true when there was something. See `reset.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Reset {
    rates: Rates,
}

impl Reset {
    pub(crate) fn new(rates: &Rates) -> Reset {
        Reset { rates: rates.clone() }
    }
}

impl Step for Reset {
    type State = LimitState;
    type Reply = bool;

    const OP: &'static str = "reset rate limit";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        for at in 0..self.rates.len() {
            if state.read(&self.rates, at).fields().is_ok_and(|fields| fields.is_some()) {
                return Err(WrongType);
            }
        }
        let mut any = false;
        for at in 0..self.rates.len() {
            let key = state.key(&self.rates, at);
            any |= key.is_there();
            key.delete();
        }
        Ok(any)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("reset.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        push_keys(name, &self.rates, call);
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
