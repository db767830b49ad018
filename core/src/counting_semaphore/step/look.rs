use super::{CountingState, add_keys, with_counting};
use crate::contended::{Look, Looked, LookedAt};
use crate::name::ObjectName;
use crate::step::{Call, Malformed, Outbox, Reply, Script, wire};
use crate::time::ServerTime;

/// What an acquire of a waiter does while too few permits are available, for many semaphores in one script. See `look.lua`.
impl LookedAt for CountingState {
    /// 100 semaphores are 1 to 2 ms of the server's time.
    const CHUNK: usize = 100;

    fn look(
        &mut self,
        name: &ObjectName,
        look: &Look<CountingState>,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Looked {
        let rank = self.queue_at(name, now, outbox).stay(&look.client, look.keep);
        let (Some(rank), Ok(available)) = (rank, self.count()) else { return Looked::Ask { now } };
        let available = available.unwrap_or(0);
        // Only an acquire drops who stands in front and may be dead where so many are available.
        if available >= self.queue.want(&look.client) {
            return Looked::Ask { now };
        }
        let stands = self.queue_at(name, now, outbox).drop_silent(&look.client, rank);
        if stands < rank {
            self.wake(name, now, (available, stands), "", outbox);
        }
        Looked::Held { now, ttl: -1, holder: available.to_string(), rank: stands as u64 }
    }

    fn look_script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_counting!("look.lua"));
        &SCRIPT
    }

    fn look_keys(name: &ObjectName, call: &mut Call) {
        add_keys(name, call);
    }

    fn holder(reply: &Reply) -> Result<String, Malformed> {
        Ok(wire::int(Some(reply))?.to_string())
    }
}
