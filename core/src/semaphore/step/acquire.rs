use std::time::Duration;

use super::state::end_of;
use super::{SemaphoreState, Taker, add_keys, with_permits};
use crate::contended::Acquired;
use crate::contended::available::CHANNEL;
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
    /// Whether it harms nobody in front to grant the permits.
    fn is_due(&self, state: &SemaphoreState, taker: Taker<'_>, available: i64) -> bool {
        let rank = state.queue.rank(taker.client).filter(|_| self.waits);
        state.queue.suffices(available, taker.permits.into(), rank.unwrap_or(state.queue.entries.len()))
    }

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
            return Ok(Acquired::Granted { now, token: 0 });
        }
        let (mut due, mut barges) = (self.is_due(state, taker, available), false);
        // From which rank on room was made.
        let mut from = None;
        if !due {
            let before = available;
            available = state.reclaim(name, now, available, outbox);
            if available > before {
                (due, from) = (self.is_due(state, taker, available), Some(0));
            }
        }
        if !due {
            let total = available + state.taken.value.len() as i64;
            if permits > total {
                if let Some(from) = from {
                    state.wake(name, now, (available, from), client, outbox);
                }
                return Ok(Acquired::MoreThanThereIs { now, total });
            }
            let entries = state.queue.entries.len();
            let mut queue = state.queue_at(name, now, outbox);
            let head = queue.head().filter(|head| *head != client);
            if available >= permits && head.is_some_and(|head| !queue.is_there(head)) {
                queue.drop_gone(client, self.waits);
                if state.queue.entries.len() < entries {
                    (due, from) = (self.is_due(state, taker, available), Some(0));
                }
            }
            let may_barge = state.queue.head().is_some() && state.queue.may_barge();
            barges = !due && !self.waits && available >= permits && may_barge;
        }
        if !due && !barges {
            let mut rank = None;
            if self.waits {
                let mut queue = state.queue_at(name, now, outbox);
                let stands = match queue.stay(client, true) {
                    Some(stood) => {
                        let rank = queue.drop_silent(client, stood);
                        from = if rank < stood { Some(from.unwrap_or(rank).min(rank)) } else { from };
                        rank
                    }
                    None => queue.join(client),
                };
                rank = Some(stands as u64);
                state.queue.wants.insert(client.to_owned(), taker.permits);
            }
            if let Some(from) = from {
                let caller = if self.waits { client } else { "" };
                state.wake(name, now, (available, from), caller, outbox);
            }
            if available >= permits {
                return Ok(Acquired::NotYourTurn { now, rank });
            }
            let (ttl, total) = (state.first_expiry(now), available + state.taken.value.len() as i64);
            return Ok(Acquired::Busy { now, ttl, holder: format!("{available}/{total}"), rank });
        }
        if barges {
            state.queue_at(name, now, outbox).barge();
        }
        // Less than all for a repeat of which a part was taken back.
        available -= state.give(taker, expiry);
        state.set_count(available);
        state.keep(now, millis(self.lease), made);
        let wanted = state.queue.want(client);
        let mut queue = state.queue_at(name, now, outbox);
        if self.waits
            && let Some(rank) = queue.leave(client)
        {
            if rank <= 1 {
                queue.moved_up(rank, false, client);
            }
            // The server kept room for more than was taken.
            if permits < wanted {
                from = Some(from.unwrap_or(rank).min(rank));
            }
        }
        if let Some(from) = from {
            state.wake(name, now, (available, from), client, outbox);
        }
        Ok(Acquired::Granted { now, token: 0 })
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
        Ok(Acquired::Granted { now, token: 0 })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("acquire.lua"));
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
            0 => return Ok(Acquired::Granted { now, token: 0 }),
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
