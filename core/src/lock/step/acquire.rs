use std::time::Duration;

use redis::Value;

use super::{LockHash, LockState, MAX_TOKEN, TokenKey, token_key};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Notice, Script, Step, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Takes the lock for `owner`, or says who has it. See `lua/lock_acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    pub(crate) token_ttl: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    Granted {
        now: ServerTime,
        token: u64,
    },
    /// `ttl` is -1 for a foreign key that never expires.
    Busy {
        now: ServerTime,
        ttl: i64,
        holder: String,
    },
    /// The request came after its `not_after`.
    Stale {
        now: ServerTime,
    },
}

impl Acquire {
    fn mint(&self, state: &mut LockState, now: ServerTime) -> Result<u64, WrongType> {
        let mut token = now.0;
        let mut lasting = false;
        if let Some(last) = &state.token {
            token = token.max(read_token(&last.value).filter(|last| *last < MAX_TOKEN).ok_or(WrongType)? + 1);
            lasting = last.deadline.is_none();
        }
        let deadline = self.token_ttl.filter(|_| !lasting).map(|ttl| now.millis() + millis(ttl));
        state.token = Some(TokenKey { value: token.to_string(), deadline });
        Ok(token)
    }
}

fn read_token(text: &str) -> Option<u64> {
    (text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok())?
}

impl Step for Acquire {
    type State = LockState;
    type Reply = Acquired;

    const OP: &'static str = "acquire";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        _notices: &mut Vec<Notice>,
    ) -> Result<Acquired, WrongType> {
        if now > attempt.not_after {
            return Ok(Acquired::Stale { now });
        }
        let deadline = now.millis() + millis(self.lease);
        let Some(hash) = &state.hash else {
            let token = self.mint(state, now)?;
            state.hash = Some(LockHash::owned_by(&self.owner, deadline));
            return Ok(Acquired::Granted { now, token });
        };
        let ttl = hash.ttl(now);
        if !hash.owners.contains_key(&self.owner) {
            let holder = hash.owners.keys().next().cloned().unwrap_or_default();
            return Ok(Acquired::Busy { now, ttl, holder });
        }
        // A retry of the attempt that holds the lock: the same token again, and a lease that is never shorter.
        let token = match &state.token {
            Some(token) => read_token(&token.value).ok_or(WrongType)?,
            None => self.mint(state, now)?,
        };
        if let Some(hash) = state.hash.as_mut().filter(|_| ttl < millis(self.lease) as i64) {
            hash.deadline = Some(deadline);
        }
        Ok(Acquired::Granted { now, token })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("../../lua/lock_acquire.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.extend([name.as_str().to_owned(), token_key(name)]);
        call.args.extend([
            self.owner.clone(),
            millis(self.lease).to_string(),
            attempt.not_after.0.to_string(),
            self.token_ttl.map_or(0, millis).to_string(),
        ]);
    }

    fn decode(value: Value) -> Result<Acquired, Malformed> {
        let items = wire::array(value)?;
        let now = ServerTime(wire::unsigned(items.get(1))?);
        match wire::int(items.first())? {
            0 => Ok(Acquired::Granted { now, token: wire::unsigned(items.get(2))? }),
            1 => {
                let holder = wire::text(items.get(3))?.ok_or(Malformed)?;
                Ok(Acquired::Busy { now, ttl: wire::int(items.get(2))?, holder })
            }
            2 => Ok(Acquired::Stale { now }),
            _ => Err(Malformed),
        }
    }

    fn server_time(reply: &Acquired) -> Option<ServerTime> {
        match reply {
            Acquired::Granted { now, .. } | Acquired::Busy { now, .. } | Acquired::Stale { now } => Some(*now),
        }
    }
}
