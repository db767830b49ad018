//! What the algorithms beside GCRA promise, checked on their specification against a list of all that was granted.

use std::time::Duration;

use proptest::prelude::*;

use super::answer::Answer;
use super::reservations::By;
use super::step::{Judge, LimitState};
use super::tat::since_2025;
use super::{Algorithm, Decision, Rate, Rates};
use crate::name::ObjectName;
use crate::step::{Attempt, Expires, Outbox, Step};
use crate::time::{ServerTime, Tick};

/// 2026-01-01, in us.
const START: u64 = 1_767_225_600_000_000;

/// A limiter on a clock of its own, and beside it the time that has really passed.
#[derive(Clone)]
pub(super) struct Limiter {
    rates: Rates,
    pub(super) state: LimitState,
    clock: u64,
    time: u64,
    /// From when on tokens may be used, in real time, and how many.
    granted: Vec<(u64, u64)>,
}

impl Limiter {
    pub(super) fn new(rates: impl Into<Rates>) -> Limiter {
        let rates = rates.into();
        rates.check().unwrap();
        Limiter {
            rates,
            state: LimitState::default(),
            clock: START,
            time: since_2025(ServerTime(START)),
            granted: Vec::new(),
        }
    }

    pub(super) fn pass(&mut self, us: u64) {
        self.clock += us;
        self.time += us;
    }

    pub(super) fn ask(&mut self, cost: u64) -> Decision {
        self.ask_within(cost, 0)
    }

    pub(super) fn run<S: Step<State = LimitState>>(&mut self, step: &S) -> S::Reply {
        let (name, now) = (ObjectName::new("", "any").unwrap(), ServerTime(self.clock));
        self.state.expire(now);
        step.apply(&name, Attempt { not_after: now }, &mut self.state, now, &mut Outbox::new(&|_| false)).unwrap()
    }

    /// What asking for tokens within so many us brings.
    pub(super) fn answer(&mut self, cost: u64, wait_us: u64) -> Answer {
        let judged = self.run(&Judge::new(&self.rates.clone(), cost).within(Duration::from_micros(wait_us)));
        Answer::of(&self.rates, cost, judged, since_2025(ServerTime(self.clock)), By::Server, (Tick(0), Tick(0)))
    }

    /// The decision, and in `usable_after` how long the tokens are to be waited for.
    fn ask_within(&mut self, cost: u64, wait_us: u64) -> Decision {
        let decision = match self.answer(cost, wait_us) {
            Answer::Decided(decision) => decision,
            Answer::Reserved(reserved) => Decision { usable_after: reserved.wait, ..reserved.decision },
        };
        if decision.granted > 0 {
            self.granted.push((self.time + decision.usable_after.as_micros() as u64, cost));
        }
        decision
    }

    /// What was granted for use in (from, to].
    fn between(&self, from: u64, to: u64) -> u64 {
        self.granted.iter().filter(|(at, _)| (from + 1..=to).contains(at)).map(|(_, cost)| cost).sum()
    }
}

fn rates(by: Algorithm) -> impl Strategy<Value = Rate> {
    (1..40u64, 1..5_000_000u64).prop_map(move |(tokens, us)| Rate::new(tokens, Duration::from_micros(us)).by(by))
}

fn any_rate() -> impl Strategy<Value = Rate> {
    prop::sample::select(&Algorithm::OWN[1..]).prop_flat_map(rates)
}

/// Pauses and costs.
fn calls() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let pause = prop_oneof![Just(0), 0..100u64, 0..100_000u64, 0..3_000_000u64];
    prop::collection::vec((pause, 0..45u64), 1..120)
}

/// Pauses, costs and waits, all in about the length of a period.
fn waiting() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let pause = prop_oneof![2 => Just(0), 2 => 0..100_000u64, 1 => 0..3_000_000u64];
    prop::collection::vec((pause, 0..45u64, prop_oneof![Just(0), 0..10_000_000u64]), 1..100)
}

/// The most that may have been taken of the window before and this one together, for `cost` more at `at`.
fn counted(limiter: &Limiter, per: u64, at: u64) -> u64 {
    let start = at - at % per;
    let (before, taken) = (limiter.between(start - per - 1, start - 1), limiter.between(start - 1, start + per - 1));
    taken + (before * (start + per - at)).div_ceil(per)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_log_grants_what_any_interval_has_room_for_and_no_more(rate in rates(Algorithm::SlidingLog), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.pass(pause);
            let cost = cost % (rate.tokens() + 1);
            let used = limiter.between(limiter.time.saturating_sub(rate.per_us()), limiter.time);
            let decision = limiter.ask(cost);
            let after = used + decision.granted;
            prop_assert_eq!(decision.allowed, used + cost.max(1) <= rate.tokens());
            prop_assert_eq!(decision.remaining, rate.tokens() - after);
        }
    }

    #[test]
    fn an_aligned_window_grants_what_is_left_of_it(rate in rates(Algorithm::AlignedWindow), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.pass(pause);
            let cost = cost % (rate.tokens() + 1);
            let start = limiter.time - limiter.time % rate.per_us();
            let used = limiter.between(start - 1, limiter.time);
            let decision = limiter.ask(cost);
            prop_assert_eq!(decision.allowed, used + cost.max(1) <= rate.tokens());
            prop_assert_eq!(decision.remaining, rate.tokens() - used - decision.granted);
        }
    }

    #[test]
    fn a_fixed_window_begins_with_the_first_request(rate in rates(Algorithm::FixedWindow), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        let mut start = 0;
        for (pause, cost) in calls {
            limiter.pass(pause);
            let cost = cost % (rate.tokens() + 1);
            let used = if limiter.time < start + rate.per_us() { limiter.between(start - 1, limiter.time) } else { 0 };
            let decision = limiter.ask(cost);
            if used == 0 && decision.granted > 0 {
                start = limiter.time;
            }
            prop_assert_eq!(decision.allowed, used + cost.max(1) <= rate.tokens());
            prop_assert_eq!(decision.remaining, rate.tokens() - used - decision.granted);
        }
    }

    #[test]
    fn a_counter_weighs_the_window_before(rate in rates(Algorithm::SlidingCounter), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.pass(pause);
            let cost = cost % (rate.tokens() + 1);
            let used = counted(&limiter, rate.per_us(), limiter.time);
            let decision = limiter.ask(cost);
            prop_assert_eq!(decision.allowed, used + cost.max(1) <= rate.tokens());
            prop_assert_eq!(decision.remaining, rate.tokens().saturating_sub(used + decision.granted));
        }
    }

    /// Counted at the times from which on the tokens may be used.
    #[test]
    fn reservations_keep_every_promise(rate in any_rate(), calls in waiting()) {
        let mut limiter = Limiter::new(rate);
        let (tokens, per) = (rate.tokens(), rate.per_us());
        let mut last = 0;
        for (pause, cost, wait_us) in calls {
            limiter.pass(pause);
            let decision = limiter.ask_within(1 + cost % tokens, wait_us);
            prop_assert!(decision.usable_after.as_micros() <= u128::from(wait_us));
            if decision.granted > 0 {
                let at = limiter.granted.last().unwrap().0;
                prop_assert!(at >= last, "nobody is served before somebody who came first");
                last = at;
                match rate.algorithm() {
                    Algorithm::SlidingLog => prop_assert!(limiter.between(at.saturating_sub(per), at) <= tokens),
                    Algorithm::AlignedWindow => prop_assert!(limiter.between(at - at % per - 1, at) <= tokens),
                    Algorithm::SlidingCounter => prop_assert!(counted(&limiter, per, at) <= tokens),
                    _ => {}
                }
            }
        }
        if rate.algorithm() == Algorithm::FixedWindow {
            let (mut start, mut taken) = (0, 0);
            for (at, cost) in limiter.granted {
                if at >= start + per {
                    (start, taken) = (at, 0);
                }
                taken += cost;
                prop_assert!(taken <= tokens, "{taken} in the window from {start}");
            }
        }
    }

    #[test]
    fn retry_after_and_reset_after_are_exact(rate in any_rate(), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.pass(pause);
            let decision = limiter.ask(1 + cost % rate.tokens());
            let mut later = limiter.clone();
            later.pass(decision.reset_after.as_micros() as u64);
            prop_assert_eq!(later.ask(0).remaining, rate.tokens());
            if !decision.allowed {
                let wait = decision.retry_after.unwrap().as_micros() as u64;
                let mut early = limiter.clone();
                early.pass(wait - 1);
                prop_assert!(!early.ask(1 + cost % rate.tokens()).allowed, "granted 1 us before its time");
                let mut due = limiter.clone();
                due.pass(wait);
                prop_assert!(due.ask(1 + cost % rate.tokens()).allowed, "refused at its time");
            }
        }
    }

    /// A log's own time goes on when the clock is set back, so that it keeps its promise in real time.
    #[test]
    fn a_log_keeps_its_promise_when_the_clock_is_set_back(
        rate in rates(Algorithm::SlidingLog),
        calls in prop::collection::vec((0..300_000u64, 0..45u64, prop_oneof![6 => Just(0), 1 => 0..7_200_000_000u64]), 1..120),
    ) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost, back) in calls {
            limiter.pass(pause);
            // The time between the last charge and the step is not known, and does not count.
            if back > 0 {
                limiter.clock -= back;
            }
            limiter.ask(1 + cost % rate.tokens());
            let now = limiter.time;
            prop_assert!(limiter.between(now.saturating_sub(rate.per_us()), now) <= rate.tokens());
        }
    }

    #[test]
    fn a_clock_set_back_locks_nobody_out_for_long(rate in any_rate(), calls in calls(), back in 1..7_200_000_000u64) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.pass(pause);
            limiter.ask(1 + cost % rate.tokens());
        }
        limiter.clock -= back;
        let decision = limiter.ask(1);
        let wait = decision.retry_after.unwrap().as_micros() as u64;
        prop_assert!(wait <= 2 * rate.per_us(), "{wait} us");
        limiter.pass(wait);
        prop_assert!(decision.allowed || limiter.ask(1).allowed);
        limiter.pass(2 * rate.per_us());
        prop_assert_eq!(limiter.ask(0).remaining, rate.tokens());
    }

    /// Each rate alone would grant it, and no rate is charged for what another refused.
    #[test]
    fn several_rates_grant_what_each_of_them_would(
        first in (1..20u64, 1_000..100_000u64),
        more in (1..5u64, 2..9u64),
        by in prop::array::uniform2(prop::sample::select(&Algorithm::OWN[..])),
        calls in calls(),
    ) {
        let (tokens, us) = first;
        let short = Rate::new(tokens, Duration::from_micros(us)).by(by[0]);
        let long = Rate::new(tokens * more.0 + 1, Duration::from_micros(us * more.1)).by(by[1]);
        let mut both = Limiter::new([short, long]);
        let mut alone = [Limiter::new(short), Limiter::new(long)];
        for (pause, cost) in calls {
            let cost = 1 + cost % tokens;
            both.pass(pause);
            alone.iter_mut().for_each(|limiter| limiter.pass(pause));
            let would = alone.each_ref().map(|limiter| limiter.clone().ask(cost));
            let decision = both.ask(cost);
            prop_assert_eq!(decision.allowed, would.iter().all(|one| one.allowed));
            if decision.allowed {
                alone.iter_mut().for_each(|limiter| assert!(limiter.ask(cost).allowed));
                prop_assert_eq!(decision.refused_by, None);
            } else {
                let which = decision.refused_by.unwrap() as usize;
                prop_assert!(!would[which].allowed);
                prop_assert_eq!(decision.retry_after, would.iter().map(|one| one.retry_after).max().unwrap());
            }
            let now = alone.each_mut().map(|limiter| limiter.ask(0));
            prop_assert_eq!(decision.remaining, now.iter().map(|one| one.remaining).min().unwrap());
        }
    }
}

/// The rest of the window before is rounded up: that keeps any interval below twice the tokens, and costs a caller who always wants
/// the next token one in each window.
#[test]
fn a_sliding_counter_of_few_tokens_gives_less_than_its_rate() {
    for (tokens, percent) in [(1, 50), (2, 50), (3, 67), (5, 80), (10, 90), (100, 99)] {
        let mut limiter = Limiter::new(Rate::new(tokens, Duration::from_secs(1)).by(Algorithm::SlidingCounter));
        let (mut granted, end) = (0, limiter.time + 100_000_000);
        while limiter.time < end {
            match limiter.ask(1) {
                decision if decision.allowed => granted += 1,
                refused => limiter.pass(refused.retry_after.unwrap().as_micros() as u64),
            }
        }
        assert_eq!(granted / tokens, percent, "{granted} in 100 s, of {tokens} a second");
    }
}
