use super::{SemaphoreState, add_keys, with_permits};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Reads the semaphore without changing it. See `inspect.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Inspect;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspected {
    /// As the key says; without those that have expired. `None`: the semaphore is not there.
    pub(crate) available: Option<i64>,
    /// Expired ones among them.
    pub(crate) taken: u64,
    pub(crate) expired: u64,
    /// How many processes wait.
    pub(crate) queued: u64,
}

impl Step for Inspect {
    type State = SemaphoreState;
    type Reply = Inspected;

    const OP: &'static str = "inspect";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut SemaphoreState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Inspected, WrongType> {
        Ok(Inspected {
            available: state.count()?,
            taken: state.taken.value.len() as u64,
            expired: state.taken.value.values().filter(|expiry| **expiry <= now.millis()).count() as u64,
            queued: state.queue.entries.len() as u64,
        })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("inspect.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
    }

    fn decode(reply: Reply) -> Result<Inspected, Malformed> {
        let items = wire::list(reply)?;
        let available = match items.first() {
            Some(Reply::Nil) => None,
            number => Some(wire::int(number)?),
        };
        let count = |at| wire::unsigned(items.get(at));
        Ok(Inspected { available, taken: count(1)?, expired: count(2)?, queued: count(3)? })
    }
}
