use super::acquire::read_holder;
use super::state::{Mode, available_in};
use super::{RwLockState, add_queue_keys, with_holds};
use crate::contended::{Look, Looked, LookedAt};
use crate::name::ObjectName;
use crate::step::{Call, Malformed, Outbox, Reply, Script};
use crate::time::ServerTime;

/// What an acquire of a waiter does while the lock is held against it, for many locks in one script. See `look.lua`.
impl LookedAt for RwLockState {
    /// 100 locks are 1 to 2 ms of the server's time.
    const CHUNK: usize = 100;

    fn look(
        &mut self,
        name: &ObjectName,
        look: &Look<RwLockState>,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Looked {
        let rank = self.queue_at(name, now, outbox).stay(&look.client, look.keep);
        let (Some(rank), Ok(Some(mode))) = (rank, self.mode()) else { return Looked::Ask { now } };
        let (ttl, holder) = self.in_the_way(mode, now);
        // Where it could be granted, who stands in front may be dead, and only an acquire drops it then; and only an acquire
        // drops a writer whose lease is over, and readers out of a crowd.
        let is_over = mode == Mode::Write && ttl == 0 || rank == 0 && self.is_crowded(mode);
        if is_over || available_in(Some(mode)) >= self.queue.want(&look.client) {
            return Looked::Ask { now };
        }
        let stands = self.queue_at(name, now, outbox).drop_silent(&look.client, rank);
        if stands < rank {
            self.wake(name, now, stands, "", outbox);
        }
        Looked::Held { now, ttl, holder, rank: stands as u64 }
    }

    fn look_script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_holds!("look.lua"));
        &SCRIPT
    }

    fn look_keys(name: &ObjectName, call: &mut Call) {
        call.keys.push(name.as_str());
        add_queue_keys(name, call);
    }

    fn holder(reply: &Reply) -> Result<String, Malformed> {
        read_holder(Some(reply))
    }
}
