use std::time::Duration;

use super::state::{Mode, available_in};
use super::{ALL, CHANNEL, RwLockState, add_queue_keys, add_timeout_key, client_of, writes};
use crate::contended::token::{self, TOKEN, read_token, token_lua};
use crate::contended::{Acquired, Turn, turn_lua, wants_lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, Text, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Takes one side, or says what is in the way. See `acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    /// The field of the hold.
    pub(crate) field: String,
    pub(crate) lease: Duration,
    pub(crate) token_ttl: Option<Duration>,
    /// Stand in the queue when it is not granted.
    pub(crate) waits: bool,
    /// The field of the write hold under which a reader asks: whoever writes may read as well.
    pub(crate) under: Option<String>,
    /// Take the lock away from whoever holds it, past the queue: of a writer that does not wait.
    pub(crate) steals: bool,
}

impl Acquire {
    fn wants(&self) -> u32 {
        if writes(&self.field) { ALL } else { 1 }
    }

    /// The token that this attempt got when it was first carried out, if its hold is there.
    fn same_again(&self, state: &mut RwLockState, now: ServerTime) -> Result<Option<u64>, WrongType> {
        let lease = millis(self.lease);
        let key = (self.field.clone(), 1);
        if !state.has(&self.field) {
            return Ok(None);
        }
        let Some(timeout) = state.timeouts.get_mut(&key) else { return Ok(None) };
        let token = read_token(&timeout.value).filter(|token| *token < 1 << 53).ok_or(WrongType)?;
        if timeout.ttl(now) < lease as i64 {
            timeout.deadline = Some(now.millis() + lease);
        }
        state.keep_until(now.millis() + lease);
        Ok(Some(token))
    }

    fn is_beneath(&self, state: &RwLockState, mode: Option<Mode>, now: ServerTime) -> bool {
        let under = self.under.as_deref().filter(|under| mode == Some(Mode::Write) && state.has(under));
        under.is_some_and(|under| state.left_of((under, "1"), now) > 0)
    }
}

impl Step for Acquire {
    type State = RwLockState;
    type Reply = Acquired;

    const OP: &'static str = "acquire";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut RwLockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Acquired, WrongType> {
        if now > attempt.not_after {
            return Ok(Acquired::TooLate { now });
        }
        let (client, wants) = (client_of(&self.field), self.wants());
        let caller = if self.waits { client } else { "" };
        let mut mode = state.mode()?;
        if let Some(token) = self.same_again(state, now)? {
            return Ok(Acquired::granted(now, token));
        }
        let mut turn = Turn::new(client, wants, self.waits);
        if !self.steals && !self.is_beneath(state, mode, now) && !turn.is_due(&state.queue, available_in(mode)) {
            state.token.as_ref().map_or(Ok(0), |key| token::last(key, 1))?;
            let mut due = false;
            if mode == Some(Mode::Write) {
                let (writer, left) = state.writer(now);
                if left == 0 {
                    state.remove(&writer);
                    state.after_writer(name, now, outbox);
                    mode = state.mode()?;
                    due = turn.is_due_now(&state.queue, available_in(mode));
                }
            } else if writes(&self.field)
                && self.waits
                && state.queue.head().is_none_or(|head| head == client)
                && mode.is_some_and(|mode| state.is_crowded(mode))
                && state.after_some_of_a_crowd(name, now, outbox)
            {
                mode = None;
                due = turn.is_due_now(&state.queue, available_in(mode));
            }
            let available = available_in(mode);
            let mut queue = state.queue_at(name, now, outbox);
            if !due && !turn.gets_past(&mut queue, available) {
                let rank = turn.line_up(&mut queue, (available, ALL.into()));
                return Ok(match mode {
                    Some(mode) if available < wants.into() => {
                        let (ttl, holder) = state.in_the_way(mode, now);
                        Acquired::Busy { now, ttl, holder, rank }
                    }
                    _ => Acquired::NotYourTurn { now, rank },
                });
            }
        }
        let token = token::mint(&mut state.token, now, self.token_ttl, 1)?;
        if self.steals {
            state.take_away(name, now, outbox);
        }
        let deadline = now.millis() + millis(self.lease);
        state.add(&self.field, if writes(&self.field) { Mode::Write } else { Mode::Read }, deadline);
        let timeout = Text { value: token.to_string(), deadline: Some(deadline) };
        state.timeouts.insert((self.field.clone(), 1), timeout);
        if !self.steals {
            let available = state.mode().map_or(0, available_in);
            turn.leave(&mut state.queue_at(name, now, outbox), (available, ALL.into()), caller);
        }
        Ok(Acquired::granted(now, token))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(
            wants_lua!("rw"),
            turn_lua!(),
            token_lua!(),
            include_str!("holds.lua"),
            include_str!("end_all.lua"),
            include_str!("acquire.lua")
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(TOKEN));
        add_timeout_key(name, &self.field, call);
        add_queue_keys(name, call);
        call.args.push(client_of(&self.field));
        call.args.push(&self.field);
        call.args.number(millis(self.lease));
        call.args.number(attempt.not_after.0);
        call.args.number(self.token_ttl.map_or(0, millis));
        call.args.number(if self.steals { 2 } else { self.waits.into() });
        call.args.join(name.companion_parts(CHANNEL));
        call.args.push(self.under.as_deref().unwrap_or_default());
    }

    fn decode(reply: Reply) -> Result<Acquired, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        let rank = |at| Ok(u64::try_from(wire::int(items.get(at))?).ok());
        match wire::int(items.first())? {
            0 => Ok(Acquired::granted(now, wire::unsigned(items.get(2))?)),
            1 => {
                let holder = read_holder(items.get(3))?;
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

/// The writer, or how many readers.
pub(super) fn read_holder(reply: Option<&Reply>) -> Result<String, Malformed> {
    match reply {
        Some(Reply::Int(readers)) => Ok(readers.to_string()),
        writer => wire::text(writer)?.ok_or(Malformed),
    }
}
