use super::state::{Place, REMOVED, rank_at};
use super::{QueueState, add_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Once, Outbox, Reply, Script, Step, WrongType, once_lua, wire};
use crate::time::ServerTime;

/// Has dead jobs wait again. See `requeue.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Requeue {
    pub(crate) once: Once,
    /// The job; `None`: as many as one script should move.
    pub(crate) id: Option<String>,
}

impl Step for Requeue {
    type State = QueueState;
    type Reply = Carried<u64>;

    const OP: &'static str = "requeue";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Carried<u64>, WrongType> {
        let carried = |count| Ok(Carried { now, out: Some(count) });
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        if let Some(before) = state.done.count_of(&self.once) {
            return carried(before);
        }
        let before = state.first_due();
        let first = || state.dead.iter().take(REMOVED).map(|(_, id)| id.clone()).collect();
        let mut ids: Vec<String> = self.id.clone().map_or_else(first, |id| vec![id]);
        ids.retain(|id| state.jobs.get(id).is_some_and(|job| matches!(job.place, Place::Dead { .. })));
        let count = ids.len() as u64;
        if count == 0 {
            return carried(0);
        }
        state.done.once(&self.once.counted(count), now);
        for id in ids {
            let Some(job) = state.jobs.get_mut(&id) else { continue };
            (job.place, job.due, job.deliveries) = (Place::Alive, now.millis(), 0);
            job.rank = rank_at(&job.rank, job.due);
            state.enter(&id, now);
            state.dead.remove(&id);
        }
        state.announce(name, now, before, outbox);
        carried(count)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(
            crate::contended::wants_lua!("queue"),
            once_lua!(),
            include_str!("jobs.lua"),
            include_str!("counted.lua"),
            include_str!("requeue.lua")
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        self.once.encode(attempt, call);
        call.args.push(self.id.as_deref().unwrap_or_default());
    }

    fn decode(reply: Reply) -> Result<Carried<u64>, Malformed> {
        Carried::decode(reply, |items| wire::unsigned(items.first()))
    }

    fn server_time(reply: &Carried<u64>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
