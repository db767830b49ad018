use super::{CHANNEL, LockState, QUEUE, announce, client_of, free_lua, queue_at};
use crate::contended::Released;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Frees the lock if `owner` holds it. See `release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    pub(crate) owner: String,
    /// Whether to join the queue at its end: others of this process wait.
    pub(crate) rejoin: bool,
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
        outbox: &mut Outbox<'_>,
    ) -> Result<Released, WrongType> {
        if !state.main.fields()?.is_some_and(|owners| owners.contains_key(&self.owner)) {
            return Ok(Released::NotHeld);
        }
        state.main.delete();
        announce(name, outbox);
        let mut queue = queue_at(&mut state.queue, name, now, outbox);
        queue.tell_free("");
        let client = client_of(&self.owner);
        let rank = self.rejoin.then(|| queue.stay(client, true).unwrap_or_else(|| queue.join(client)) as u64);
        Ok(Released::Freed { announced: true, rank })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(free_lua!("release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        QUEUE.add_keys(name, &mut call.keys);
        call.args.push(&self.owner);
        call.args.join(name.companion_parts(CHANNEL));
        call.args.number(self.rejoin.into());
    }

    fn decode(reply: Reply) -> Result<Released, Malformed> {
        let items = wire::list(reply)?;
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
