use super::{HOLDER_BYTES, LockState, QUEUE};
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
    pub(crate) holder: Option<String>,
    /// ms; -1 without expiry, -2 when free.
    pub(crate) ttl: i64,
    pub(crate) token: Option<String>,
    /// How many processes wait.
    pub(crate) queued: u64,
}

impl Step for Inspect {
    type State = LockState;
    type Reply = Inspected;

    const OP: &'static str = "inspect";
    const IDEMPOTENT: bool = true;
    const READS: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Inspected, WrongType> {
        let owners = state.main.fields()?;
        Ok(Inspected {
            holder: owners.and_then(|owners| owners.keys().next()).map(|holder| start_of(holder, HOLDER_BYTES)),
            ttl: state.main.ttl(now),
            token: state.token.as_ref().map(|token| start_of(&token.value, TOKEN_BYTES)),
            queued: state.queue.entries.len() as u64,
        })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("inspect.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(TOKEN));
        call.keys.join(name.companion_parts(QUEUE.queue));
    }

    fn decode(reply: Reply) -> Result<Inspected, Malformed> {
        let items = wire::list(reply)?;
        Ok(Inspected {
            holder: wire::text(items.first())?,
            ttl: wire::int(items.get(1))?,
            token: wire::text(items.get(2))?,
            queued: wire::unsigned(items.get(3))?,
        })
    }
}
