use std::sync::Arc;

use super::{DUE, LEASES, QUEUE, QueueState};
use crate::contended::{Looked, wants_lua};
use crate::name::ObjectName;
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// What a take of a waiter does while nothing is due, for many queues in one script. See `look.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) client: Arc<str>,
    /// Put off the end of the keys of the queue of waiters.
    pub(crate) keep: bool,
}

impl Step for Look {
    type State = QueueState;
    type Reply = Looked;

    const OP: &'static str = "look";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Looked, WrongType> {
        if now > attempt.not_after {
            return Ok(Looked::TooLate { now });
        }
        let next = state.next_event(now);
        let mut queue = state.queue_at(name, now, outbox);
        let Some(rank) = queue.stay(&self.client, self.keep) else { return Ok(Looked::Ask { now }) };
        // Only a take takes back what is over, and drops who stands in front and may be dead where a job is due.
        if next == 0 {
            return Ok(Looked::Ask { now });
        }
        let rank = queue.drop_silent(&self.client, rank);
        let ttl = if rank == 0 { next } else { -1 };
        Ok(Looked::Held { now, ttl, holder: "0".to_owned(), rank: rank as u64 })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(wants_lua!("queue"), include_str!("look.lua")));
        &SCRIPT
    }

    /// All looks of a batch are one client's, and those of one attempt.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.join(name.companion_parts(DUE));
        call.keys.join(name.companion_parts(LEASES));
        QUEUE.add_keys(name, &mut call.keys);
        if call.args.len() == 0 {
            call.args.push(&self.client);
            call.args.number(attempt.not_after.0);
        }
        call.args.push(name.as_str());
        call.args.number(self.keep.into());
    }

    fn decode(reply: Reply) -> Result<Looked, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }

    fn server_time(reply: &Looked) -> Option<ServerTime> {
        Some(reply.now())
    }
}

impl BatchStep for Look {
    /// 100 queues are 1 to 2 ms of the server's time.
    const CHUNK: usize = 100;

    fn wrong_type(now: ServerTime) -> Looked {
        Looked::Ask { now }
    }

    fn decode_each(reply: Reply) -> Result<Vec<Looked>, Malformed> {
        Looked::decode_each(reply, |due| Ok(wire::int(Some(due))?.to_string()))
    }
}
