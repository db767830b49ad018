//! The property test: the same random steps at the same frozen times on the specification and on a real server.
//!
//! The server's clock stands still under the kit's shim and is set before each step, so that replies, notifications and
//! the state read back must be equal to the millisecond.

use std::collections::BTreeMap;
use std::time::Duration;

use libdlock_testkit::{Conn, Reply, Server};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use redis::Value;

use super::step::{self, Acquire, ForceRelease, Inspect, LockHash, LockState, Release, Renew, TokenKey, Transfer};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Notice, State, Step, WrongType};
use crate::time::ServerTime;

/// 2026-01-01, in us.
const START: u64 = 1_767_225_600_000_000;

#[derive(Clone, Debug)]
enum Action {
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
enum Foreign {
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

fn actions() -> impl Strategy<Value = (Action, u64)> {
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
    let pause_us = prop_oneof![3 => 0..2_000u64, 3 => Just(1_000_000), 2 => Just(100_000), 2 => Just(1_000), 2 => 0..2_000_000u64, 1 => Just(31_000_000)];
    (action, pause_us)
}

fn owner(number: u8) -> String {
    format!("11111111-2222-8333-8444-555555555555:{number}")
}

/// Both sides of the comparison.
struct Pair {
    name: ObjectName,
    state: LockState,
    server: Conn,
    listener: Conn,
    now: ServerTime,
}

impl Pair {
    /// Runs a step on both and compares what they say and send.
    fn step<S: Step<State = LockState>>(&mut self, step: &S, late: bool)
    where
        S::Reply: PartialEq,
    {
        let not_after = if late { ServerTime(self.now.0 - 1) } else { self.now };
        let attempt = Attempt { not_after };
        let mut notices = Vec::new();
        self.state.expire(self.now);
        let before = self.state.clone();
        let expected = step.apply(&self.name, attempt, &mut self.state, self.now, &mut notices);
        if expected.is_err() {
            assert_eq!(self.state, before, "a refused step changed the state");
        }
        let mut call = Call::default();
        step.encode(&self.name, attempt, &mut call);
        let keys = call.keys.len().to_string();
        let mut command = vec!["EVAL".to_owned(), S::script().text().to_owned(), keys];
        command.extend(call.keys.into_iter().chain(call.args));
        let reply = self.server.cmd(&command).unwrap();
        let got = match &reply {
            Reply::Error(text) if text.contains("WRONGTYPE") => Err(WrongType),
            Reply::Error(text) => panic!("{step:?}: {text}", step = S::OP),
            other => Ok(S::decode(value(other)).unwrap_or_else(|_| panic!("{} answered {other:?}", S::OP))),
        };
        assert_eq!(got, expected, "{} replies differ", S::OP);
        self.compare_notices(&notices);
    }

    fn compare_notices(&mut self, expected: &[Notice]) {
        // A marker behind the step's own messages tells where they end.
        let channel = step::channel(&self.name);
        self.server.cmd(&["PUBLISH", &channel, "marker"]).unwrap();
        let mut got = Vec::new();
        loop {
            let message = self.listener.read().unwrap();
            match message.array()[2].text() {
                "marker" => break,
                text => got.push(text.to_owned()),
            }
        }
        let expected: Vec<&str> = expected.iter().map(|notice| notice.payload).collect();
        assert_eq!(got, expected, "notifications differ");
    }

    fn foreign(&mut self, action: &Foreign) {
        let (lock, token) = (self.name.as_str().to_owned(), self.name.companion("redisson_lock_token"));
        let deadline = |ttl: &Option<u64>| ttl.map(|ttl| self.now.millis() + ttl);
        let mut commands: Vec<Vec<String>> = Vec::new();
        let mut command = |words: &[&str]| commands.push(words.iter().map(|word| (*word).to_owned()).collect());
        match action {
            Foreign::Hold { ttl_ms } => {
                let redisson = "6e3814a1-e847-452b-a982-45baf93a1df2:1";
                command(&["DEL", &lock]);
                command(&["HSET", &lock, redisson, "2"]);
                if let Some(ttl) = ttl_ms {
                    command(&["PEXPIRE", &lock, &ttl.to_string()]);
                }
                let owners = BTreeMap::from([(redisson.to_owned(), "2".to_owned())]);
                self.state.hash = Some(LockHash { owners, deadline: deadline(ttl_ms) });
            }
            Foreign::Token { value, ttl_ms } => {
                command(&["SET", &token, value]);
                if let Some(ttl) = ttl_ms {
                    command(&["PEXPIRE", &token, &ttl.to_string()]);
                }
                self.state.token = Some(TokenKey { value: (*value).to_owned(), deadline: deadline(ttl_ms) });
            }
            Foreign::DropToken => {
                command(&["DEL", &token]);
                self.state.token = None;
            }
            Foreign::Delete => {
                command(&["DEL", &lock]);
                self.state.hash = None;
            }
        }
        for command in commands {
            self.server.cmd(&command).unwrap();
        }
    }

    /// The third body, for tests only: reads back what the server holds.
    fn read_back(&mut self) -> LockState {
        let (lock, token) = (self.name.as_str().to_owned(), self.name.companion("redisson_lock_token"));
        let mut deadline = |key: &str| match self.server.cmd(&["PTTL", key]).unwrap().int() {
            ttl @ 0.. => Some(self.now.millis() + ttl as u64),
            _ => None,
        };
        let (lock_deadline, token_deadline) = (deadline(&lock), deadline(&token));
        let fields = self.server.cmd(&["HGETALL", &lock]).unwrap();
        let fields: Vec<&str> = fields.array().iter().map(Reply::text).collect();
        let owners: BTreeMap<String, String> =
            fields.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect();
        let value = self.server.cmd(&["GET", &token]).unwrap();
        LockState {
            hash: (!owners.is_empty()).then_some(LockHash { owners, deadline: lock_deadline }),
            token: (!value.is_nil()).then(|| TokenKey { value: value.text().to_owned(), deadline: token_deadline }),
        }
    }

    fn run(&mut self, action: &Action) {
        let ms = Duration::from_millis;
        match action {
            Action::Acquire { owner: number, lease_ms, token_ttl_ms, late } => {
                let step = Acquire { owner: owner(*number), lease: ms(*lease_ms), token_ttl: token_ttl_ms.map(ms) };
                self.step(&step, *late);
            }
            Action::Release { owner: number } => self.step(&Release { owner: owner(*number) }, false),
            Action::Renew { owner: number, lease_ms } => {
                self.step(&Renew { owner: owner(*number), lease: ms(*lease_ms) }, false);
            }
            Action::Transfer { from, to, lease_ms, late } => {
                self.step(&Transfer { from: owner(*from), to: owner(*to), lease: ms(*lease_ms) }, *late);
            }
            Action::ForceRelease => self.step(&ForceRelease, false),
            Action::Inspect => self.step(&Inspect, false),
            Action::Foreign(foreign) => self.foreign(foreign),
        }
    }
}

fn value(reply: &Reply) -> Value {
    match reply {
        Reply::Nil => Value::Nil,
        Reply::Int(number) => Value::Int(*number),
        Reply::Array(items) => Value::Array(items.iter().map(value).collect()),
        other => Value::BulkString(other.text().as_bytes().to_vec()),
    }
}

/// Runs `sequences` random sequences of up to 60 steps.
fn drive(sequences: u32) {
    let (server, clock) = Server::with_clock();
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let mut now = START;
    let mut steps = 0;
    for sequence in 0..sequences {
        let actions = prop::collection::vec(actions(), 1..60).new_tree(&mut runner).unwrap().current();
        let name = ObjectName::new("", &format!("lock-{sequence}")).unwrap();
        let mut listener = server.connect();
        listener.cmd(&["SUBSCRIBE", &step::channel(&name)]).unwrap();
        let mut pair =
            Pair { name, state: LockState::default(), server: server.connect(), listener, now: ServerTime(now) };
        for (at, (action, pause_us)) in actions.iter().enumerate() {
            now += pause_us;
            clock.freeze_at(now as i64);
            pair.now = ServerTime(now);
            pair.state.expire(pair.now);
            pair.run(action);
            pair.state.expire(pair.now);
            assert_eq!(pair.read_back(), pair.state, "state differs after {:?}", &actions[..=at]);
            steps += 1;
        }
        check_invariants(&pair.state);
    }
    println!("{steps} steps compared");
    assert!(steps >= sequences * 20, "the sequences are shorter than meant");
}

/// I1: never two owners, of which one is ours.
fn check_invariants(state: &LockState) {
    if let Some(hash) = &state.hash {
        assert_eq!(hash.owners.len(), 1);
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive(1_000);
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive(10_000);
}
