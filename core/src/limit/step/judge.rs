use std::time::Duration;

use smallvec::SmallVec;

use super::super::rate::LONGEST_US;
use super::super::rates::Rates;
use super::super::tat;
use super::algorithm::{Asked, Held};
use super::numbers::Numbers;
use super::{LimitState, Standing, lua, push_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, MainKey, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Judges one request and, if all rates grant it, charges all of them. See `judge.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(super) rates: Rates,
    /// Of 0: it only looks, for one token.
    cost: u64,
    /// For how long the tokens may be waited for; granted then means reserved. In us.
    wait_us: u64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Charged, for now or for later.
    pub(crate) allowed: bool,
    pub(crate) now: ServerTime,
    /// From when on the tokens may be used, or asked for again, in us since 2025.
    pub(crate) at: u64,
    /// Which rate says so, from 1 on; 0 for now, one more than there are rates for a block.
    pub(crate) which: u64,
    pub(crate) standings: SmallVec<[Standing; 1]>,
    /// Of a reservation, how the rates stood before it.
    pub(crate) before: SmallVec<[Standing; 1]>,
}

impl Judge {
    /// For tokens that are there now.
    pub(crate) fn new(rates: &Rates, cost: u64) -> Judge {
        Judge { rates: rates.clone(), cost: rates.grantable(cost), wait_us: 0 }
    }

    /// For tokens that are there within `wait`.
    pub(crate) fn within(self, wait: Duration) -> Judge {
        Judge { wait_us: u64::try_from(wait.as_micros()).unwrap_or(u64::MAX).min(LONGEST_US), ..self }
    }
}

/// What the state holds of each of these rates.
pub(super) fn read(
    state: &LimitState,
    rates: &Rates,
    numbers: &[Numbers],
    cost: u64,
    now: u64,
) -> Result<Vec<Held>, WrongType> {
    let read = |(at, numbers)| Held::read(state.read(rates, at), Asked { numbers, cost, now });
    numbers.iter().enumerate().map(read).collect()
}

pub(super) fn numbers(rates: &Rates, cost: u64) -> SmallVec<[Numbers; 1]> {
    rates.iter().map(|rate| Numbers::new(rate, cost)).collect()
}

impl Step for Judge {
    type State = LimitState;
    type Reply = Judged;

    const OP: &'static str = "rate limit";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Judged, WrongType> {
        let us = tat::since_2025(now);
        let numbers = numbers(&self.rates, self.cost);
        let held = read(state, &self.rates, &numbers, self.cost, us)?;
        let asked = |at: usize| Asked { numbers: &numbers[at], cost: self.cost, now: us };
        let (mut at, mut which) = (us, 0);
        for (number, held) in held.iter().enumerate() {
            if held.blocked_until > at {
                (at, which) = (held.blocked_until, self.rates.len() as u64 + 1);
            }
            let due = held.due(asked(number));
            if due > at {
                (at, which) = (due, number as u64 + 1);
            }
        }
        let allowed = at <= us + self.wait_us;
        let (mut standings, mut before) = (SmallVec::new(), SmallVec::new());
        for (number, mut held) in held.into_iter().enumerate() {
            if allowed && at > us {
                before.push(held.place(asked(number)));
            }
            if allowed && self.cost > 0 {
                held.charge(asked(number), at);
            }
            standings.push(held.standing(asked(number)));
            if self.cost > 0 && (allowed || held.moved) {
                held.store(state.key(&self.rates, number), asked(number), now);
            }
        }
        Ok(Judged { allowed, now, at, which, standings, before })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(lua!(
            "rated",
            "judge",
            "next",
            "charge",
            "algorithm/gcra_charge",
            "algorithm/window_charge",
            "algorithm/counter_charge",
            "algorithm/log_charge",
            "store",
            "algorithm/gcra_store",
            "algorithm/window_store",
            "algorithm/counter_store",
            "algorithm/log_store",
            "set",
            "say"
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        push_keys(name, &self.rates, call);
        [self.cost, self.wait_us].into_iter().for_each(|number| call.args.number(number));
        numbers(&self.rates, self.cost).iter().for_each(|numbers| numbers.encode(call));
    }

    fn decode(reply: Reply) -> Result<Judged, Malformed> {
        let items = wire::list(reply)?;
        let (head, rest) = items.split_at_checked(4).ok_or(Malformed)?;
        let numbers: Vec<u64> = rest.iter().map(|item| wire::unsigned(Some(item))).collect::<Result<_, _>>()?;
        let (allowed, now) = (wire::int(head.first())? == 1, wire::time(head.get(1))?);
        let (at, which) = (wire::unsigned(head.get(2))?, wire::unsigned(head.get(3))?);
        let mut standings: SmallVec<_> = numbers.chunks_exact(3).map(|three| [three[0], three[1], three[2]]).collect();
        let is_reservation = allowed && at > tat::since_2025(now);
        let before = if is_reservation { standings.drain(standings.len() / 2..).collect() } else { SmallVec::new() };
        if standings.is_empty() || (is_reservation && before.len() != standings.len()) {
            return Err(Malformed);
        }
        Ok(Judged { allowed, now, at, which, standings, before })
    }

    fn server_time(reply: &Judged) -> Option<ServerTime> {
        Some(reply.now)
    }
}

impl LimitState {
    /// What the key of the `at`-th of these rates holds.
    pub(super) fn read(&self, rates: &Rates, at: usize) -> &MainKey {
        static NOTHING: MainKey = MainKey(None);
        match rates.len() {
            1 => &self.main,
            _ => self.each.get(&rates[at].per_us()).unwrap_or(&NOTHING),
        }
    }
}
