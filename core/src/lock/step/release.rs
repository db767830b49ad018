use redis::Value;

use super::queue::{Line, Queue};
use super::{CHANNEL, LockState, announce, client_of, with_queue};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Notice, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Frees the lock if `owner` holds it. See `lua/lock_release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) owner: String,
    /// Whether to join the queue at its end: others of this process wait.
    pub(crate) rejoin: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    Freed {
        /// False when the server's access rules refused a message: waiters come by their timers.
        announced: bool,
        /// The place in the queue, if it was joined.
        rank: Option<u64>,
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
        now: ServerTime,
        notices: &mut Vec<Notice>,
    ) -> Result<Released, WrongType> {
        if !state.hash.as_ref().is_some_and(|hash| hash.owners.contains_key(&self.owner)) {
            return Ok(Released::NotHeld);
        }
        state.hash = None;
        announce(name, notices);
        let mut line = Line { queue: &mut state.queue, name, now, notices };
        if let Some(head) = line.queue.head().map(str::to_owned) {
            line.tell(&head, "free");
        }
        let client = client_of(&self.owner);
        let rank = self.rejoin.then(|| line.stay(client).unwrap_or_else(|| line.join(client)) as u64);
        Ok(Released::Freed { announced: true, rank })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_queue!("lock_release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        Queue::keys(name, &mut call.keys);
        call.args.push(&self.owner);
        call.args.join(name.companion_parts(CHANNEL));
        call.args.number(self.rejoin.into());
    }

    fn decode(value: Value) -> Result<Released, Malformed> {
        let items = wire::array(value)?;
        match wire::int(items.first())? {
            0 => Ok(Released::NotHeld),
            1 => {
                let rank = u64::try_from(wire::int(items.get(2))?).ok();
                Ok(Released::Freed { announced: wire::int(items.get(1))? == 1, rank })
            }
            _ => Err(Malformed),
        }
    }
}
