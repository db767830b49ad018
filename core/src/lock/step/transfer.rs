use std::time::Duration;

use super::LockState;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Hands a held lock from one owner to another, in place. See `transfer.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub(crate) from: String,
    pub(crate) to: String,
    pub(crate) lease: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transferred {
    Done { now: ServerTime },
    NotHeld { now: ServerTime },
    TooLate { now: ServerTime },
}

impl Step for Transfer {
    type State = LockState;
    type Reply = Transferred;

    const OP: &'static str = "attach";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Transferred, WrongType> {
        if now > attempt.not_after {
            return Ok(Transferred::TooLate { now });
        }
        state.main.fields()?;
        let Some(owners) = state.main.fields_mut() else { return Ok(Transferred::NotHeld { now }) };
        if !owners.contains_key(&self.to) {
            if owners.remove(&self.from).is_none() {
                return Ok(Transferred::NotHeld { now });
            }
            owners.insert(self.to.clone(), "1".to_owned());
        }
        state.main.end_at(now.millis() + millis(self.lease));
        Ok(Transferred::Done { now })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("transfer.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.args.push(&self.from);
        call.args.push(&self.to);
        call.args.number(millis(self.lease));
        call.args.number(attempt.not_after.0);
    }

    fn decode(reply: Reply) -> Result<Transferred, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        match wire::int(items.first())? {
            0 => Ok(Transferred::Done { now }),
            1 => Ok(Transferred::NotHeld { now }),
            2 => Ok(Transferred::TooLate { now }),
            _ => Err(Malformed),
        }
    }

    fn server_time(reply: &Transferred) -> Option<ServerTime> {
        match reply {
            Transferred::Done { now } | Transferred::NotHeld { now } | Transferred::TooLate { now } => Some(*now),
        }
    }
}
