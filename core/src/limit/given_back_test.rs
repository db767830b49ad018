//! A reservation that is given back leaves nothing behind, checked on the specification: the limiter answers as one that was never
//! asked for it.

use std::time::Duration;

use proptest::prelude::*;

use super::answer::Answer;
use super::oracles_test::Limiter;
use super::step::{Block, GiveBack, Reward};
use super::{Algorithm, Rate, Rates};

const SECOND: u64 = 1_000_000;

fn rate(by: Algorithm) -> impl Strategy<Value = Rate> {
    (1..12u64, prop_oneof![Just(SECOND), 1..5_000_000u64])
        .prop_map(move |(tokens, us)| Rate::new(tokens, Duration::from_micros(us)).by(by))
}

/// One to three rates, each by any algorithm.
fn rates() -> impl Strategy<Value = Rates> {
    let any = || prop::sample::select(&Algorithm::OWN[..]).prop_flat_map(rate);
    prop_oneof![
        3 => any().prop_map(|one| vec![one]),
        2 => (any(), any()).prop_map(|(one, two)| vec![one, two]),
        1 => (any(), any(), any()).prop_map(|(one, two, three)| vec![one, two, three]),
    ]
    .prop_filter("no two with one period", |rates| Rates::from(rates.clone()).check().is_ok())
    .prop_map(Rates::from)
}

/// Pauses, costs and waits.
fn calls(most: usize) -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let pause = prop_oneof![3 => Just(0), 2 => 0..100_000u64, 1 => 0..3_000_000u64];
    prop::collection::vec((pause, 0..15u64, prop_oneof![Just(0), 0..10_000_000u64]), 0..most)
}

/// What is charged for later.
fn reserve(limiter: &mut Limiter, cost: u64) -> Option<GiveBack> {
    match limiter.answer(cost, 10_000 * SECOND) {
        Answer::Reserved(reserved) => Some(GiveBack::new(&reserved.rates, reserved.cost, reserved.stood)),
        Answer::Decided(_) => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_reservation_given_back_leaves_nothing(
        rates in rates(),
        before in calls(25),
        blocked_us in prop_oneof![3 => Just(None), 1 => (0..5_000_000u64).prop_map(Some)],
        cost in 0..15u64,
        pause in prop_oneof![1 => Just(0), 2 => 0..1_000_000u64, 1 => 0..15_000_000u64],
        after in calls(12),
    ) {
        let mut limiter = Limiter::new(rates.clone());
        let cost_of = |some: u64| 1 + some % rates.limit();
        for (pause, some, wait_us) in before {
            limiter.pass(pause);
            limiter.answer(cost_of(some), wait_us);
        }
        if let Some(us) = blocked_us {
            limiter.run(&Block::new(&rates, Duration::from_micros(us)));
        }
        let mut never_asked = limiter.clone();
        if let Some(give_back) = reserve(&mut limiter, cost_of(cost)) {
            limiter.pass(pause);
            never_asked.pass(pause);
            if limiter.run(&give_back) {
                for (pause, some, _) in after {
                    limiter.pass(pause);
                    never_asked.pass(pause);
                    prop_assert_eq!(limiter.ask(cost_of(some)), never_asked.ask(cost_of(some)));
                }
            }
        }
    }
}

#[test]
fn a_cancelled_wait_shuts_no_shorter_window() {
    for by in Algorithm::OWN {
        let each = [(10, SECOND), (20, 3_600 * SECOND)];
        let rates = Rates::from(each.map(|(tokens, us)| Rate::new(tokens, Duration::from_micros(us)).by(by)));
        let mut limiter = Limiter::new(rates);
        limiter.ask(10);
        limiter.pass(2 * SECOND);
        limiter.ask(9);
        let give_back = reserve(&mut limiter, 5).expect("1 of 20 is left");
        assert!(limiter.run(&give_back));
        assert!(limiter.ask(1).allowed, "{}", by.as_str());
    }
}

/// Of the window before a reserved one no more is known than that the tokens did not fit: it counts as full.
#[test]
fn a_reward_reaches_the_window_before_a_reserved_one() {
    for by in [Algorithm::FixedWindow, Algorithm::AlignedWindow] {
        let rates = Rates::from(Rate::new(10, Duration::from_secs(1)).by(by));
        let mut limiter = Limiter::new(rates.clone());
        limiter.ask(10);
        assert!(reserve(&mut limiter, 2).is_some());
        limiter.run(&Reward::new(&rates, 5));
        assert_eq!(limiter.ask(0).remaining, 3, "{}", by.as_str());
    }
}
