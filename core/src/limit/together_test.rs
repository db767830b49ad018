//! One request for a sum does what so many requests do, checked on the specification.

use std::time::Duration;

use proptest::prelude::*;

use super::oracles_test::Limiter;
use super::{Algorithm, Rate, Rates};

fn rates() -> impl Strategy<Value = Rates> {
    let any = || {
        (1..40u64, 1..5_000_000u64, prop::sample::select(&Algorithm::OWN[..]))
            .prop_map(|(tokens, us, by)| Rate::new(tokens, Duration::from_micros(us)).by(by))
    };
    prop_oneof![2 => any().prop_map(|one| vec![one]), 1 => (any(), any()).prop_map(|(one, two)| vec![one, two])]
        .prop_filter("no two that contradict each other", |rates| Rates::from(rates.clone()).check().is_ok())
        .prop_map(Rates::from)
}

/// Pauses, costs and how many ask.
fn calls() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
    let pause = prop_oneof![2 => Just(0), 2 => 0..100_000u64, 1 => 0..3_000_000u64];
    prop::collection::vec((pause, 0..6u64, 1..12u64), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_sum_is_granted_just_when_each_of_its_parts_is(rates in rates(), calls in calls()) {
        let mut together = Limiter::new(rates.clone());
        for (pause, cost, many) in calls {
            together.pass(pause);
            let cost = 1 + cost % rates.limit();
            let many = 1 + many % (rates.limit() / cost).max(1);
            let mut each = together.clone();
            let all = (0..many).all(|_| each.ask(cost).allowed);
            let sum = together.ask(cost * many);
            prop_assert_eq!(sum.allowed, all);
            if all {
                for later in [0, 1, pause, 1_000_000] {
                    together.pass(later);
                    each.pass(later);
                    prop_assert_eq!(together.ask(0), each.ask(0));
                    prop_assert_eq!(together.ask(cost), each.ask(cost));
                }
            }
        }
    }
}
