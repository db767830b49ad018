//! The limiter's actions for the property test of steps, see `step/model.rs`: also with a server clock that steps back.

use std::time::Duration;

use proptest::prelude::*;

use super::Rate;
use super::step::{Gcra, LimitState, Reset};
use crate::step::State;
use crate::step::model::{Model, Pair, drive};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Ask {
        rate: Rate,
        cost: u64,
    },
    Reset,
    /// What others leave in the key.
    Foreign {
        value: String,
        ttl_ms: Option<u64>,
    },
}

fn rates() -> impl Strategy<Value = Rate> {
    let seconds = Duration::from_secs;
    prop_oneof![
        Just(Rate::new(3, seconds(1))),
        Just(Rate::new(100, seconds(1)).burst(20)),
        Just(Rate::new(1, seconds(60))),
        Just(Rate::new(0, seconds(1))),
        Just(Rate::new(999_999_999_999, Duration::from_micros(7))),
        Just(Rate::new(1, seconds(100 * 31_557_600))),
        (1..1_000u64, 1..10_000_000u64, 1..50u64).prop_map(|(tokens, us, burst)| Rate::new(
            tokens,
            Duration::from_micros(us)
        )
        .burst(burst)),
    ]
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let ask = (rates(), 0..1_000u64).prop_map(|(rate, some)| {
        let cost = if rate.limit() == 0 { some } else { some % (rate.limit().min(25) + 1) };
        Action::Ask { rate, cost }
    });
    let value = prop_oneof![
        Just("".to_owned()),
        Just("7.5".to_owned()),
        Just("text".to_owned()),
        Just("31536000000000".to_owned()),
        Just("31536000000000+1/3".to_owned()),
        Just("31536000000000+5/3".to_owned()),
        Just("9".repeat(60)),
    ];
    let foreign = (value, prop::option::of(1..5_000u64)).prop_map(|(value, ttl_ms)| Action::Foreign { value, ttl_ms });
    let action = prop_oneof![20 => ask, 1 => Just(Action::Reset), 1 => foreign];
    let shift_us = prop_oneof![
        4 => 0..1_000i64,
        4 => 0..500_000i64,
        2 => Just(1_000_000),
        1 => Just(-3_000),
        1 => Just(-3_600_000_000),
        1 => Just(3_600_000_000),
    ];
    (action, shift_us)
}

impl Model for LimitState {
    type Action = Action;

    fn act(pair: &mut Pair<LimitState>, action: &Action) {
        match action {
            Action::Ask { rate, cost } => pair.step(&Gcra::new(*rate, *cost), false),
            Action::Reset => pair.step(&Reset, false),
            Action::Foreign { value, ttl_ms } => {
                let key = LimitState::main_key(&pair.name);
                pair.command(&["SET", &key, value]);
                if let Some(ttl) = ttl_ms {
                    pair.command(&["PEXPIRE", &key, &ttl.to_string()]);
                }
                pair.state = LimitState { tat: Some(value.clone()), deadline: pair.deadline(*ttl_ms) };
            }
        }
    }

    fn read_back(pair: &mut Pair<LimitState>) -> LimitState {
        let key = LimitState::main_key(&pair.name);
        let deadline = pair.server_deadline(&key);
        let value = pair.server.cmd(&["GET", &key]).unwrap();
        LimitState { tat: (!value.is_nil()).then(|| value.text().to_owned()), deadline }
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<LimitState>(1_000, actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<LimitState>(10_000, actions());
}
