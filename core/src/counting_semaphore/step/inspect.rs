use super::{CountingState, add_keys, with_counting};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Reads without changing anything. See `inspect.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Inspect;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Inspected {
    /// `None` when the semaphore is not there.
    pub(crate) available: Option<i64>,
    /// How many processes wait.
    pub(crate) queued: u64,
}

impl Step for Inspect {
    type State = CountingState;
    type Reply = Inspected;

    const OP: &'static str = "inspect";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut CountingState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Inspected, WrongType> {
        Ok(Inspected { available: state.count()?, queued: state.queue.entries.len() as u64 })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_counting!("inspect.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
    }

    fn decode(reply: Reply) -> Result<Inspected, Malformed> {
        let items = wire::list(reply)?;
        let available = match items.first() {
            Some(Reply::Nil) => None,
            item => Some(wire::int(item)?),
        };
        Ok(Inspected { available, queued: wire::unsigned(items.get(1))? })
    }
}
