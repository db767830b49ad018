use super::{QueueState, add_keys, with_jobs};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Counts the jobs. See `inspect.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Inspect;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspected {
    pub(crate) due: u64,
    pub(crate) delayed: u64,
    pub(crate) delivered: u64,
    pub(crate) dead: u64,
    /// How many processes wait.
    pub(crate) queued: u64,
}

impl Step for Inspect {
    type State = QueueState;
    type Reply = Inspected;

    const OP: &'static str = "counts";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Inspected, WrongType> {
        let due = state.ready(now) as u64;
        Ok(Inspected {
            due,
            delayed: state.due.len() - due,
            delivered: state.leases.len(),
            dead: state.dead.len(),
            queued: state.queue.entries.len() as u64,
        })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_jobs!("inspect.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
    }

    fn decode(reply: Reply) -> Result<Inspected, Malformed> {
        let items = wire::list(reply)?;
        let number = |at: usize| wire::unsigned(items.get(at));
        let (due, delayed, delivered) = (number(0)?, number(1)?, number(2)?);
        Ok(Inspected { due, delayed, delivered, dead: number(3)?, queued: number(4)? })
    }
}
