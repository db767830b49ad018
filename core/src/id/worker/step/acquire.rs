use std::time::Duration;

use super::state::{AHEAD_MS, NEXT, RECLAIMED};
use super::{WorkerState, add_keys, with_pool};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::{ServerTime, millis};

/// Leases the lowest free number of a pool, or says when one may be free. See `acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    pub(crate) owner: String,
    pub(crate) lease: Duration,
    /// How many numbers the pool has.
    pub(crate) size: u64,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leased {
    /// Its holder may use the time that ends at `until_ms`, of Unix time, and begins a lease before that.
    Granted { now: ServerTime, number: u64, until_ms: u64 },
    /// So many are leased; the first lease ends in so many ms, if any does.
    Full { now: ServerTime, taken: u64, first_ms: Option<u64> },
    /// The request arrived after its `not_after`.
    TooLate { now: ServerTime },
}

impl Acquire {
    fn granted(now: ServerTime, number: u64, until_ms: u64) -> Result<Leased, WrongType> {
        Ok(Leased::Granted { now, number, until_ms })
    }
}

impl Step for Acquire {
    type State = WorkerState;
    type Reply = Leased;

    const OP: &'static str = "worker";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        attempt: Attempt,
        state: &mut WorkerState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Leased, WrongType> {
        if now > attempt.not_after {
            return Ok(Leased::TooLate { now });
        }
        let (ms, lease) = (now.millis(), millis(self.lease));
        let (own, next) = (state.number(&self.owner)?, state.number(NEXT)?);
        if let (Some(own), Some(expiry)) = (own, state.leases.value.get(&self.owner).copied()) {
            let until_ms = state.number(&own.to_string())?.ok_or(WrongType)?;
            state.leases.value.insert(self.owner.clone(), expiry.max(ms + lease));
            state.keep(now, lease);
            return Self::granted(now, own, until_ms);
        }
        let next = next.unwrap_or(0);
        let mut expired: Vec<(u64, String)> =
            state.leases.value.iter().filter(|(_, at)| **at <= ms).map(|(owner, at)| (*at, owner.clone())).collect();
        expired.sort();
        expired.truncate(RECLAIMED);
        let freed: Vec<u64> = expired.iter().filter_map(|(_, owner)| state.number(owner).ok().flatten()).collect();
        let (mut lowest, mut ahead) = (next, None);
        let mut look = |free: u64| -> Result<bool, WrongType> {
            let is_ahead = state.number(&free.to_string())?.unwrap_or(0) > ms + AHEAD_MS;
            match is_ahead {
                true => ahead = Some(ahead.map_or(free, |least: u64| least.min(free))),
                false => lowest = lowest.min(free),
            }
            Ok(is_ahead)
        };
        for free in state.first_free() {
            if !look(free?)? {
                break;
            }
        }
        for free in &freed {
            look(*free)?;
        }
        if let Some(ahead) = ahead.filter(|_| lowest >= self.size) {
            lowest = ahead;
        }
        if lowest >= self.size {
            let left = state.leases.value.values().filter(|at| **at > ms).min().map(|at| at - ms);
            let taken = (state.leases.value.len() - expired.len()) as u64;
            return Ok(Leased::Full { now, taken, first_ms: left });
        }
        let number = lowest.to_string();
        let until_ms = ms.max(state.number(&number)?.unwrap_or(0) + 1) + lease;
        let fields = [(self.owner.clone(), lowest), (number.clone(), until_ms), (NEXT.into(), next.max(lowest + 1))];
        state.set(fields);
        expired.iter().for_each(|(_, owner)| state.forget(owner));
        freed.into_iter().for_each(|number| state.set_free(number));
        state.free.value.remove(&number);
        state.leases.value.insert(self.owner.clone(), ms + lease);
        state.keep(now, lease);
        Self::granted(now, lowest, until_ms)
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_pool!("acquire.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(&self.owner);
        [millis(self.lease), attempt.not_after.0, self.size].into_iter().for_each(|number| call.args.number(number));
    }

    fn decode(reply: Reply) -> Result<Leased, Malformed> {
        let items = wire::list(reply)?;
        let (now, number) = (wire::time(items.get(1))?, |at| wire::unsigned(items.get(at)));
        match wire::int(items.first())? {
            0 => Ok(Leased::Granted { now, number: number(2)?, until_ms: number(3)? }),
            1 => {
                let first_ms = u64::try_from(wire::int(items.get(3))?).ok();
                Ok(Leased::Full { now, taken: number(2)?, first_ms })
            }
            2 => Ok(Leased::TooLate { now }),
            _ => Err(Malformed),
        }
    }

    fn server_time(reply: &Leased) -> Option<ServerTime> {
        let (Leased::Granted { now, .. } | Leased::Full { now, .. } | Leased::TooLate { now }) = reply;
        Some(*now)
    }
}
