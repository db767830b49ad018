use super::state::NO_TOTAL;
use super::{CountingState, add_keys};
use crate::contended::available::{Taker, available_lua};
use crate::contended::{Acquired, Turn, turn_lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Once, Outbox, Reply, Script, Step, WrongType, once_lua, wire};
use crate::time::ServerTime;

/// Takes permits, or says what is in the way: for several owners, one after the other. See `acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    /// See [`Taker`].
    pub(crate) owner: String,
    /// Further acquires of the same client, each with an owner of its own.
    pub(crate) others: Vec<String>,
    /// Stand in the queue when they are not granted.
    pub(crate) waits: bool,
    /// After this the server may have forgotten the owners: no attempt takes effect.
    pub(crate) void_after: ServerTime,
}

impl Acquire {
    fn owners(&self) -> impl Iterator<Item = &String> {
        [&self.owner].into_iter().chain(&self.others)
    }

    fn not_after(&self, attempt: Attempt) -> ServerTime {
        attempt.not_after.min(self.void_after)
    }

    /// Takes the permits of one of the acquires.
    fn acquire(
        &self,
        taker: Taker<'_>,
        name: &ObjectName,
        state: &mut CountingState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Acquired, WrongType> {
        let (client, permits) = (taker.client, i64::from(taker.permits));
        let available = state.count()?.unwrap_or(0);
        if state.done.knows(taker.owner) {
            return Ok(Acquired::granted(now, 0));
        }
        let mut turn = Turn::new(client, taker.permits, self.waits);
        let mut queue = state.queue_at(name, now, outbox);
        if !turn.is_due(queue.queue, available) && !turn.gets_past(&mut queue, available) {
            let rank = turn.line_up(&mut queue, (available, NO_TOTAL));
            if available >= permits {
                return Ok(Acquired::NotYourTurn { now, rank });
            }
            return Ok(Acquired::Busy { now, ttl: -1, holder: available.to_string(), rank });
        }
        let available = available - permits;
        state.set_count(available);
        if taker.may_be_repeated() {
            state.done.once(&Once::named(taker.owner.to_owned(), now, self.void_after), now);
        }
        turn.leave(&mut state.queue_at(name, now, outbox), (available, NO_TOTAL), client);
        Ok(Acquired::granted(now, 0))
    }
}

impl Step for Acquire {
    type State = CountingState;
    type Reply = Acquired;

    const OP: &'static str = "acquire";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut CountingState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Acquired, WrongType> {
        if now > self.not_after(attempt) {
            return Ok(Acquired::TooLate { now });
        }
        for (granted, owner) in self.owners().enumerate() {
            match self.acquire(Taker::of(owner), name, state, now, outbox)? {
                Acquired::Granted { .. } => {}
                refused => return Ok(refused.after(granted)),
            }
        }
        Ok(Acquired::granted(now, 0))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(
            available_lua!("counting"),
            turn_lua!(),
            once_lua!(),
            include_str!("counting.lua"),
            include_str!("acquire.lua")
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(Taker::of(&self.owner).client);
        call.args.number(self.not_after(attempt).0);
        call.args.number(self.void_after.0);
        call.args.number(self.waits.into());
        for owner in self.owners() {
            call.args.push(owner);
            call.args.number(Taker::of(owner).permits.into());
        }
    }

    fn decode(reply: Reply) -> Result<Acquired, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        let rank = |at| Ok(u64::try_from(wire::int(items.get(at))?).ok());
        let refused = match wire::int(items.first())? {
            0 => return Ok(Acquired::granted(now, 0)),
            1 => Acquired::Busy { now, ttl: -1, holder: wire::int(items.get(3))?.to_string(), rank: rank(4)? },
            2 => return Ok(Acquired::TooLate { now }),
            3 => Acquired::NotYourTurn { now, rank: rank(3)? },
            _ => return Err(Malformed),
        };
        Ok(refused.after(wire::unsigned(items.get(2))? as usize))
    }

    fn server_time(reply: &Acquired) -> Option<ServerTime> {
        Some(reply.now())
    }
}
