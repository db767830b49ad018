//! The lock's actions for the property test of steps, see `step/model.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use libdlock_testkit::Reply;
use proptest::prelude::*;

use super::step::{self, Acquire, ForceRelease, Inspect, LockHash, LockState, Release, Renew, TokenKey, Transfer};
use crate::name::ObjectName;
use crate::step::model::{Model, Pair, drive};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Acquire {
        owner: u8,
        lease_ms: u64,
        token_ttl_ms: Option<u64>,
        late: bool,
    },
    Release {
        owner: u8,
    },
    Renew {
        owner: u8,
        lease_ms: u64,
    },
    Transfer {
        from: u8,
        to: u8,
        lease_ms: u64,
        late: bool,
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
    },
    Token {
        value: &'static str,
        ttl_ms: Option<u64>,
    },
    DropToken,
    Delete,
}

fn leases() -> impl Strategy<Value = u64> {
    prop_oneof![Just(100), Just(1000), Just(30_000), 100..5_000u64]
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let owner = 0..3u8;
    let token_ttl = prop_oneof![Just(None), Just(Some(1_000)), Just(Some(3_600_000))];
    let late = prop::bool::weighted(0.05);
    let foreign = prop_oneof![
        prop::option::of(1..2_000u64).prop_map(|ttl_ms| Foreign::Hold { ttl_ms }),
        (
            prop_oneof![
                Just("7"),
                Just("1767225600000000"),
                Just("9007199254740990"),
                Just("9007199254740991"),
                Just("0x10"),
                Just("")
            ],
            prop::option::of(1..5_000u64)
        )
            .prop_map(|(value, ttl_ms)| Foreign::Token { value, ttl_ms }),
        Just(Foreign::DropToken),
        Just(Foreign::Delete),
    ];
    let action = prop_oneof![
        8 => (owner.clone(), leases(), token_ttl, late).prop_map(|(owner, lease_ms, token_ttl_ms, late)| Action::Acquire { owner, lease_ms, token_ttl_ms, late }),
        5 => owner.clone().prop_map(|owner| Action::Release { owner }),
        3 => (owner.clone(), leases()).prop_map(|(owner, lease_ms)| Action::Renew { owner, lease_ms }),
        2 => (owner.clone(), owner, leases(), late).prop_map(|(from, to, lease_ms, late)| Action::Transfer { from, to, lease_ms, late }),
        1 => Just(Action::ForceRelease),
        2 => Just(Action::Inspect),
        1 => foreign.prop_map(Action::Foreign),
    ];
    // Pauses that land before, on and behind the deadlines of keys.
    let pause_us = prop_oneof![3 => 0..2_000i64, 3 => Just(1_000_000), 2 => Just(100_000), 2 => Just(1_000), 2 => 0..2_000_000i64, 1 => Just(31_000_000)];
    (action, pause_us)
}

fn owner(number: u8) -> String {
    format!("11111111-2222-8333-8444-555555555555:{number}")
}

impl Model for LockState {
    type Action = Action;

    fn channel(name: &ObjectName) -> String {
        step::channel(name)
    }

    fn act(pair: &mut Pair<LockState>, action: &Action) {
        let ms = Duration::from_millis;
        match action {
            Action::Acquire { owner: number, lease_ms, token_ttl_ms, late } => {
                let step = Acquire { owner: owner(*number), lease: ms(*lease_ms), token_ttl: token_ttl_ms.map(ms) };
                pair.step(&step, *late);
            }
            Action::Release { owner: number } => pair.step(&Release { owner: owner(*number) }, false),
            Action::Renew { owner: number, lease_ms } => {
                pair.step(&Renew { owner: owner(*number), lease: ms(*lease_ms) }, false);
            }
            Action::Transfer { from, to, lease_ms, late } => {
                pair.step(&Transfer { from: owner(*from), to: owner(*to), lease: ms(*lease_ms) }, *late);
            }
            Action::ForceRelease => pair.step(&ForceRelease, false),
            Action::Inspect => pair.step(&Inspect, false),
            Action::Foreign(action) => foreign(pair, action),
        }
    }

    /// I1: never two owners, of which one is ours.
    fn check(&self) {
        if let Some(hash) = &self.hash {
            assert_eq!(hash.owners.len(), 1);
        }
    }

    fn read_back(pair: &mut Pair<LockState>) -> LockState {
        let (lock, token) = (pair.name.as_str().to_owned(), step::token_key(&pair.name));
        let (lock_deadline, token_deadline) = (pair.server_deadline(&lock), pair.server_deadline(&token));
        let fields = pair.server.cmd(&["HGETALL", &lock]).unwrap();
        let fields: Vec<&str> = fields.array().iter().map(Reply::text).collect();
        let owners: BTreeMap<String, String> =
            fields.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
        let value = pair.server.cmd(&["GET", &token]).unwrap();
        LockState {
            hash: (!owners.is_empty()).then_some(LockHash { owners, deadline: lock_deadline }),
            token: (!value.is_nil()).then(|| TokenKey { value: value.text().to_owned(), deadline: token_deadline }),
        }
    }
}

fn foreign(pair: &mut Pair<LockState>, action: &Foreign) {
    let (lock, token) = (pair.name.as_str().to_owned(), step::token_key(&pair.name));
    match action {
        Foreign::Hold { ttl_ms } => {
            let redisson = "6e3814a1-e847-452b-a982-45baf93a1df2:1";
            pair.command(&["DEL", &lock]);
            pair.command(&["HSET", &lock, redisson, "2"]);
            if let Some(ttl) = ttl_ms {
                pair.command(&["PEXPIRE", &lock, &ttl.to_string()]);
            }
            let owners = BTreeMap::from([(redisson.to_owned(), "2".to_owned())]);
            pair.state.hash = Some(LockHash { owners, deadline: pair.deadline(*ttl_ms) });
        }
        Foreign::Token { value, ttl_ms } => {
            pair.command(&["SET", &token, value]);
            if let Some(ttl) = ttl_ms {
                pair.command(&["PEXPIRE", &token, &ttl.to_string()]);
            }
            pair.state.token = Some(TokenKey { value: (*value).to_owned(), deadline: pair.deadline(*ttl_ms) });
        }
        Foreign::DropToken => {
            pair.command(&["DEL", &token]);
            pair.state.token = None;
        }
        Foreign::Delete => {
            pair.command(&["DEL", &lock]);
            pair.state.hash = None;
        }
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<LockState>(1_000, actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<LockState>(10_000, actions());
}
