//! The latch's actions for the property test of steps, see `step/model.rs`: also with a server clock that steps back and forth.

use proptest::prelude::*;

use super::step::{CountDown, DONE, Delete, LatchState, Look, MAX_COUNT, SetCount, channel};
use crate::name::ObjectName;
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{MainKey, Once, Remembered};
use crate::time::ServerTime;

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    /// Which was made so long before now, by a client whose idea of the server's time may be wrong.
    New { number: u32, age_us: i64 },
    /// One of those that are remembered, if there are any.
    Repeated(usize),
}

impl Request {
    fn of(self, pair: &Pair<LatchState>) -> Once {
        let made = |number: u32, age_us: i64| {
            Once::new(&format!("r:{number}"), ServerTime((pair.now.0 as i64 - age_us) as u64))
        };
        match self {
            Request::New { number, age_us } => made(number, age_us),
            Request::Repeated(at) => {
                let ids = pair.state.done.ids();
                ids.get(at % ids.len().max(1)).map_or_else(|| made(0, 0), |id| Once::again(id))
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Set {
        request: Request,
        count: u64,
        late: bool,
    },
    CountDown {
        request: Request,
        by: u64,
        late: bool,
    },
    Delete {
        request: Request,
        late: bool,
    },
    Look,
    /// What others leave in the key.
    Foreign {
        value: String,
        ttl_ms: Option<u64>,
    },
    /// An object of another kind, such as a lock.
    Other,
    /// Redisson's `DECR` of a latch that is there.
    ForeignDown,
    Removed,
    Listens(bool),
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let request = || {
        let age_us = prop_oneof![
            8 => Just(0),
            2 => 0..1_000_000i64,
            1 => 59_000_000..61_000_000i64,
            1 => Just(-3_600_000_000),
        ];
        let new = (any::<u32>(), age_us).prop_map(|(number, age_us)| Request::New { number, age_us });
        prop_oneof![3 => new, 2 => (0..20usize).prop_map(Request::Repeated)]
    };
    let late = || prop::bool::weighted(0.05);
    let count = || prop_oneof![12 => 1..6u64, 1 => Just(MAX_COUNT), 1 => 1..100_000u64];
    let set = (request(), count(), late()).prop_map(|(request, count, late)| Action::Set { request, count, late });
    let down = (request(), count(), late()).prop_map(|(request, by, late)| Action::CountDown { request, by, late });
    let delete = (request(), late()).prop_map(|(request, late)| Action::Delete { request, late });
    let value = prop_oneof![
        Just("0".to_owned()),
        Just("-3".to_owned()),
        Just("7".to_owned()),
        Just("007".to_owned()),
        Just("-0".to_owned()),
        Just("1.5".to_owned()),
        Just("".to_owned()),
        Just("many".to_owned()),
        Just(MAX_COUNT.to_string()),
        Just((MAX_COUNT + 1).to_string()),
        Just("9".repeat(30)),
    ];
    let foreign = (value, prop::option::of(1..5_000u64)).prop_map(|(value, ttl_ms)| Action::Foreign { value, ttl_ms });
    let action = prop_oneof![
        8 => set,
        16 => down,
        2 => delete,
        4 => Just(Action::Look),
        1 => foreign,
        1 => Just(Action::Other),
        2 => Just(Action::ForeignDown),
        1 => Just(Action::Removed),
        1 => any::<bool>().prop_map(Action::Listens),
    ];
    let shift_us = prop_oneof![
        6 => 0..1_000i64,
        4 => 0..500_000i64,
        2 => 0..40_000_000i64,
        1 => Just(60_000_000),
        1 => Just(60_001_999),
        1 => Just(-3_000),
        1 => Just(-3_600_000_000),
        1 => Just(3_600_000_000),
    ];
    (action, shift_us)
}

impl Model for LatchState {
    type Action = Action;

    fn act(pair: &mut Pair<LatchState>, action: &Action) {
        match action {
            Action::Set { request, count, late } => {
                let step = SetCount { once: request.of(pair), count: *count };
                pair.step(&step, *late);
            }
            Action::CountDown { request, by, late } => {
                let step = CountDown { once: request.of(pair), by: *by };
                pair.step(&step, *late);
            }
            Action::Delete { request, late } => {
                let step = Delete { once: request.of(pair) };
                pair.step(&step, *late);
            }
            Action::Look => pair.step(&Look, false),
            Action::Foreign { value, ttl_ms } => {
                pair.set_main(MainKey::of_text(value.clone(), pair.deadline(*ttl_ms)));
            }
            Action::Other => pair.set_main(MainKey::of_fields([("field", "1")], pair.deadline(Some(1_500)))),
            Action::ForeignDown => {
                let count = pair.state.main.text().ok().flatten();
                let number = count.and_then(|text| text.parse::<i64>().ok());
                if let Some(number) = number.filter(|number| (2..1_000_000).contains(number)) {
                    pair.set_main(MainKey::of_text((number - 1).to_string(), pair.state.main.deadline()));
                }
            }
            Action::Removed => pair.set_main(MainKey::default()),
            Action::Listens(listens) => {
                let channel = channel(&pair.name);
                pair.listen(&channel, *listens);
            }
        }
    }

    fn channels(name: &ObjectName) -> Vec<String> {
        vec![channel(name)]
    }

    fn read_back(pair: &mut Pair<LatchState>) -> LatchState {
        LatchState { main: pair.read_main(), done: Remembered::read_back(pair, DONE) }
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<LatchState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<LatchState>(Sequences::long(), actions());
}
