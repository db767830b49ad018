use std::time::Duration;

use super::state::end_of;
use super::{SemaphoreState, Taker, add_keys};
use crate::contended::available::{CHANNEL, available_lua};
use crate::contended::{Acquired, Turn, turn_lua};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Takes permits, or says what is in the way: for several owners, one after the other. See `acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    /// See [`Taker`].
    pub(crate) owner: String,
    /// Further acquires of the same client, each with an owner of its own.
    pub(crate) others: Vec<String>,
    pub(crate) lease: Duration,
    /// Stand in the queue when they are not granted.
    pub(crate) waits: bool,
    /// For a semaphore that is not there yet.
    pub(crate) total: u32,
}

impl Acquire {
    fn owners(&self) -> impl Iterator<Item = &String> {
        [&self.owner].into_iter().chain(&self.others)
    }

    /// Takes the permits of one of the acquires.
    fn acquire(
        &self,
        taker: Taker<'_>,
        name: &ObjectName,
        state: &mut SemaphoreState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Acquired, WrongType> {
        let (client, permits, expiry) = (taker.client, i64::from(taker.permits), end_of(self.lease, now));
        let count = state.count()?;
        let made = count.is_none();
        let mut available = count.unwrap_or_else(|| i64::from(self.total) - state.taken.value.len() as i64);
        if made {
            state.set_count(available);
            state.keep(now, millis(self.lease), true);
        }
        if let Some(granted) = state.expiry(taker) {
            if granted < expiry {
                state.set_expiry(taker, expiry);
            }
            return Ok(Acquired::granted(now, 0));
        }
        let mut turn = Turn::new(client, taker.permits, self.waits);
        if !turn.is_due(&state.queue, available) {
            let before = available;
            available = state.reclaim(name, now, available, outbox);
            if available == before || !turn.is_due_now(&state.queue, available) {
                let total = state.total(available);
                let mut queue = state.queue_at(name, now, outbox);
                if permits > total {
                    turn.wake(&mut queue, (available, total), client);
                    return Ok(Acquired::MoreThanThereIs { now, total });
                }
                if !turn.gets_past(&mut queue, available) {
                    let rank = turn.line_up(&mut queue, (available, total));
                    if available >= permits {
                        return Ok(Acquired::NotYourTurn { now, rank });
                    }
                    let (ttl, holder) = (state.first_expiry(now), format!("{available}/{total}"));
                    return Ok(Acquired::Busy { now, ttl, holder, rank });
                }
            }
        }
        // Less than all for a repeat of which a part was taken back.
        available -= state.give(taker, expiry);
        state.set_count(available);
        state.keep(now, millis(self.lease), made);
        let total = state.total(available);
        turn.leave(&mut state.queue_at(name, now, outbox), (available, total), client);
        Ok(Acquired::granted(now, 0))
    }
}

impl Step for Acquire {
    type State = SemaphoreState;
    type Reply = Acquired;

    const OP: &'static str = "acquire";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut SemaphoreState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Acquired, WrongType> {
        if now > attempt.not_after {
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
            available_lua!("semaphore"),
            turn_lua!(),
            include_str!("permits.lua"),
            include_str!("acquire.lua")
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(Taker::of(&self.owner).client);
        call.args.number(millis(self.lease));
        call.args.number(attempt.not_after.0);
        call.args.number(self.waits.into());
        call.args.number(self.total.into());
        call.args.join(name.companion_parts(CHANNEL));
        for taker in self.owners().map(|owner| Taker::of(owner)) {
            call.args.push(&taker.base());
            call.args.number(taker.permits.into());
        }
    }

    fn decode(reply: Reply) -> Result<Acquired, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        let rank = |at| Ok(u64::try_from(wire::int(items.get(at))?).ok());
        let refused = match wire::int(items.first())? {
            0 => return Ok(Acquired::granted(now, 0)),
            1 => {
                let holder = format!("{}/{}", wire::int(items.get(4))?, wire::int(items.get(5))?);
                Acquired::Busy { now, ttl: wire::int(items.get(3))?, holder, rank: rank(6)? }
            }
            2 => return Ok(Acquired::TooLate { now }),
            3 => Acquired::NotYourTurn { now, rank: rank(3)? },
            4 => Acquired::MoreThanThereIs { now, total: wire::int(items.get(3))? },
            _ => return Err(Malformed),
        };
        Ok(refused.after(wire::unsigned(items.get(2))? as usize))
    }

    fn server_time(reply: &Acquired) -> Option<ServerTime> {
        Some(reply.now())
    }
}
