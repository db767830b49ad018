use super::{HOLDER_BYTES, LockState, QUEUE, queue_at, with_queue};
use crate::contended::{Look, Looked, LookedAt};
use crate::name::ObjectName;
use crate::step::{Call, Malformed, Outbox, Reply, Script, wire};
use crate::text::start_of;
use crate::time::ServerTime;

/// What an acquire of a waiter does while the lock is held, for many locks in one script. Neither joins the queue nor takes the
/// lock. See `look.lua`.
impl LookedAt for LockState {
    /// 200 locks are 1 to 2 ms of the server's time.
    const CHUNK: usize = 200;

    fn look(&mut self, name: &ObjectName, look: &Look<LockState>, now: ServerTime, outbox: &mut Outbox<'_>) -> Looked {
        let Ok(owners) = self.main.fields() else { return Looked::Ask { now } };
        let mut queue = queue_at(&mut self.queue, name, now, outbox);
        // Also where it is free: the acquire may have to wait for its turn among many others of the client.
        let rank = queue.stay(&look.client, look.keep);
        let (Some(owners), Some(rank)) = (owners, rank) else { return Looked::Ask { now } };
        let holder = owners.keys().next().map_or("", String::as_str);
        let (ttl, holder) = (self.main.ttl(now), start_of(holder, HOLDER_BYTES));
        Looked::Held { now, ttl, holder, rank: queue.drop_silent(&look.client, rank) as u64 }
    }

    fn look_script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_queue!("look.lua"));
        &SCRIPT
    }

    fn look_keys(name: &ObjectName, call: &mut Call) {
        call.keys.push(name.as_str());
        QUEUE.add_keys(name, &mut call.keys);
    }

    fn holder(reply: &Reply) -> Result<String, Malformed> {
        wire::text(Some(reply))?.ok_or(Malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::{Attempt, Step};

    /// Its acquire may come late, when many locks of the client came free together.
    #[test]
    fn a_look_at_a_free_lock_stamps_the_place() {
        let (name, now) = (ObjectName::new("", "job").unwrap(), ServerTime(9_000_000));
        let mut state = LockState::default();
        state.queue.entries = vec![(1, "us".to_owned()), (2, "them".to_owned())];
        state.queue.seen = [("us".to_owned(), 1_000), ("them".to_owned(), 1_000)].into();
        let look = Look::new(&"us".into(), false);
        let looked = look.apply(&name, Attempt { not_after: now }, &mut state, now, &mut Outbox::new(&|_| true));
        assert_eq!(looked.ok(), Some(Looked::Ask { now }));
        assert_eq!(state.queue.seen, [("us".to_owned(), 9_000), ("them".to_owned(), 1_000)].into());
    }
}
