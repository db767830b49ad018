use super::state::{Place, RANK, REMOVED};
use super::{QueueState, add_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Once, Outbox, Reply, Script, Step, WrongType, once_lua, wire};
use crate::time::ServerTime;

/// Removes jobs that wait, or dead ones. See `remove.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Remove {
    pub(crate) once: Once,
    /// Dead ones, and not those that wait.
    pub(crate) dead: bool,
    /// The job; `None`: as many as one script should remove.
    pub(crate) id: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Removed {
    pub(crate) count: u64,
    /// A delivery has the job.
    pub(crate) delivered: bool,
}

impl Step for Remove {
    type State = QueueState;
    type Reply = Carried<Removed>;

    const OP: &'static str = "remove";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Carried<Removed>, WrongType> {
        let carried = |count, delivered| Ok(Carried { now, out: Some(Removed { count, delivered }) });
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        if let Some(before) = state.done.count_of(&self.once) {
            return carried(before, false);
        }
        let dead = self.dead;
        let members: Vec<String> = match &self.id {
            None if dead => state.dead.iter().take(REMOVED).map(|(_, id)| id.clone()).collect(),
            None => state.due.iter().take(REMOVED).map(|(_, member)| member.clone()).collect(),
            Some(id) => {
                let member = match state.jobs.get(id) {
                    Some(job) if matches!(job.place, Place::Dead { .. }) && dead => id.clone(),
                    Some(job) if job.place == Place::Alive && !dead => format!("{}{id}", job.rank),
                    _ => return carried(0, false),
                };
                if !dead && state.due.score(&member).is_none() {
                    return carried(0, true);
                }
                vec![member]
            }
        };
        let count = members.len() as u64;
        if count > 0 {
            state.done.once(&self.once.counted(count), now);
        }
        for member in &members {
            state.jobs.remove(&member[if dead { 0 } else { RANK }..]);
            if dead {
                state.dead.remove(member)
            } else {
                state.due.remove(member)
            };
        }
        carried(count, false)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(
            crate::contended::wants_lua!("queue"),
            once_lua!(),
            include_str!("jobs.lua"),
            include_str!("counted.lua"),
            include_str!("remove.lua")
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        self.once.encode(attempt, call);
        call.args.push(if self.dead { "d" } else { "w" });
        call.args.push(self.id.as_deref().unwrap_or_default());
    }

    fn decode(reply: Reply) -> Result<Carried<Removed>, Malformed> {
        Carried::decode(reply, |items| {
            Ok(Removed { count: wire::unsigned(items.first())?, delivered: wire::int(items.get(1))? == 1 })
        })
    }

    fn server_time(reply: &Carried<Removed>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
