use super::{SemaphoreState, add_keys, with_permits};
use crate::contended::{Look, Looked, LookedAt};
use crate::name::ObjectName;
use crate::step::{Call, Malformed, Outbox, Reply, Script, wire};
use crate::time::ServerTime;

/// What an acquire of a waiter does while too few permits are available, for many semaphores in one script. See `look.lua`.
impl LookedAt for SemaphoreState {
    /// 100 semaphores are 1 to 2 ms of the server's time.
    const CHUNK: usize = 100;

    fn look(
        &mut self,
        name: &ObjectName,
        look: &Look<SemaphoreState>,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Looked {
        let rank = self.queue_at(name, now, outbox).stay(&look.client, look.keep);
        let (Some(rank), Ok(Some(available))) = (rank, self.count()) else { return Looked::Ask { now } };
        let ttl = self.first_expiry(now);
        // Only an acquire takes back what has expired, and drops who stands in front and may be dead where so many are available.
        if ttl == 0 || available >= self.queue.want(&look.client) {
            return Looked::Ask { now };
        }
        let stands = self.queue_at(name, now, outbox).drop_silent(&look.client, rank);
        if stands < rank {
            self.wake(name, now, (available, stands), "", outbox);
        }
        Looked::Held { now, ttl, holder: available.to_string(), rank: stands as u64 }
    }

    fn look_script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("look.lua"));
        &SCRIPT
    }

    fn look_keys(name: &ObjectName, call: &mut Call) {
        add_keys(name, call);
    }

    fn holder(reply: &Reply) -> Result<String, Malformed> {
        Ok(wire::int(Some(reply))?.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Attempt, MainKey, Step};

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
            let look = Look::new(&"us".into(), false);
            let looked = look.apply(&name, Attempt { not_after: now }, &mut state, now, &mut Outbox::new(&|_| true));
            assert_eq!(looked.ok() == Some(Looked::Ask { now }), asks, "a permit that expires at {expires_at}");
        }
    }
}
