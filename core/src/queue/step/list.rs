use super::state::{Job, Place, RANK};
use super::{QueueState, add_keys, with_jobs};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Lists jobs without changing them. See `list.lua`.
#[derive(Clone, Debug)]
pub(crate) struct List {
    /// Dead ones, and not those that wait.
    pub(crate) dead: bool,
    pub(crate) most: u64,
}

/// A job that was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) id: String,
    pub(crate) payload: Vec<u8>,
    pub(crate) deliveries: u64,
    /// Server ms.
    pub(crate) due: u64,
    pub(crate) rank: String,
    /// Since when it is dead; 0 when it is not.
    pub(crate) since: u64,
    pub(crate) reason: String,
}

impl Listed {
    fn new(id: String, job: Job, since: u64) -> Listed {
        let Job { place, due, rank, deliveries, payload, .. } = job;
        let reason = match place {
            Place::Dead { reason } => reason,
            Place::Alive => String::new(),
        };
        Listed { id, payload, deliveries, due, rank, since, reason }
    }
}

impl Step for List {
    type State = QueueState;
    type Reply = Vec<Listed>;

    const OP: &'static str = "list";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Vec<Listed>, WrongType> {
        // As a take finds them, which this is not.
        let mut due = state.due.clone();
        due.promote(now);
        let waiting = || due.iter().map(|(_, member)| (0, &member[RANK..])).collect();
        let dead = || state.dead.iter().map(|(since, id)| (*since, id.as_str())).collect();
        let range: Vec<(u64, &str)> = if self.dead { dead() } else { waiting() };
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        for (since, id) in range.into_iter().take(self.most as usize) {
            let Some(job) = state.jobs.get(id) else { continue };
            bytes += job.payload.len();
            jobs.push(Listed::new(id.to_owned(), job.clone(), since));
            if bytes >= 1 << 20 {
                break;
            }
        }
        Ok(jobs)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_jobs!("list.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(if self.dead { "d" } else { "w" });
        call.args.number(self.most);
    }

    fn decode(reply: Reply) -> Result<Vec<Listed>, Malformed> {
        let read = |item: Reply| {
            let items = wire::list(item)?;
            let id = wire::text(items.first())?.ok_or(Malformed)?;
            let Some(Reply::Bytes(job)) = items.get(1) else { return Err(Malformed) };
            Ok(Listed::new(id, Job::parse(job)?, wire::unsigned(items.get(2))?))
        };
        wire::list(reply)?.into_iter().map(read).collect()
    }
}
