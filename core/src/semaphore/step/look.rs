use std::sync::Arc;

use super::{SemaphoreState, add_keys, with_permits};
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
    type State = SemaphoreState;
    type Reply = Looked;

    const OP: &'static str = "look";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut SemaphoreState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Looked, WrongType> {
        if now > attempt.not_after {
            return Ok(Looked::TooLate { now });
        }
        let rank = state.queue_at(name, now, outbox).stay(&self.client, self.keep);
        let (Some(rank), Ok(Some(available))) = (rank, state.count()) else { return Ok(Looked::Ask { now }) };
        let ttl = state.first_expiry(now);
        // Only an acquire takes back what has expired, and drops who stands in front and may be dead where so many are available.
        if ttl == 0 || available >= state.queue.want(&self.client) {
            return Ok(Looked::Ask { now });
        }
        let stands = state.queue_at(name, now, outbox).drop_silent(&self.client, rank);
        if stands < rank {
            state.wake(name, now, (available, stands), "", outbox);
        }
        Ok(Looked::Held { now, ttl, holder: available.to_string(), rank: stands as u64 })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("look.lua"));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::MainKey;

    /// -1 is the ttl of what never expires, and no ttl of what expired 1 ms ago.
    #[test]
    fn a_permit_that_expired_1_ms_ago_is_asked_for() {
        let (name, now) = (ObjectName::new("", "pool").unwrap(), ServerTime(9_000_000));
        for (expires_at, asks) in [(8_998, true), (8_999, true), (9_000, true), (9_001, false)] {
            let main = MainKey::of_text("0".to_owned(), None);
            let mut state = SemaphoreState { main, ..SemaphoreState::default() };
            state.taken.value = [("one".to_owned(), expires_at)].into();
            state.queue.entries = vec![(1, "us".to_owned())];
            state.queue.seen = [("us".to_owned(), 9_000)].into();
            state.queue.wants = [("us".to_owned(), 1)].into();
            let look = Look { client: "us".into(), keep: false };
            let looked = look.apply(&name, Attempt { not_after: now }, &mut state, now, &mut Outbox::new(&|_| true));
            assert_eq!(looked.ok() == Some(Looked::Ask { now }), asks, "a permit that expires at {expires_at}");
        }
    }
}
