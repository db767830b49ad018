use super::{SemaphoreState, add_keys, with_permits};
use crate::contended::available::{CHANNEL, announced, channel};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Sets the total. The reply is the one before, if the semaphore was there. See `set_permits.lua`.
#[derive(Clone, Debug)]
pub(crate) struct SetPermits {
    pub(crate) total: u32,
}

impl Step for SetPermits {
    type State = SemaphoreState;
    type Reply = Option<i64>;

    const OP: &'static str = "set permits";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut SemaphoreState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Option<i64>, WrongType> {
        let (taken, total) = (state.taken.value.len() as i64, i64::from(self.total));
        let before = state.count()?.map(|available| available + taken);
        let available = total - taken;
        if before == Some(total) {
            return Ok(before);
        }
        state.set_count(available);
        state.keep(now, 0, before.is_none());
        if available > 0 {
            outbox.publish(channel(name), announced(available));
        }
        state.wake(name, now, (available, 0), "", outbox);
        Ok(before)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("set_permits.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.number(self.total.into());
        call.args.join(name.companion_parts(CHANNEL));
    }

    fn decode(reply: Reply) -> Result<Option<i64>, Malformed> {
        // Nil: it was not there.
        match reply {
            Reply::Nil => Ok(None),
            reply => wire::int(Some(&reply)).map(Some),
        }
    }
}
