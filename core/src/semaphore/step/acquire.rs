use std::time::Duration;

use super::state::end_of;
use super::{SemaphoreState, Taker, add_keys, with_permits};
use crate::contended::Acquired;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::{ServerTime, millis};

/// How many non-blocking attempts may jump one head.
const MAY_BARGE: u64 = 2;

/// Takes permits, or says what is in the way. See `acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    /// See [`Taker`].
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    /// Stand in the queue when they are not granted.
    pub(crate) waits: bool,
    /// For a semaphore that is not there yet.
    pub(crate) total: u32,
}

impl Acquire {
    /// Whether it harms nobody in front to grant the permits.
    fn is_due(&self, state: &SemaphoreState, taker: &Taker<'_>, available: i64) -> bool {
        let rank = state.queue.rank(taker.client).filter(|_| self.waits);
        state.suffices(available, taker.permits.into(), rank.unwrap_or(state.queue.entries.len()))
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
        let taker = Taker::of(&self.owner);
        let (client, permits, expiry) = (taker.client, i64::from(taker.permits), end_of(self.lease, now));
        let count = state.count()?;
        let made = count.is_none();
        let mut available = count.unwrap_or_else(|| i64::from(self.total) - state.taken.len() as i64);
        if made {
            state.set_count(available);
            state.keep(now, millis(self.lease), true);
        }
        if let Some(granted) = state.expiry(&taker) {
            if granted < expiry {
                state.set_expiry(&taker, expiry);
            }
            return Ok(Acquired::Granted { now, token: 0 });
        }
        let (mut due, mut barges) = (self.is_due(state, &taker, available), false);
        // From which rank on room was made.
        let mut from = None;
        if !due {
            let before = available;
            available = state.reclaim(name, now, available, outbox);
            if available > before {
                (due, from) = (self.is_due(state, &taker, available), Some(0));
            }
        }
        if !due {
            let total = available + state.taken.len() as i64;
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
                    (due, from) = (self.is_due(state, &taker, available), Some(0));
                }
            }
            let may_barge = state.queue.head().is_some() && state.queue.barged.unwrap_or(0) < MAY_BARGE;
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
            let ttl = match state.first_expiry(now) {
                -1 => -1,
                ttl => ttl.max(0),
            };
            let total = available + state.taken.len() as i64;
            return Ok(Acquired::Busy { now, ttl, holder: format!("{available}/{total}"), rank });
        }
        if barges {
            state.queue_at(name, now, outbox).barge();
        }
        // Less than all for a repeat of which a part was taken back.
        available -= state.give(&taker, expiry);
        state.set_count(available);
        state.keep(now, millis(self.lease), made);
        let wanted = state.want(client);
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

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_permits!("acquire.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        let taker = Taker::of(&self.owner);
        add_keys(name, call);
        call.args.push(taker.client);
        call.args.push(taker.base());
        call.args.number(taker.permits.into());
        call.args.number(millis(self.lease));
        call.args.number(attempt.not_after.0);
        call.args.number(self.waits.into());
        call.args.number(self.total.into());
        call.args.join(name.companion_parts(super::CHANNEL));
    }

    fn decode(reply: Reply) -> Result<Acquired, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        let rank = |at| Ok(u64::try_from(wire::int(items.get(at))?).ok());
        match wire::int(items.first())? {
            0 => Ok(Acquired::Granted { now, token: 0 }),
            1 => {
                let holder = format!("{}/{}", wire::int(items.get(3))?, wire::int(items.get(4))?);
                Ok(Acquired::Busy { now, ttl: wire::int(items.get(2))?, holder, rank: rank(5)? })
            }
            2 => Ok(Acquired::TooLate { now }),
            3 => Ok(Acquired::NotYourTurn { now, rank: rank(2)? }),
            4 => Ok(Acquired::MoreThanThereIs { now, total: wire::int(items.get(2))? }),
            _ => Err(Malformed),
        }
    }

    fn server_time(reply: &Acquired) -> Option<ServerTime> {
        Some(reply.now())
    }
}
