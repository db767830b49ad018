//! The pool's actions for the property test of steps, see `step/model.rs`: also with a server clock that steps back and forth.

use std::time::Duration;

use proptest::prelude::*;

use super::step::{Acquire, FREE, LEASES, Release, Renew, WorkerState};
use crate::step::MainKey;
use crate::step::model::{Model, Pair, Sequences, drive};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Acquire {
        owner: u8,
        lease_ms: u64,
        size: u64,
        late: bool,
    },
    Renew {
        owner: u8,
        lease_ms: u64,
        cut_ms: Option<u64>,
        ahead_ms: i64,
    },
    Release {
        owner: u8,
        used_ms: Option<i64>,
    },
    /// What others leave in a field of the pool.
    Field {
        field: &'static str,
        text: &'static str,
    },
    /// Or among the numbers that are free.
    Freed {
        member: &'static str,
        score: u64,
    },
    /// An object of another kind.
    Other,
    DropPool,
    DropLeases,
    DropFree,
}

const OWNERS: u8 = 6;

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let owner = || 0..OWNERS;
    let lease = || prop_oneof![Just(100u64), Just(1_000), Just(30_000), 100..5_000u64];
    let size = prop_oneof![1 => Just(2u64), 4 => Just(4), 2 => Just(8)];
    let acquire = (owner(), lease(), size, prop::bool::weighted(0.05))
        .prop_map(|(owner, lease_ms, size, late)| Action::Acquire { owner, lease_ms, size, late });
    let renew = (owner(), lease(), prop::option::of(0..2_000u64), -1_000..100_000i64)
        .prop_map(|(owner, lease_ms, cut_ms, ahead_ms)| Action::Renew { owner, lease_ms, cut_ms, ahead_ms });
    let release =
        (owner(), prop::option::of(-1_000..60_000i64)).prop_map(|(owner, used_ms)| Action::Release { owner, used_ms });
    let field = (
        prop_oneof![Just("next"), Just("0"), Just("1"), Just("11111111-2222-8333-8444-555555555551:1")],
        prop_oneof![Just("x"), Just(""), Just("01"), Just("3"), Just("99999999999999"), Just("1234567890123456")],
    );
    let field = field.prop_map(|(field, text)| Action::Field { field, text });
    let freed = (prop_oneof![Just("x"), Just("2"), Just("-1")], 0..4u64);
    let freed = freed.prop_map(|(member, score)| Action::Freed { member, score });
    let action = prop_oneof![
        30 => acquire,
        15 => renew,
        12 => release,
        1 => field,
        1 => freed,
        1 => Just(Action::Other),
        1 => Just(Action::DropPool),
        1 => Just(Action::DropLeases),
        1 => Just(Action::DropFree),
    ];
    let pause_us = prop_oneof![
        4 => 0..2_000i64,
        3 => Just(1_000_000),
        2 => Just(100_000),
        2 => 0..2_000_000i64,
        1 => Just(31_000_000),
        1 => Just(-3_000),
        1 => Just(-3_600_000_000),
        1 => Just(3_600_000_000),
        1 => Just(50_000_000_000),
    ];
    (action, pause_us)
}

fn owner(number: u8) -> String {
    format!("11111111-2222-8333-8444-55555555555{number}:1")
}

fn ms(pair: &Pair<WorkerState>, ahead_ms: i64) -> u64 {
    (pair.now.millis() as i64 + ahead_ms) as u64
}

impl Model for WorkerState {
    type Action = Action;

    fn act(pair: &mut Pair<WorkerState>, action: &Action) {
        let lease = |lease_ms: &u64| Duration::from_millis(*lease_ms);
        match action {
            Action::Acquire { owner: number, lease_ms, size, late } => {
                pair.step(&Acquire { owner: owner(*number), lease: lease(lease_ms), size: *size }, *late);
            }
            Action::Renew { owner: number, lease_ms, cut_ms, ahead_ms } => {
                let cut = cut_ms.map(|more| Duration::from_millis(lease_ms + more));
                let promise_ms = ms(pair, *ahead_ms);
                let step = Renew { owner: owner(*number), lease: lease(lease_ms), cut, promise_ms, of: None };
                pair.step(&step, false);
            }
            Action::Release { owner: number, used_ms } => {
                let used_ms = used_ms.map_or(0, |ahead| ms(pair, ahead));
                pair.step(&Release { owner: owner(*number), used_ms }, false);
            }
            Action::Field { field, text } => {
                let Ok(fields) = pair.state.main.fields() else { return };
                let Some(mut fields) = fields.cloned() else { return };
                fields.insert((*field).to_owned(), (*text).to_owned());
                let deadline = pair.state.main.deadline();
                let mut main = MainKey::of_fields([("", "")], deadline);
                main.fields_mut().into_iter().for_each(|all| *all = fields.clone());
                pair.set_main(main);
            }
            Action::Freed { member, score } => {
                if !pair.state.free.value.is_empty() {
                    let key = pair.name.companion(FREE);
                    pair.command(&["ZADD", &key, &score.to_string(), member]);
                    pair.state.free.value.insert((*member).to_owned(), *score);
                }
            }
            Action::Other => pair.set_main(MainKey::of_text("text".to_owned(), pair.deadline(Some(1_500)))),
            Action::DropPool => pair.set_main(MainKey::default()),
            Action::DropLeases => {
                let key = pair.name.companion(LEASES);
                pair.command(&["DEL", &key]);
                pair.state.leases = Default::default();
            }
            Action::DropFree => {
                let key = pair.name.companion(FREE);
                pair.command(&["DEL", &key]);
                pair.state.free = Default::default();
            }
        }
    }

    fn read_back(pair: &mut Pair<WorkerState>) -> WorkerState {
        let (leases, free) = (pair.name.companion(LEASES), pair.name.companion(FREE));
        WorkerState { main: pair.read_main(), leases: pair.read_scores(&leases), free: pair.read_scores(&free) }
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<WorkerState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<WorkerState>(Sequences::long(), actions());
}
