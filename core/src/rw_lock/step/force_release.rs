use super::{CHANNEL, RwLockState, add_queue_keys};
use crate::contended::wants_lua;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Ends every hold of both sides, whoever has it; true when anybody did. See `force_release.lua`.
#[derive(Clone, Debug)]
pub(crate) struct ForceRelease;

impl Step for ForceRelease {
    type State = RwLockState;
    type Reply = bool;

    const OP: &'static str = "force release";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut RwLockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        if state.mode()?.is_none() {
            return Ok(false);
        }
        let clients = state.end_all();
        state.after_writer(name, now, outbox);
        let mut queue = state.queue_at(name, now, outbox);
        for client in &clients {
            queue.tell(client, "lost");
        }
        state.wake(name, now, 0, "", outbox);
        Ok(true)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(
            wants_lua!("rw"),
            include_str!("holds.lua"),
            include_str!("end_all.lua"),
            include_str!("force_release.lua")
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        add_queue_keys(name, call);
        call.args.join(name.companion_parts(CHANNEL));
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
