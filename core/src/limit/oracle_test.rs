//! What a limiter promises, checked on its specification against a model of another make: a bucket that fills, counted in
//! exact fractions. (`model_test.rs` shows that the script does what the specification does.)

use std::time::Duration;

use proptest::prelude::*;

use super::answer::Answer;
use super::reservations::By;
use super::step::{GiveBack, Judge, Judged, LimitState, Stood};
use super::tat::{Span, since_2025};
use super::{Decision, Rate};
use crate::name::ObjectName;
use crate::step::{Attempt, Expires, Outbox, Step};
use crate::time::{ServerTime, Tick};

/// 2026-01-01, in us.
const START: u64 = 1_767_225_600_000_000;

/// The limiter as its specification has it, at a time of its own.
#[derive(Clone)]
struct Limiter {
    rate: Rate,
    state: LimitState,
    now: u64,
}

impl Limiter {
    fn new(rate: Rate) -> Limiter {
        rate.check().unwrap();
        Limiter { rate, state: LimitState::default(), now: START }
    }

    fn run<S: Step<State = LimitState>>(&mut self, step: &S) -> S::Reply {
        let (name, now) = (ObjectName::new("", "any").unwrap(), ServerTime(self.now));
        self.state.expire(now);
        step.apply(&name, Attempt { not_after: now }, &mut self.state, now, &mut Outbox::new(&|_| false)).unwrap()
    }

    /// The present in parts of us since 2025.
    fn present(&self) -> u128 {
        u128::from(since_2025(ServerTime(self.now))) * u128::from(self.rate.unit())
    }

    fn ask(&mut self, cost: u64) -> Decision {
        let rates = self.rate.into();
        let judged = self.run(&Judge::new(&rates, cost));
        match Answer::of(&rates, cost, judged, since_2025(ServerTime(self.now)), By::Server, (Tick(0), Tick(0))) {
            Answer::Decided(decision) => decision,
            Answer::Reserved(_) => panic!("nobody waits"),
        }
    }

    /// Asks for tokens within so many us: what was charged, and from when on it may be used, in parts of us since 2025.
    fn reserve(&mut self, cost: u64, wait_us: u64) -> Option<Charged> {
        let step = Judge::new(&self.rate.into(), cost).within(Duration::from_micros(wait_us));
        let Judged { allowed, standings, before, .. } = self.run(&step);
        // Exactly; a caller waits until the next whole us.
        let tat = Span { us: standings[0][0], part: standings[0][1] }.work(self.rate.unit());
        let due = tat.saturating_sub(self.rate.work(self.rate.limit())).max(self.present());
        allowed.then_some(Charged { cost, due, stood: Stood { before, after: standings } })
    }

    fn give_back(&mut self, charged: &Charged) -> bool {
        self.run(&GiveBack::new(&self.rate.into(), charged.cost, charged.stood.clone()))
    }
}

#[derive(Clone, Debug)]
struct Charged {
    cost: u64,
    due: u128,
    stood: Stood,
}

/// A bucket: its level in 1/period of a token.
struct Bucket {
    rate: Rate,
    level: u128,
}

impl Bucket {
    fn new(rate: Rate) -> Bucket {
        Bucket { rate, level: u128::from(rate.limit()) * rate.per().as_micros() }
    }

    fn pass(&mut self, us: u64) {
        let full = u128::from(self.rate.limit()) * self.rate.per().as_micros();
        self.level = (self.level + u128::from(us) * u128::from(self.rate.tokens())).min(full);
    }

    fn take(&mut self, cost: u64) -> bool {
        let price = u128::from(cost) * self.rate.per().as_micros();
        let there = price <= self.level;
        if there {
            self.level -= price;
        }
        there
    }

    fn tokens(&self) -> u64 {
        (self.level / self.rate.per().as_micros()) as u64
    }
}

fn rates() -> impl Strategy<Value = Rate> {
    (1..2_000u64, 1..5_000_000u64, 1..40u64)
        .prop_map(|(tokens, us, burst)| Rate::new(tokens, Duration::from_micros(us)).burst(burst))
}

fn calls() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let pause = prop_oneof![Just(0), 0..100u64, 0..100_000u64, 0..3_000_000u64];
    prop::collection::vec((pause, 0..45u64), 1..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_the_exact_bucket(rate in rates(), calls in calls()) {
        let (mut limiter, mut bucket) = (Limiter::new(rate), Bucket::new(rate));
        for (pause, cost) in calls {
            limiter.now += pause;
            bucket.pass(pause);
            let cost = cost % (rate.limit() + 1);
            let granted = bucket.take(cost);
            let decision = limiter.ask(cost);
            prop_assert_eq!(decision.remaining, bucket.tokens());
            prop_assert_eq!(decision.granted, if granted { cost } else { 0 });
            prop_assert_eq!(decision.allowed, if cost > 0 { granted } else { bucket.tokens() > 0 });
            prop_assert_eq!(decision.limit, rate.limit());
        }
    }

    #[test]
    fn no_window_holds_more_than_the_burst_and_what_the_rate_brings(rate in rates(), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        let mut grants: Vec<(u64, u64)> = Vec::new();
        for (pause, cost) in calls {
            limiter.now += pause;
            let cost = cost % (rate.limit() + 1);
            if limiter.ask(cost).granted > 0 {
                grants.push((limiter.now, cost));
            }
        }
        for (i, (from, _)) in grants.iter().enumerate() {
            let mut sum = 0;
            for (to, cost) in &grants[i + 1..] {
                sum += u128::from(*cost);
                // In tokens times the period, so that nothing is rounded.
                let most = u128::from(rate.limit()) * rate.per().as_micros() + u128::from(to - from) * u128::from(rate.tokens());
                prop_assert!(sum * rate.per().as_micros() <= most, "{sum} tokens in ({from}, {to}]");
            }
        }
    }

    /// Counted at the times from which on the tokens may be used. What was cancelled is used by nobody, whether or not it could
    /// be given back.
    #[test]
    fn no_interval_holds_too_much_also_with_reservations(
        rate in rates(),
        calls in prop::collection::vec((prop_oneof![Just(0), 0..100u64, 0..100_000u64], 0..45u64, 0..6u8, 0..5_000_000u64), 1..150),
    ) {
        let mut limiter = Limiter::new(rate);
        let mut admitted: Vec<Charged> = Vec::new();
        for (pause, some, what, wait_us) in calls {
            limiter.now += pause;
            let now = limiter.present();
            let cost = 1 + some % rate.limit();
            match what {
                0 => admitted.extend(limiter.reserve(cost, 0)),
                1..=3 => {
                    let charged = limiter.reserve(cost, wait_us);
                    if let Some(charged) = &charged {
                        let wait = (charged.due - now).div_ceil(u128::from(rate.unit()));
                        prop_assert!(wait <= u128::from(wait_us), "{wait} us, and not {wait_us}");
                    }
                    admitted.extend(charged);
                }
                _ => {
                    let waiting: Vec<usize> = (0..admitted.len()).filter(|&at| admitted[at].due > now).collect();
                    if !waiting.is_empty() {
                        let charged = admitted.remove(waiting[some as usize % waiting.len()]);
                        limiter.give_back(&charged);
                    }
                }
            }
        }
        admitted.sort_by_key(|charged| charged.due);
        for (i, first) in admitted.iter().enumerate() {
            let mut sum = 0;
            for charged in &admitted[i..] {
                sum += rate.work(charged.cost);
                prop_assert!(
                    sum <= rate.work(rate.limit()) + (charged.due - first.due),
                    "{sum} parts in [{}, {}]: {admitted:?}", first.due, charged.due
                );
            }
        }
    }

    #[test]
    fn what_the_last_one_gives_back_was_never_taken(rate in rates(), calls in calls(), wait_us in 1..5_000_000u64) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.now += pause;
            let cost = 1 + cost % rate.limit();
            limiter.reserve(cost, wait_us);
            let before = limiter.ask(0);
            if let Some(charged) = limiter.reserve(cost, wait_us)
                && charged.due > limiter.present()
            {
                prop_assert!(limiter.give_back(&charged));
                prop_assert_eq!(limiter.ask(0), before);
            }
        }
    }

    /// As when all the callers of one client wait and give up, the last first, all the time: their times do not run away.
    #[test]
    fn callers_that_give_up_leave_the_bucket_to_others(tokens in 1..1_000u64, burst in 1..100u64, crowd in 1..50u64) {
        let mut limiter = Limiter::new(Rate::new(tokens, Duration::from_secs(1)).burst(burst));
        limiter.reserve(burst, 0).unwrap();
        for _ in 0..5 {
            let crowd: Vec<Charged> = (0..crowd).map(|_| limiter.reserve(1, 3_600_000_000).unwrap()).collect();
            for charged in crowd.iter().rev() {
                prop_assert!(limiter.give_back(charged));
            }
        }
        let wait = limiter.ask(1).retry_after.unwrap();
        prop_assert!(wait.as_micros() <= u128::from(1_000_000u64.div_ceil(tokens)), "{wait:?}");
    }

    #[test]
    fn retry_after_is_exact_and_a_refusal_changes_nothing(rate in rates(), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.now += pause;
            let cost = 1 + cost % rate.limit();
            let before = limiter.state.clone();
            let decision = limiter.ask(cost);
            if decision.allowed {
                continue;
            }
            before.clone().expire(ServerTime(limiter.now));
            prop_assert_eq!(&limiter.state, &before);
            let wait = decision.retry_after.unwrap().as_micros() as u64;
            let mut early = limiter.clone();
            early.now += wait - 1;
            prop_assert!(!early.ask(cost).allowed, "granted 1 us before its time");
            let mut due = limiter.clone();
            due.now += wait;
            prop_assert!(due.ask(cost).allowed, "refused at its time");
        }
    }

    #[test]
    fn reset_after_is_when_the_bucket_is_full(rate in rates(), calls in calls()) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.now += pause;
            let full_in = limiter.ask(cost % (rate.limit() + 1)).reset_after.as_micros() as u64;
            let mut then = limiter.clone();
            then.now += full_in;
            prop_assert_eq!(then.ask(0).remaining, rate.limit());
            if full_in > 0 {
                then.now -= 1;
                prop_assert!(then.ask(0).reset_after == Duration::from_micros(1));
            }
        }
    }

    #[test]
    fn a_greedy_client_gets_all_there_is(rate in rates(), tokens in 1..500u64, more_us in 0..1_000u64) {
        // What comes within the microsecond that a clock cannot tell apart is lost to a bucket that has no room for it.
        prop_assume!(rate.work(rate.limit()) >= 2 * rate.work(1) + u128::from(rate.tokens()));
        let mut limiter = Limiter::new(rate);
        let end = START + (rate.work(tokens) / u128::from(rate.tokens())) as u64 + more_us;
        let mut got = 0;
        while limiter.now <= end {
            let there = limiter.ask(0).remaining;
            got += limiter.ask(there).granted;
            limiter.now += limiter.ask(1).retry_after.unwrap().as_micros() as u64;
        }
        let brought = (u128::from(end - START) * u128::from(rate.tokens()) / rate.per().as_micros()) as u64;
        prop_assert!(got + 1 >= brought + rate.limit(), "{got} of {brought} + {}", rate.limit());
    }

    #[test]
    fn splitting_a_cost_changes_nothing(rate in rates(), calls in calls()) {
        let (mut whole, mut split) = (Limiter::new(rate), Limiter::new(rate));
        for (pause, cost) in calls {
            whole.now += pause;
            split.now += pause;
            let cost = cost % (rate.limit() + 1);
            if whole.ask(cost).granted > 0 {
                for _ in 0..cost {
                    prop_assert!(split.ask(1).allowed);
                }
            }
            // Both look, so that both have dropped what has expired.
            prop_assert_eq!(whole.ask(0), split.ask(0));
            prop_assert_eq!(&whole.state, &split.state);
        }
    }

    #[test]
    fn a_clock_set_back_locks_nobody_out_longer_than_the_bucket(rate in rates(), calls in calls(), back in 1..7_200_000_000u64) {
        let mut limiter = Limiter::new(rate);
        for (pause, cost) in calls {
            limiter.now += pause;
            limiter.ask(cost % (rate.limit() + 1));
        }
        limiter.now -= back;
        let fill = (u128::from(rate.limit()) * rate.per().as_micros()).div_ceil(u128::from(rate.tokens())) as u64;
        let decision = limiter.ask(1);
        prop_assert!(decision.retry_after.unwrap().as_micros() as u64 <= fill);
        if !decision.allowed {
            // Those who ask all the time are served all the same: the first of them has mended the step.
            limiter.now += decision.retry_after.unwrap().as_micros() as u64;
            prop_assert!(limiter.ask(1).allowed);
        }
        limiter.now += fill;
        prop_assert_eq!(limiter.ask(0).remaining, rate.limit());
    }
}

#[test]
fn a_rate_of_nothing_refuses_everything_and_leaves_others_alone() {
    let mut limiter = Limiter::new(Rate::new(5, Duration::from_secs(1)));
    limiter.ask(5);
    let before = limiter.state.clone();
    limiter.rate = Rate::new(0, Duration::from_secs(1));
    let decision = limiter.ask(1);
    assert_eq!((decision.allowed, decision.remaining, decision.limit, decision.retry_after), (false, 0, 0, None));
    assert!(!limiter.ask(0).allowed);
    assert_eq!(limiter.state, before);
}
