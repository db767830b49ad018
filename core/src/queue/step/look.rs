use super::{DUE, LEASES, QUEUE, QueueState};
use crate::contended::{Look, Looked, LookedAt, wants_lua};
use crate::name::ObjectName;
use crate::step::{Call, Malformed, Outbox, Reply, Script, wire};
use crate::time::ServerTime;

/// What a take of a waiter does while nothing is due, for many queues in one script. See `look.lua`.
impl LookedAt for QueueState {
    /// 100 queues are 1 to 2 ms of the server's time.
    const CHUNK: usize = 100;

    fn look(&mut self, name: &ObjectName, look: &Look<QueueState>, now: ServerTime, outbox: &mut Outbox<'_>) -> Looked {
        let next = self.next_event(now);
        let mut queue = self.queue_at(name, now, outbox);
        let Some(rank) = queue.stay(&look.client, look.keep) else { return Looked::Ask { now } };
        // Only a take takes back what is over, and drops who stands in front and may be dead where a job is due.
        if next == 0 {
            return Looked::Ask { now };
        }
        let rank = queue.drop_silent(&look.client, rank);
        let ttl = if rank == 0 { next } else { -1 };
        Looked::Held { now, ttl, holder: "0".to_owned(), rank: rank as u64 }
    }

    fn look_script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(wants_lua!("queue"), include_str!("look.lua")));
        &SCRIPT
    }

    fn look_keys(name: &ObjectName, call: &mut Call) {
        call.keys.join(name.companion_parts(DUE));
        call.keys.join(name.companion_parts(LEASES));
        QUEUE.add_keys(name, &mut call.keys);
    }

    fn look_args(name: &ObjectName, call: &mut Call) {
        call.args.push(name.as_str());
    }

    fn holder(reply: &Reply) -> Result<String, Malformed> {
        Ok(wire::int(Some(reply))?.to_string())
    }
}
