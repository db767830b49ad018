//! The generator's actions for the property test of steps, see `step/model.rs`.

use proptest::prelude::*;

use super::step::{ALLOCATION, Fetch, IdGeneratorState};
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{MainKey, Text};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Fetch(Fetch),
    /// What others leave in the key of the next id.
    Next {
        value: String,
        ttl_ms: Option<u64>,
    },
    /// What others leave in the key of the size.
    Block {
        value: String,
        ttl_ms: Option<u64>,
    },
    /// An object of another kind, such as a lock.
    Other,
    Removed,
    BlockRemoved,
}

fn texts() -> impl Strategy<Value = String> {
    let text = |text: &'static str| Just(text.to_owned());
    let most = i64::MAX.to_string();
    prop_oneof![
        8 => (1..6_000_i64).prop_map(|number| number.to_string()),
        2 => (i64::MAX - 20_000..i64::MAX).prop_map(|number| number.to_string()),
        2 => (i64::MIN..i64::MAX).prop_map(|number| number.to_string()),
        1 => Just(most),
        1 => text("9223372036854775808"),
        1 => text("-9223372036854775808"),
        1 => text("-9223372036854775809"),
        1 => prop_oneof![text("0"), text("-0"), text("007"), text("+7"), text("1.5"), text(""), text(" 1"), text("1e3")],
        1 => prop_oneof![text("many"), Just("9".repeat(30)), text("1\n"), text("-"), text("-5"), text("1000000")],
    ]
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let block = prop_oneof![8 => 1..6_000_u64, 1 => Just(1), 1 => Just((1_u64 << 53) - 1), 1 => 1..1_u64 << 53];
    let start = prop_oneof![6 => Just(1), 2 => -10..10_i64, 1 => any::<i64>(), 1 => i64::MAX - 10_000..i64::MAX];
    let wanted = prop_oneof![6 => Just(1), 3 => 1..20_000_u64, 1 => 1..=1_000_000_u64, 1 => Just(1_000_000)];
    let fetch = (block, start, wanted).prop_map(|(block, start, wanted)| Action::Fetch(Fetch { block, start, wanted }));
    let ttl = || prop::option::weighted(0.3, 1..5_000_u64);
    let action = prop_oneof![
        16 => fetch,
        2 => (texts(), ttl()).prop_map(|(value, ttl_ms)| Action::Next { value, ttl_ms }),
        2 => (texts(), ttl()).prop_map(|(value, ttl_ms)| Action::Block { value, ttl_ms }),
        1 => Just(Action::Other),
        2 => Just(Action::Removed),
        2 => Just(Action::BlockRemoved),
    ];
    (action, prop_oneof![4 => 0..1_000_i64, 2 => 0..2_000_000_i64, 1 => Just(-3_000_000)])
}

impl Model for IdGeneratorState {
    type Action = Action;

    fn act(pair: &mut Pair<IdGeneratorState>, action: &Action) {
        let key = pair.name.suffixed_parts(ALLOCATION).concat();
        match action {
            Action::Fetch(fetch) => pair.step(fetch, false),
            Action::Next { value, ttl_ms } => {
                pair.set_main(MainKey::of_text(value.clone(), pair.deadline(*ttl_ms)));
            }
            Action::Block { value, ttl_ms } => {
                pair.command(&["SET", &key, value]);
                let deadline = pair.deadline(*ttl_ms);
                if let Some(deadline) = deadline {
                    pair.command(&["PEXPIREAT", &key, &deadline.to_string()]);
                }
                pair.state.allocation = Some(Text { value: value.clone(), deadline });
            }
            Action::Other => pair.set_main(MainKey::of_fields([("field", "1")], pair.deadline(Some(1_500)))),
            Action::Removed => pair.set_main(MainKey::default()),
            Action::BlockRemoved => {
                pair.command(&["DEL", &key]);
                pair.state.allocation = None;
            }
        }
    }

    fn read_back(pair: &mut Pair<IdGeneratorState>) -> IdGeneratorState {
        let key = pair.name.suffixed_parts(ALLOCATION).concat();
        IdGeneratorState { main: pair.read_main(), allocation: pair.read_text(&key) }
    }
}

#[test]
fn the_script_does_what_the_specification_does() {
    drive::<IdGeneratorState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_script_does_what_the_specification_does_for_long() {
    drive::<IdGeneratorState>(Sequences::long(), actions());
}
