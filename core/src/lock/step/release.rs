use redis::Value;

use super::{LockState, announce, channel};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Notice, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Frees the lock if `owner` holds it. See `lua/lock_release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) owner: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    /// `announced` is false when the server's access rules refused the message: waiters come by their timers.
    Freed {
        announced: bool,
    },
    NotHeld,
}

impl Step for Release {
    type State = LockState;
    type Reply = Released;

    const OP: &'static str = "release";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        _now: ServerTime,
        notices: &mut Vec<Notice>,
    ) -> Result<Released, WrongType> {
        match &state.hash {
            Some(hash) if hash.owners.contains_key(&self.owner) => {
                state.hash = None;
                announce(name, notices);
                Ok(Released::Freed { announced: true })
            }
            _ => Ok(Released::NotHeld),
        }
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("../../lua/lock_release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str().to_owned());
        call.args.extend([self.owner.clone(), channel(name)]);
    }

    fn decode(value: Value) -> Result<Released, Malformed> {
        let items = wire::array(value)?;
        match wire::int(items.first())? {
            0 => Ok(Released::NotHeld),
            1 => Ok(Released::Freed { announced: wire::int(items.get(1))? >= 0 }),
            _ => Err(Malformed),
        }
    }
}
