//! The limiter's actions for the property test of steps, see `step/model.rs`: also with a server clock that steps back.

use std::time::Duration;

use proptest::prelude::*;

use super::Rate;
use super::step::{Fetch, Gcra, GiveBack, LimitState, PutBack, Reset, Wanted};
use super::tat::{Span, Stored};
use crate::step::MainKey;
use crate::step::model::{Model, Pair, Sequences, drive};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Ask {
        rate: Rate,
        cost: u64,
        wait: Duration,
    },
    /// Of what was charged `since` before the last.
    GiveBack {
        rate: Rate,
        cost: u64,
        since_us: u64,
    },
    Fetch {
        rate: Rate,
        least: u64,
        wanted: Wanted,
    },
    /// The last parts of a stretch that ended `since` before the last charge.
    PutBack {
        rate: Rate,
        unused: u128,
        since_us: u64,
    },
    Reset,
    /// An object of another kind.
    Other,
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
    let cost = |rate: Rate, some: u64| if rate.limit() == 0 { some } else { some % (rate.limit().min(25) + 1) };
    let wait = prop_oneof![
        2 => Just(Duration::ZERO),
        2 => (0..10_000_000u64).prop_map(Duration::from_micros),
        1 => Just(Duration::MAX),
    ];
    let ask = (rates(), 0..1_000u64, wait).prop_map(move |(rate, some, wait)| Action::Ask {
        rate,
        cost: cost(rate, some),
        wait,
    });
    let since_us = prop_oneof![Just(0), 0..1_000u64, 0..2_000_000u64];
    let give_back = (rates(), 0..1_000u64, since_us).prop_map(move |(rate, some, since_us)| Action::GiveBack {
        rate,
        cost: cost(rate, some),
        since_us,
    });
    let wanted = (0..2_000u64, prop_oneof![Just(0), 0..1_000_000u64], 0..3_000u64);
    let fetch = (rates(), 0..1_000u64, wanted).prop_map(move |(rate, some, (wanted, lasting_us, most))| {
        // In thirds of a token, so that stretches end anywhere.
        let [work, most] = [wanted, most].map(|thirds| rate.work(thirds % (3 * rate.limit().max(1))) / 3);
        Action::Fetch { rate, least: cost(rate, some).max(1), wanted: Wanted { work, lasting_us, most } }
    });
    let since_us = prop_oneof![3 => Just(0), 1 => 0..1_000u64];
    let put_back = (rates(), 0..1_000u64, since_us).prop_map(move |(rate, thirds, since_us)| Action::PutBack {
        rate,
        unused: rate.work(thirds % (3 * rate.limit().max(1))) / 3,
        since_us,
    });
    let value = prop_oneof![
        Just("".to_owned()),
        Just("7.5".to_owned()),
        Just("text".to_owned()),
        Just("31536000000000".to_owned()),
        Just("31536000000000+1/3".to_owned()),
        Just("31536000000000+5/3".to_owned()),
        Just("9".repeat(60)),
        // Written a second before the start, or ten minutes after it.
        Just("31536005000000+10031535999000000/30000000000000000".to_owned()),
        Just("31536605000000+20031536600000000/30000000000000000".to_owned()),
        Just(format!("{}+00031535999000000/10000000000000000", "9".repeat(60))),
        Just("31536000000000+1/30000000000000000".to_owned()),
    ];
    let foreign = (value, prop::option::of(1..5_000u64)).prop_map(|(value, ttl_ms)| Action::Foreign { value, ttl_ms });
    let action = prop_oneof![
        20 => ask,
        6 => give_back,
        12 => fetch,
        6 => put_back,
        1 => Just(Action::Reset),
        1 => foreign,
        1 => Just(Action::Other)
    ];
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

/// A theoretical arrival time so long before the stored one, such as the server could have answered.
fn before_last(pair: &Pair<LimitState>, rate: Rate, since_us: u64) -> Span {
    let text = pair.state.main.text().ok().flatten();
    let stored = text.and_then(|text| Stored::parse(text, rate.unit())).unwrap_or_default();
    Span { us: stored.tat.us.min(1 << 52), ..stored.tat }.minus(Span { us: since_us, part: 0 }, rate.unit())
}

impl Model for LimitState {
    type Action = Action;

    fn act(pair: &mut Pair<LimitState>, action: &Action) {
        match action {
            Action::Ask { rate, cost, wait } => pair.step(&Gcra::new(*rate, *cost).within(*wait), false),
            Action::GiveBack { rate, cost, since_us } => {
                let tat = before_last(pair, *rate, *since_us);
                pair.step(&GiveBack::new(*rate, *cost, tat), false);
            }
            Action::Fetch { rate, least, wanted } => pair.step(&Fetch::new(*rate, *least, *wanted), false),
            Action::PutBack { rate, unused, since_us } => {
                let tat = before_last(pair, *rate, *since_us);
                pair.step(&PutBack::new(*rate, *unused, tat), false);
            }
            Action::Reset => pair.step(&Reset, false),
            Action::Foreign { value, ttl_ms } => {
                pair.set_main(MainKey::of_text(value.clone(), pair.deadline(*ttl_ms)));
            }
            Action::Other => pair.set_main(MainKey::of_fields([("field", "1")], pair.deadline(Some(1_500)))),
        }
    }

    fn read_back(pair: &mut Pair<LimitState>) -> LimitState {
        LimitState { main: pair.read_main() }
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<LimitState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<LimitState>(Sequences::long(), actions());
}
