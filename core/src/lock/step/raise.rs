use std::time::Duration;

use super::LockState;
use crate::contended::token::{self, TOKEN, token_lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, Text, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Writes the token of a hold to a server that has granted it; whether it has. See `raise.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Raise {
    pub(crate) owner: String,
    pub(crate) token: u64,
    pub(crate) token_ttl: Option<Duration>,
}

/// What the server says to that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    pub(crate) now: ServerTime,
    /// The owner has the lock there, and its token is at least this one.
    pub(crate) done: bool,
}

impl Step for Raise {
    type State = LockState;
    type Reply = Raised;

    const OP: &'static str = "acquire";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Raised, WrongType> {
        if !state.main.fields()?.is_some_and(|owners| owners.contains_key(&self.owner)) {
            return Ok(Raised { now, done: false });
        }
        let last = state.token.as_ref().map(|key| token::last(key, 0)).transpose()?;
        if last.is_none_or(|last| last < self.token) {
            let stays = state.token.as_ref().is_some_and(|key| key.deadline.is_none());
            let ahead = self.token.saturating_sub(now.0).div_ceil(1_000);
            let deadline = self.token_ttl.filter(|_| !stays).map(|ttl| now.millis() + millis(ttl) + ahead);
            state.token = Some(Text { value: self.token.to_string(), deadline });
        }
        Ok(Raised { now, done: true })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(token_lua!(), include_str!("raise.lua")));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(TOKEN));
        call.args.push(&self.owner);
        call.args.number(self.token);
        call.args.number(self.token_ttl.map_or(0, millis));
    }

    fn decode(reply: Reply) -> Result<Raised, Malformed> {
        let items = wire::list(reply)?;
        Ok(Raised { now: wire::time(items.get(1))?, done: wire::int(items.first())? == 1 })
    }

    fn server_time(reply: &Raised) -> Option<ServerTime> {
        Some(reply.now)
    }
}
