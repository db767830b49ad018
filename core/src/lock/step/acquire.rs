use std::time::Duration;

use super::{HOLDER_BYTES, LockState, QUEUE, client_of, queue_at};
use crate::contended::token::{self, TOKEN, token_lua};
use crate::contended::{Acquired, queue_lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::text::start_of;
use crate::time::{ServerTime, millis};

/// Takes the lock for `owner`, or says what is in the way. See `acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    pub(crate) token_ttl: Option<Duration>,
    /// How many tokens to reserve, at least 1: for holders of this process that follow one another.
    pub(crate) block: u64,
    /// Stand in the queue when the lock is not to be had.
    pub(crate) waits: bool,
}

impl Acquire {
    pub(super) fn mint(&self, state: &mut LockState, now: ServerTime) -> Result<u64, WrongType> {
        token::mint(&mut state.token, now, self.token_ttl, self.block)
    }

    /// The tokens that this attempt got when it was first carried out, or others if they were forgotten.
    pub(super) fn same_again(&self, state: &mut LockState, now: ServerTime) -> Result<u64, WrongType> {
        match &state.token {
            None => self.mint(state, now),
            Some(key) => token::given(key, self.block),
        }
    }
}

impl Step for Acquire {
    type State = LockState;
    type Reply = Acquired;

    const OP: &'static str = "acquire";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Acquired, WrongType> {
        if now > attempt.not_after {
            return Ok(Acquired::TooLate { now });
        }
        let (client, deadline) = (client_of(&self.owner), now.millis() + millis(self.lease));
        if let Some(owners) = state.main.fields()? {
            let ttl = state.main.ttl(now);
            let holder = owners.keys().next().cloned().unwrap_or_default();
            if holder != self.owner && owners.contains_key("mode") {
                return Err(WrongType);
            }
            if holder != self.owner {
                let mut queue = queue_at(&mut state.queue, name, now, outbox);
                let rank = self.waits.then(|| queue.enqueue(client) as u64);
                let holder = start_of(&holder, HOLDER_BYTES);
                return Ok(Acquired::Busy { now, ttl, holder, rank });
            }
            let token = self.same_again(state, now)?;
            if ttl < millis(self.lease) as i64 {
                state.main.end_at(deadline);
            }
            return Ok(Acquired::granted(now, token));
        }
        let mut queue = queue_at(&mut state.queue, name, now, outbox);
        let mut head = queue.head().map(str::to_owned);
        let behind = |head: &Option<String>| head.as_deref().is_some_and(|head| head != client);
        let mut held_up = behind(&head) && (self.waits || !queue.queue.may_barge());
        if held_up && head.as_deref().is_some_and(|head| queue.is_there(head)) {
            let rank = self.waits.then(|| queue.enqueue(client) as u64);
            return Ok(Acquired::NotYourTurn { now, rank });
        }
        if held_up {
            state.token.as_ref().map_or(Ok(0), |key| token::last(key, self.block))?;
            let before = head;
            queue.drop_gone(client, self.waits);
            head = queue.head().map(str::to_owned);
            held_up = behind(&head) && (self.waits || head == before);
            if held_up {
                let rank = self.waits.then(|| queue.enqueue(client) as u64);
                return Ok(Acquired::NotYourTurn { now, rank });
            }
        }
        let token = self.mint(state, now)?;
        state.set_owner(&self.owner, deadline);
        let mut queue = queue_at(&mut state.queue, name, now, outbox);
        if head.as_deref() == Some(client) && self.waits {
            queue.leave(client);
            queue.moved_up(0, false, client);
        } else if behind(&head) {
            queue.barge();
        }
        Ok(Acquired::granted(now, token))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(queue_lua!(), token_lua!(), include_str!("acquire.lua")));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(TOKEN));
        QUEUE.add_keys(name, &mut call.keys);
        call.args.push(&self.owner);
        call.args.number(millis(self.lease));
        call.args.number(attempt.not_after.0);
        call.args.number(self.token_ttl.map_or(0, millis));
        call.args.number(self.block);
        call.args.number(self.waits.into());
    }

    fn decode(reply: Reply) -> Result<Acquired, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        let rank = |at| Ok(u64::try_from(wire::int(items.get(at))?).ok());
        match wire::int(items.first())? {
            0 => Ok(Acquired::granted(now, token::told(items.get(2))?)),
            1 => {
                let holder = wire::text(items.get(3))?.ok_or(Malformed)?;
                Ok(Acquired::Busy { now, ttl: wire::int(items.get(2))?, holder, rank: rank(4)? })
            }
            2 => Ok(Acquired::TooLate { now }),
            3 => Ok(Acquired::NotYourTurn { now, rank: rank(2)? }),
            _ => Err(Malformed),
        }
    }

    fn server_time(reply: &Acquired) -> Option<ServerTime> {
        Some(reply.now())
    }
}
