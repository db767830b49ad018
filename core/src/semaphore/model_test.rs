//! The semaphore's actions for the property test of steps, see `step/model.rs`.

use std::time::Duration;

use proptest::prelude::*;

use super::step::{self, Acquire, Cancel, Inspect, Release, Renew, SemaphoreState, SetPermits, Taker};
use crate::contended::available::channel;
use crate::contended::{Look, Queue};
use crate::context::inbox;
use crate::name::ObjectName;
use crate::step::MainKey;
use crate::step::model::{Model, Pair, Sequences, drive};

/// More than head, next and one behind them.
const CLIENTS: u8 = 4;

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Acquire {
        owner: u8,
        permits: u32,
        /// What the other acquires of the same request take.
        others: Vec<u32>,
        lease_ms: u64,
        total: u32,
        waits: bool,
        late: bool,
    },
    Release {
        owner: u8,
        permits: u32,
    },
    Cancel {
        client: u8,
        late: bool,
    },
    Look {
        client: u8,
        keep: bool,
        late: bool,
    },
    Renew {
        owner: u8,
        permits: u32,
        lease_ms: u64,
        cut_ms: Option<u64>,
    },
    SetPermits(u32),
    Inspect,
    /// What others do to the keys.
    Foreign(Foreign),
}

#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// A permit that a Redisson client takes, without a lease at times.
    Permit {
        number: u8,
        lease_ms: Option<u64>,
    },
    /// Redisson's `trySetPermits`, or something that is no number.
    Count {
        text: &'static str,
        ttl_ms: Option<u64>,
    },
    /// An object of another kind, such as a lock.
    Other,
    DropCount,
    DropTaken,
    DropSeen,
    Listens {
        client: u8,
        listens: bool,
    },
}

fn leases() -> impl Strategy<Value = u64> {
    prop_oneof![Just(100), Just(1000), Just(30_000), 100..5_000u64]
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    // Two attempts of each client, of as many permits as their number says.
    let owner = 0..2 * CLIENTS;
    let permits = prop_oneof![4 => Just(1u32), 2 => 2..4u32, 1 => Just(5)];
    let total = prop_oneof![4 => Just(4u32), 1 => Just(2)];
    let others = prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(permits.clone(), 1..4)];
    let (waits, late) = (prop::bool::weighted(0.8), prop::bool::weighted(0.05));
    let foreign = prop_oneof![
        (0..3u8, prop::option::of(1..2_000u64)).prop_map(|(number, lease_ms)| Foreign::Permit { number, lease_ms }),
        (
            prop_oneof![
                Just("4"),
                Just("-1"),
                Just("0"),
                Just("many"),
                Just(""),
                Just("1.5"),
                Just("12345678901234567")
            ],
            prop::option::of(1..5_000u64)
        )
            .prop_map(|(text, ttl_ms)| Foreign::Count { text, ttl_ms }),
        Just(Foreign::Other),
        Just(Foreign::DropCount),
        Just(Foreign::DropTaken),
        Just(Foreign::DropSeen),
        (0..CLIENTS, any::<bool>()).prop_map(|(client, listens)| Foreign::Listens { client, listens }),
        (0..CLIENTS).prop_map(|client| Foreign::Listens { client, listens: false }),
    ];
    let action = prop_oneof![
        9 => (owner.clone(), permits.clone(), others, leases(), total, waits, late).prop_map(|(owner, permits, others, lease_ms, total, waits, late)| Action::Acquire { owner, permits, others, lease_ms, total, waits, late }),
        6 => (owner.clone(), permits.clone()).prop_map(|(owner, permits)| Action::Release { owner, permits }),
        2 => (0..CLIENTS, late).prop_map(|(client, late)| Action::Cancel { client, late }),
        4 => (0..CLIENTS, any::<bool>(), late).prop_map(|(client, keep, late)| Action::Look { client, keep, late }),
        3 => (owner, permits, leases(), prop::option::of(0..2_000u64)).prop_map(|(owner, permits, lease_ms, cut_ms)| Action::Renew { owner, permits, lease_ms, cut_ms }),
        1 => (1..6u32).prop_map(Action::SetPermits),
        2 => Just(Action::Inspect),
        2 => foreign.prop_map(Action::Foreign),
    ];
    // Pauses that land before, on and behind the ends of leases and keys.
    let pause_us = prop_oneof![3 => 0..2_000i64, 3 => Just(1_000_000), 2 => Just(100_000), 2 => Just(1_000), 2 => 0..2_000_000i64, 1 => Just(31_000_000), 1 => Just(2_600_000), 1 => Just(15_100_000), 1 => Just(-1_500_000), 1 => Just(50_000_000_000)];
    (action, pause_us)
}

fn client(number: u8) -> String {
    format!("11111111-2222-8333-8444-55555555555{number}")
}

fn owner(number: u8, permits: u32) -> String {
    format!("{}:{}/{permits}", client(number / 2), number % 2)
}

impl Model for SemaphoreState {
    type Action = Action;

    fn act(pair: &mut Pair<SemaphoreState>, action: &Action) {
        let ms = Duration::from_millis;
        match action {
            Action::Acquire { owner: number, permits, others, lease_ms, total, waits, late } => {
                let lease = ms(*lease_ms);
                // Numbers that no other request has.
                let others = others.iter().enumerate();
                let others = others.map(|(at, permits)| format!("{}:1{at}/{permits}", client(*number / 2))).collect();
                let owner = owner(*number, *permits);
                pair.step(&Acquire { owner, others, lease, waits: *waits, total: *total }, *late);
            }
            Action::Release { owner: number, permits } => {
                pair.step(&Release { owner: owner(*number, *permits) }, false);
            }
            Action::Cancel { client: number, late } => pair.step(&Cancel { client: client(*number) }, *late),
            Action::Look { client: number, keep, late } => {
                pair.step(&Look::new(&client(*number).into(), *keep), *late);
            }
            Action::Renew { owner: number, permits, lease_ms, cut_ms } => {
                let cut = cut_ms.map(|more| ms(lease_ms + more));
                pair.step(&Renew { owner: owner(*number, *permits), lease: ms(*lease_ms), cut }, false);
            }
            Action::SetPermits(total) => pair.step(&SetPermits { total: *total }, false),
            Action::Inspect => pair.step(&Inspect, false),
            Action::Foreign(action) => foreign(pair, action),
        }
    }

    fn channels(name: &ObjectName) -> Vec<String> {
        let inboxes = (0..CLIENTS).map(|number| inbox(&client(number)));
        inboxes.chain([channel(name)]).collect()
    }

    fn read_back(pair: &mut Pair<SemaphoreState>) -> SemaphoreState {
        let taken = step::taken_key(&pair.name);
        SemaphoreState {
            main: pair.read_main(),
            taken: pair.read_scores(&taken),
            queue: Queue::read_back(pair, &step::QUEUE),
        }
    }
}

fn foreign(pair: &mut Pair<SemaphoreState>, action: &Foreign) {
    let taken = step::taken_key(&pair.name);
    match action {
        Foreign::Permit { number, lease_ms } => {
            let id = format!("redisson's id {number:02}");
            let expiry = lease_ms.map_or(step::NO_LEASE, |lease| pair.now.millis() + lease);
            pair.command(&["ZADD", &taken, &expiry.to_string(), &id]);
            pair.state.taken.value.insert(id, expiry);
        }
        Foreign::Count { text, ttl_ms } => {
            pair.set_main(MainKey::of_text((*text).to_owned(), pair.deadline(*ttl_ms)));
        }
        Foreign::Other => pair.set_main(MainKey::of_fields([("field", "1")], pair.deadline(Some(1_500)))),
        Foreign::DropCount => pair.set_main(MainKey::default()),
        Foreign::DropTaken => {
            pair.command(&["DEL", &taken]);
            pair.state.taken.value.clear();
        }
        Foreign::DropSeen => {
            pair.command(&["DEL", &pair.name.companion(step::QUEUE.seen)]);
            pair.state.queue.seen.clear();
            pair.state.queue.deaf.clear();
            pair.state.queue.told.clear();
            pair.state.queue.wants.clear();
            pair.state.queue.barged = None;
        }
        Foreign::Listens { client: number, listens } => pair.listen(&inbox(&client(*number)), *listens),
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<SemaphoreState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<SemaphoreState>(Sequences::long(), actions());
}

/// What one client takes and gives back, alone: the number comes out as it went in.
#[test]
fn the_ids_of_one_acquire_are_its_own() {
    assert_ne!(Taker::of(&owner(0, 1)).ids().next(), Taker::of(&owner(1, 1)).ids().next());
}
