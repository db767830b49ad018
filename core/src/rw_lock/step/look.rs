use std::sync::Arc;

use super::acquire::read_holder;
use super::state::{Mode, available_in};
use super::{RwLockState, add_queue_keys, with_holds};
use crate::contended::Looked;
use crate::name::ObjectName;
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType};
use crate::time::ServerTime;

/// What an acquire of a waiter does while the lock is held against it, for many locks in one script. See `look.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) client: Arc<str>,
    /// Put off the end of the queue's keys.
    pub(crate) keep: bool,
}

impl Step for Look {
    type State = RwLockState;
    type Reply = Looked;

    const OP: &'static str = "look";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut RwLockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Looked, WrongType> {
        if now > attempt.not_after {
            return Ok(Looked::TooLate { now });
        }
        let rank = state.queue_at(name, now, outbox).stay(&self.client, self.keep);
        let (Some(rank), Ok(Some(mode))) = (rank, state.mode()) else { return Ok(Looked::Ask { now }) };
        let (ttl, holder) = state.in_the_way(mode, now);
        // Where it could be granted, who stands in front may be dead, and only an acquire drops it then; and only an acquire
        // drops a writer whose lease is over, and readers out of a crowd.
        let is_over = mode == Mode::Write && ttl == 0 || rank == 0 && state.is_crowded(mode);
        if is_over || available_in(Some(mode)) >= state.queue.want(&self.client) {
            return Ok(Looked::Ask { now });
        }
        let stands = state.queue_at(name, now, outbox).drop_silent(&self.client, rank);
        if stands < rank {
            state.wake(name, now, stands, "", outbox);
        }
        Ok(Looked::Held { now, ttl, holder, rank: stands as u64 })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_holds!("look.lua"));
        &SCRIPT
    }

    /// All looks of a batch are one client's, and those of one attempt.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        add_queue_keys(name, call);
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
    /// 100 locks are 1 to 2 ms of the server's time.
    const CHUNK: usize = 100;

    fn wrong_type(now: ServerTime) -> Looked {
        Looked::Ask { now }
    }

    fn decode_each(reply: Reply) -> Result<Vec<Looked>, Malformed> {
        Looked::decode_each(reply, |holder| read_holder(Some(holder)))
    }
}
