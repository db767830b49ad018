use std::sync::Arc;

use super::{CountingState, add_keys, with_counting};
use crate::contended::Looked;
use crate::name::ObjectName;
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// What an acquire of a waiter does while too few permits are available, for many semaphores in one script. See `look.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) client: Arc<str>,
    /// Put off the end of the queue's keys.
    pub(crate) keep: bool,
}

impl Step for Look {
    type State = CountingState;
    type Reply = Looked;

    const OP: &'static str = "look";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut CountingState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Looked, WrongType> {
        if now > attempt.not_after {
            return Ok(Looked::TooLate { now });
        }
        let rank = state.queue_at(name, now, outbox).stay(&self.client, self.keep);
        let (Some(rank), Ok(available)) = (rank, state.count()) else { return Ok(Looked::Ask { now }) };
        let available = available.unwrap_or(0);
        // Only an acquire drops who stands in front and may be dead where so many are available.
        if available >= state.queue.want(&self.client) {
            return Ok(Looked::Ask { now });
        }
        let stands = state.queue_at(name, now, outbox).drop_silent(&self.client, rank);
        if stands < rank {
            state.wake(name, now, (available, stands), "", outbox);
        }
        Ok(Looked::Held { now, ttl: -1, holder: available.to_string(), rank: stands as u64 })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_counting!("look.lua"));
        &SCRIPT
    }

    /// All looks of a batch are one client's, and those of one attempt.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        if call.args.len() == 0 {
            call.args.push(&self.client);
            call.args.number(attempt.not_after.0);
        }
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
    /// 100 semaphores are 1 to 2 ms of the server's time.
    const CHUNK: usize = 100;

    fn wrong_type(now: ServerTime) -> Looked {
        Looked::Ask { now }
    }

    fn decode_each(reply: Reply) -> Result<Vec<Looked>, Malformed> {
        Looked::decode_each(reply, |available| Ok(wire::int(Some(available))?.to_string()))
    }
}
