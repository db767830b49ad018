use super::{CHANNEL, LockState, QUEUE, announce, client_of, queue_at, with_queue};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Frees the lock whoever holds it; true when somebody did. See `force_release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct ForceRelease;

impl Step for ForceRelease {
    type State = LockState;
    type Reply = bool;

    const OP: &'static str = "force release";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        let Some(owners) = state.main.fields()? else { return Ok(false) };
        let holder = owners.keys().next().cloned().unwrap_or_default();
        state.main.delete();
        announce(name, outbox);
        let mut queue = queue_at(&mut state.queue, name, now, outbox);
        let client = client_of(&holder);
        if uuid::Uuid::try_parse(client).is_ok_and(|id| id.get_version_num() == 8) {
            queue.tell(client, "lost");
        }
        queue.tell_free("");
        Ok(true)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_queue!("force_release.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        QUEUE.add_keys(name, &mut call.keys);
        call.args.join(name.companion_parts(CHANNEL));
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
