use super::state::HOLDER_BYTES;
use super::{RwLockState, add_queue_keys, with_holds, writes};
use crate::contended::token::TOKEN;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::text::start_of;
use crate::time::ServerTime;

/// So much of a token key's text is shown.
const TOKEN_BYTES: usize = 32;

/// Reads the lock without changing it. See `inspect.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Inspect;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Inspected {
    pub(crate) writer: Option<String>,
    pub(crate) readers: u64,
    /// ms; -1 without end, -2 when free.
    pub(crate) ttl: i64,
    pub(crate) token: Option<String>,
    /// How many processes wait.
    pub(crate) queued: u64,
}

impl Step for Inspect {
    type State = RwLockState;
    type Reply = Inspected;

    const OP: &'static str = "inspect";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut RwLockState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Inspected, WrongType> {
        state.mode()?;
        let (writer, readers) = match state.holds() {
            None => (None, state.fields().map_or(0, |fields| fields.len() as u64 - 1)),
            Some(holds) => {
                let last = holds.into_iter().filter(|hold| state.left_of(*hold, now) > 0).map(|(field, _)| field);
                let (writers, readers): (Vec<&str>, Vec<&str>) = last.partition(|field| writes(field));
                (writers.last().map(|writer| start_of(writer, HOLDER_BYTES)), readers.len() as u64)
            }
        };
        Ok(Inspected {
            writer,
            readers,
            ttl: state.main.ttl(now),
            token: state.token.as_ref().map(|token| start_of(&token.value, TOKEN_BYTES)),
            queued: state.queue.entries.len() as u64,
        })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_holds!("inspect.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(TOKEN));
        add_queue_keys(name, call);
    }

    fn decode(reply: Reply) -> Result<Inspected, Malformed> {
        let items = wire::list(reply)?;
        Ok(Inspected {
            writer: wire::text(items.first())?,
            readers: wire::unsigned(items.get(1))?,
            ttl: wire::int(items.get(2))?,
            token: wire::text(items.get(3))?,
            queued: wire::unsigned(items.get(4))?,
        })
    }
}
