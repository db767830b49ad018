use super::state::Mode;
use super::{CHANNEL, RwLockState, add_queue_keys, add_timeout_key, with_holds, writes};
use crate::contended::Released;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Ends a hold, if it is there. See `release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    /// The field of the hold.
    pub(crate) field: String,
}

impl Step for Release {
    type State = RwLockState;
    type Reply = Released;

    const OP: &'static str = "release";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut RwLockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Released, WrongType> {
        let mode = state.mode()?;
        let held = state.remove(&self.field);
        state.timeouts.remove(&(self.field.clone(), 1));
        if !held {
            return Ok(Released::NotHeld);
        }
        let mut made_room = false;
        if writes(&self.field) {
            state.after_writer(name, now, outbox);
            made_room = true;
        } else if mode == Some(Mode::Read) {
            made_room = state.after_reader(name, now, outbox);
        }
        if made_room {
            state.wake(name, now, 0, "", outbox);
        }
        Ok(Released::Freed { announced: true, rank: None })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_holds!("release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        add_timeout_key(name, &self.field, call);
        add_queue_keys(name, call);
        call.args.push(&self.field);
        call.args.join(name.companion_parts(CHANNEL));
    }

    fn decode(reply: Reply) -> Result<Released, Malformed> {
        let items = wire::list(reply)?;
        match wire::int(items.first())? {
            0 => Ok(Released::NotHeld),
            1 => Ok(Released::Freed { announced: wire::int(items.get(1))? == 1, rank: None }),
            _ => Err(Malformed),
        }
    }
}
