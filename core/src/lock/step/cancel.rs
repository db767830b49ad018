use super::{LockState, QUEUE, queue_at, with_queue};
use crate::contended::Cancelled;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::ServerTime;

/// Leaves the queue: nobody of this client waits any more. See `cancel.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Cancel {
    pub(crate) client: String,
}

impl Step for Cancel {
    type State = LockState;
    type Reply = Cancelled;

    const OP: &'static str = "cancel";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Cancelled, WrongType> {
        if now > attempt.not_after {
            return Ok(Cancelled::TooLate { now });
        }
        let mut queue = queue_at(&mut state.queue, name, now, outbox);
        let rank = queue.leave(&self.client);
        if let Some(rank @ (0 | 1)) = rank {
            queue.moved_up(rank, true, &self.client);
        }
        Ok(Cancelled::Done { now, had_place: rank.is_some() })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_queue!("cancel.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        QUEUE.add_keys(name, &mut call.keys);
        call.args.push(&self.client);
        call.args.number(attempt.not_after.0);
    }

    fn decode(reply: Reply) -> Result<Cancelled, Malformed> {
        Cancelled::decode(reply)
    }

    fn server_time(reply: &Cancelled) -> Option<ServerTime> {
        Some(reply.now())
    }
}
