//! The lock's actions for the property test of steps, see `step/model.rs`.

use std::time::Duration;

use proptest::prelude::*;

use super::step::{self, Acquire, Cancel, ForceRelease, Inspect, LockState, Raise, Release, Renew, Transfer, Undo};
use crate::contended::token::TOKEN;
use crate::contended::{Look, Queue};
use crate::context::inbox;
use crate::name::ObjectName;
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{MainKey, Text};

/// More than head, next and one behind them.
pub(super) const CLIENTS: u8 = 4;

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Acquire {
        owner: u8,
        lease_ms: u64,
        token_ttl_ms: Option<u64>,
        block: u64,
        waits: bool,
        late: bool,
    },
    Release {
        owner: u8,
        rejoin: bool,
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
        lease_ms: u64,
        /// Cut off what is beyond so much more.
        cut_ms: Option<u64>,
    },
    Transfer {
        from: u8,
        to: u8,
        lease_ms: u64,
        late: bool,
    },
    Raise {
        owner: u8,
        /// So many us ahead of the clock.
        ahead: i64,
        token_ttl_ms: Option<u64>,
    },
    Undo {
        owner: u8,
    },
    ForceRelease,
    Inspect,
    /// What others do to the keys.
    Foreign(Foreign),
}

#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// A Redisson client's hold, with or without expiry.
    Hold {
        ttl_ms: Option<u64>,
        /// Its field has a name that no reply carries whole.
        long: bool,
    },
    Token {
        value: &'static str,
        ttl_ms: Option<u64>,
    },
    DropToken,
    /// An object of another kind, such as a latch.
    Other,
    Delete,
    DropQueue,
    DropSeen,
    /// A client's inbox is listened to, or not.
    Listens {
        client: u8,
        listens: bool,
    },
    /// A stamp of the future, as when the clock went back.
    SeenLater {
        client: u8,
    },
}

fn leases() -> impl Strategy<Value = u64> {
    prop_oneof![Just(100), Just(1000), Just(30_000), 100..5_000u64]
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    // Two attempts of each client.
    let owner = 0..2 * CLIENTS;
    let block = prop_oneof![3 => Just(1u64), 2 => Just(32)];
    let waits = prop::bool::weighted(0.8);
    let token_ttl = prop_oneof![Just(None), Just(Some(1_000)), Just(Some(3_600_000))];
    let late = prop::bool::weighted(0.05);
    let foreign = prop_oneof![
        (prop::option::of(1..2_000u64), any::<bool>()).prop_map(|(ttl_ms, long)| Foreign::Hold { ttl_ms, long }),
        (
            prop_oneof![
                Just("7"),
                Just("1767225600000000"),
                // Two hours ahead of the test's first instant.
                Just("1767232800000000"),
                Just("9007199254740990"),
                Just("9007199254740991"),
                Just("0x10"),
                Just("")
            ],
            prop::option::of(1..5_000u64)
        )
            .prop_map(|(value, ttl_ms)| Foreign::Token { value, ttl_ms }),
        Just(Foreign::DropToken),
        Just(Foreign::Other),
        Just(Foreign::Delete),
        Just(Foreign::DropQueue),
        Just(Foreign::DropSeen),
        (0..CLIENTS).prop_map(|client| Foreign::SeenLater { client }),
        (0..CLIENTS, any::<bool>()).prop_map(|(client, listens)| Foreign::Listens { client, listens }),
        (0..CLIENTS).prop_map(|client| Foreign::Listens { client, listens: false }),
    ];
    let action = prop_oneof![
        8 => (owner.clone(), leases(), token_ttl.clone(), block, waits, late).prop_map(|(owner, lease_ms, token_ttl_ms, block, waits, late)| Action::Acquire { owner, lease_ms, token_ttl_ms, block, waits, late }),
        5 => (owner.clone(), any::<bool>()).prop_map(|(owner, rejoin)| Action::Release { owner, rejoin }),
        2 => (0..CLIENTS, late).prop_map(|(client, late)| Action::Cancel { client, late }),
        4 => (0..CLIENTS, any::<bool>(), late).prop_map(|(client, keep, late)| Action::Look { client, keep, late }),
        3 => (owner.clone(), leases(), prop::option::of(0..2_000u64)).prop_map(|(owner, lease_ms, cut_ms)| Action::Renew { owner, lease_ms, cut_ms }),
        3 => (owner.clone(), prop_oneof![Just(0), Just(7_200_000_000), -5_000_000..5_000_000i64], token_ttl.clone()).prop_map(|(owner, ahead, token_ttl_ms)| Action::Raise { owner, ahead, token_ttl_ms }),
        1 => owner.clone().prop_map(|owner| Action::Undo { owner }),
        2 => (owner.clone(), owner, leases(), late).prop_map(|(from, to, lease_ms, late)| Action::Transfer { from, to, lease_ms, late }),
        1 => Just(Action::ForceRelease),
        2 => Just(Action::Inspect),
        2 => foreign.prop_map(Action::Foreign),
    ];
    // Pauses that land before, on and behind the deadlines of keys.
    let pause_us = prop_oneof![3 => 0..2_000i64, 3 => Just(1_000_000), 2 => Just(100_000), 2 => Just(1_000), 2 => 0..2_000_000i64, 1 => Just(31_000_000), 1 => Just(2_600_000), 1 => Just(15_100_000), 1 => Just(-1_500_000)];
    (action, pause_us)
}

pub(super) fn client(number: u8) -> String {
    // The last one is a client id of Redisson's version.
    let version = if number == CLIENTS - 1 { 4 } else { 8 };
    format!("11111111-2222-{version}333-8444-55555555555{number}")
}

pub(super) fn owner(number: u8) -> String {
    format!("{}:{}", client(number / 2), number % 2)
}

impl Model for LockState {
    type Action = Action;

    fn act(pair: &mut Pair<LockState>, action: &Action) {
        let ms = Duration::from_millis;
        match action {
            Action::Acquire { owner: number, lease_ms, token_ttl_ms, block, waits, late } => {
                let (owner, lease, token_ttl) = (owner(*number), ms(*lease_ms), token_ttl_ms.map(ms));
                pair.step(&Acquire { owner, lease, token_ttl, block: *block, waits: *waits }, *late);
            }
            Action::Release { owner: number, rejoin } => {
                pair.step(&Release { owner: owner(*number), rejoin: *rejoin }, false);
            }
            Action::Cancel { client: number, late } => pair.step(&Cancel { client: client(*number) }, *late),
            Action::Look { client: number, keep, late } => {
                pair.step(&Look::new(&client(*number).into(), *keep), *late);
            }
            Action::Renew { owner: number, lease_ms, cut_ms } => {
                pair.step(
                    &Renew { owner: owner(*number), lease: ms(*lease_ms), cut: cut_ms.map(|more| ms(lease_ms + more)) },
                    false,
                );
            }
            Action::Transfer { from, to, lease_ms, late } => {
                pair.step(&Transfer { from: owner(*from), to: owner(*to), lease: ms(*lease_ms) }, *late);
            }
            Action::Raise { owner: number, ahead, token_ttl_ms } => {
                let (owner, token_ttl) = (owner(*number), token_ttl_ms.map(ms));
                let token = pair.now.0.saturating_add_signed(*ahead);
                pair.step(&Raise { owner, token, token_ttl }, false);
            }
            Action::Undo { owner: number } => pair.step(&Undo { owner: owner(*number) }, false),
            Action::ForceRelease => pair.step(&ForceRelease, false),
            Action::Inspect => pair.step(&Inspect, false),
            Action::Foreign(action) => foreign(pair, action),
        }
    }

    fn channels(name: &ObjectName) -> Vec<String> {
        let inboxes = (0..CLIENTS).map(|number| inbox(&client(number)));
        inboxes.chain([step::channel(name)]).collect()
    }

    /// I1: never two owners, of which one is ours.
    fn check(&self) {
        if let Ok(Some(owners)) = self.main.fields() {
            assert_eq!(owners.len(), 1);
        }
    }

    fn read_back(pair: &mut Pair<LockState>) -> LockState {
        read_lock(pair)
    }
}

/// What the server holds of the lock with the pair's name.
pub(super) fn read_lock<M: Model>(pair: &mut Pair<M>) -> LockState {
    let token = pair.name.companion(TOKEN);
    LockState { main: pair.read_main(), token: pair.read_text(&token), queue: Queue::read_back(pair, &step::QUEUE) }
}

fn foreign(pair: &mut Pair<LockState>, action: &Foreign) {
    let token = pair.name.companion(TOKEN);
    match action {
        Foreign::Hold { ttl_ms, long } => {
            let redisson = format!("6e3814a1-e847-452b-a982-45baf93a1df2:{}", "1".repeat(if *long { 300 } else { 1 }));
            pair.set_main(MainKey::of_fields([(&redisson, "2")], pair.deadline(*ttl_ms)));
        }
        Foreign::Token { value, ttl_ms } => {
            pair.command(&["SET", &token, value]);
            if let Some(ttl) = ttl_ms {
                pair.command(&["PEXPIRE", &token, &ttl.to_string()]);
            }
            pair.state.token = Some(Text { value: (*value).to_owned(), deadline: pair.deadline(*ttl_ms) });
        }
        Foreign::DropToken => {
            pair.command(&["DEL", &token]);
            pair.state.token = None;
        }
        Foreign::Other => pair.set_main(MainKey::of_text("3".to_owned(), pair.deadline(Some(1_500)))),
        Foreign::Delete => pair.set_main(MainKey::default()),
        Foreign::DropQueue => {
            pair.command(&["DEL", &pair.name.companion(step::QUEUE.queue)]);
            pair.state.queue.entries.clear();
        }
        Foreign::DropSeen => {
            pair.command(&["DEL", &pair.name.companion(step::QUEUE.seen)]);
            pair.state.queue.seen.clear();
            pair.state.queue.deaf.clear();
            pair.state.queue.barged = None;
        }
        Foreign::Listens { client: number, listens } => pair.listen(&inbox(&client(*number)), *listens),
        Foreign::SeenLater { client: number } => {
            let client = client(*number);
            if pair.state.queue.seen.contains_key(&client) {
                let later = pair.now.millis() + 3_600_000;
                pair.command(&["HSET", &pair.name.companion(step::QUEUE.seen), &client, &later.to_string()]);
                pair.state.queue.seen.insert(client, later);
            }
        }
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<LockState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<LockState>(Sequences::long(), actions());
}
