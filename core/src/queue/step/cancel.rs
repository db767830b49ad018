use super::state::ANY;
use super::{QueueState, add_keys, with_jobs};
use crate::contended::Cancelled;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::ServerTime;

/// Leaves the queue of waiters: nobody of this client waits any more. See `cancel.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Cancel {
    pub(crate) client: String,
}

impl Step for Cancel {
    type State = QueueState;
    type Reply = Cancelled;

    const OP: &'static str = "cancel";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Cancelled, WrongType> {
        if now > attempt.not_after {
            return Ok(Cancelled::TooLate { now });
        }
        let available = state.ready(now);
        let mut queue = state.queue_at(name, now, outbox);
        let rank = queue.leave(&self.client);
        if let Some(rank) = rank {
            if rank <= 1 {
                queue.moved_up(rank, false, &self.client);
            }
            queue.wake(available, ANY, rank, &self.client);
            if rank == 0 && available == 0 {
                state.tell_new_head(name, now, &self.client, outbox);
            }
        }
        Ok(Cancelled::Done { now, had_place: rank.is_some() })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_jobs!("cancel.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
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
