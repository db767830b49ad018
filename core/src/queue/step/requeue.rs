use super::state::{Place, REMOVED};
use super::{QueueState, add_keys, with_jobs};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Has dead jobs wait again. See `requeue.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Requeue {
    /// The job; `None`: as many as one script should move.
    pub(crate) id: Option<String>,
}

impl Step for Requeue {
    type State = QueueState;
    type Reply = u64;

    const OP: &'static str = "requeue";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        _attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<u64, WrongType> {
        let (before, mut moved) = (state.first_due(), 0);
        let first = || state.dead.iter().take(REMOVED).map(|(_, id)| id.clone()).collect();
        let ids: Vec<String> = self.id.clone().map_or_else(first, |id| vec![id]);
        for id in ids {
            let Some(job) = state.jobs.get_mut(&id) else { continue };
            if !matches!(job.place, Place::Dead { .. }) {
                continue;
            }
            (job.place, job.due, job.deliveries) = (Place::Alive, now.millis(), 0);
            state.due.set(&format!("{}{id}", job.rank), now.millis());
            state.dead.remove(&id);
            moved += 1;
        }
        if moved > 0 {
            state.announce(name, now, before, outbox);
        }
        Ok(moved)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_jobs!("requeue.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(self.id.as_deref().unwrap_or_default());
    }

    fn decode(reply: Reply) -> Result<u64, Malformed> {
        wire::unsigned(Some(&reply))
    }
}
