use std::sync::Arc;

use super::{HOLDER_BYTES, LockState, QUEUE, queue_at, with_queue};
use crate::contended::Looked;
use crate::name::ObjectName;
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::text::start_of;
use crate::time::ServerTime;

/// What an acquire of a waiter does while the lock is held, for many locks in one script. Neither joins the queue nor takes the
/// lock. See `look.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    pub(crate) client: Arc<str>,
    /// Put off the end of the queue's keys.
    pub(crate) keep: bool,
}

impl Step for Look {
    type State = LockState;
    type Reply = Looked;

    const OP: &'static str = "look";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Looked, WrongType> {
        if now > attempt.not_after {
            return Ok(Looked::TooLate { now });
        }
        let Ok(owners) = state.main.fields() else { return Ok(Self::wrong_type(now)) };
        let mut queue = queue_at(&mut state.queue, name, now, outbox);
        // Also where it is free: the acquire may have to wait for its turn among many others of the client.
        let rank = queue.stay(&self.client, self.keep);
        let (Some(owners), Some(rank)) = (owners, rank) else { return Ok(Looked::Ask { now }) };
        let holder = owners.keys().next().map_or("", String::as_str);
        let (ttl, holder) = (state.main.ttl(now), start_of(holder, HOLDER_BYTES));
        Ok(Looked::Held { now, ttl, holder, rank: queue.drop_silent(&self.client, rank) as u64 })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_queue!("look.lua"));
        &SCRIPT
    }

    /// All looks of a batch are one client's, and those of one attempt.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        QUEUE.add_keys(name, &mut call.keys);
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
    /// 200 locks are 1 to 2 ms of the server's time.
    const CHUNK: usize = 200;

    fn wrong_type(now: ServerTime) -> Looked {
        Looked::Ask { now }
    }

    fn decode_each(reply: Reply) -> Result<Vec<Looked>, Malformed> {
        Looked::decode_each(reply, |holder| wire::text(Some(holder))?.ok_or(Malformed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Its acquire may come late, when many locks of the client came free together.
    #[test]
    fn a_look_at_a_free_lock_stamps_the_place() {
        let (name, now) = (ObjectName::new("", "job").unwrap(), ServerTime(9_000_000));
        let mut state = LockState::default();
        state.queue.entries = vec![(1, "us".to_owned()), (2, "them".to_owned())];
        state.queue.seen = [("us".to_owned(), 1_000), ("them".to_owned(), 1_000)].into();
        let look = Look { client: "us".into(), keep: false };
        let looked = look.apply(&name, Attempt { not_after: now }, &mut state, now, &mut Outbox::new(&|_| true));
        assert_eq!(looked.ok(), Some(Looked::Ask { now }));
        assert_eq!(state.queue.seen, [("us".to_owned(), 9_000), ("them".to_owned(), 1_000)].into());
    }
}
