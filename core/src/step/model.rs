//! The property test of steps: the same random sequences at the same frozen times on the specification and on a server.
//!
//! The server's clock stands still under the kit's shim and is set before each step, so that replies, notifications and
//! the state read back must be equal to the millisecond. A primitive brings its actions and its way to read the state back.

use std::fmt::Debug;

use libdlock_testkit::{Conn, Reply, Server};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use redis::Value;

use super::{Attempt, Call, Notice, State, Step, WrongType};
use crate::name::ObjectName;
use crate::time::ServerTime;

/// 2026-01-01, in us.
const START: i64 = 1_767_225_600_000_000;

/// The channel of the message that ends those of a step.
const MARKER: &str = "marker";

/// What a primitive brings to the test.
pub(crate) trait Model: State + Debug + PartialEq {
    /// One random action: a step, or what others do to the keys.
    type Action: Debug + Clone;

    fn act(pair: &mut Pair<Self>, action: &Self::Action);

    /// An invariant of every state.
    fn check(&self) {}

    /// The third body, for tests only: reads back what the server holds.
    fn read_back(pair: &mut Pair<Self>) -> Self;
}

/// Both sides of the comparison.
pub(crate) struct Pair<M> {
    pub(crate) name: ObjectName,
    pub(crate) state: M,
    pub(crate) server: Conn,
    listener: Conn,
    pub(crate) now: ServerTime,
}

impl<M: Model> Pair<M> {
    /// Runs a step on both and compares what they say and send.
    pub(crate) fn step<S: Step<State = M>>(&mut self, step: &S, late: bool)
    where
        S::Reply: PartialEq,
    {
        let not_after = if late { ServerTime(self.now.0 - 1) } else { self.now };
        let attempt = Attempt { not_after };
        let mut notices = Vec::new();
        let before = self.state.clone();
        let expected = step.apply(&self.name, attempt, &mut self.state, self.now, &mut notices);
        if expected.is_err() {
            assert_eq!(self.state, before, "a refused step changed the state");
        }
        let mut call = Call::default();
        step.encode(&self.name, attempt, &mut call);
        let keys = call.keys.len().to_string();
        let mut command = vec!["EVAL".to_owned(), S::script().text().to_owned(), keys];
        command.extend(call.keys.iter().chain(call.args.iter()).map(str::to_owned));
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
        self.server.cmd(&["PUBLISH", MARKER, ""]).unwrap();
        let mut got = Vec::new();
        loop {
            let message = self.listener.read().unwrap();
            // pmessage, pattern, channel, payload
            match (message.array()[2].text(), message.array()[3].text()) {
                (MARKER, _) => break,
                (channel, payload) => got.push((channel.to_owned(), payload.to_owned())),
            }
        }
        let expected: Vec<(String, String)> =
            expected.iter().map(|notice| (notice.channel.clone(), notice.payload.clone())).collect();
        assert_eq!(got, expected, "notifications differ");
    }

    /// What others do to the keys.
    pub(crate) fn command(&mut self, words: &[&str]) {
        self.server.cmd(words).unwrap();
    }

    /// When a key that is to live `ttl_ms` from now on is gone.
    pub(crate) fn deadline(&self, ttl_ms: Option<u64>) -> Option<u64> {
        ttl_ms.map(|ttl| self.now.millis() + ttl)
    }

    /// When the server will drop a key; `None` for one that stays or is not there.
    pub(crate) fn server_deadline(&mut self, key: &str) -> Option<u64> {
        match self.server.cmd(&["PTTL", key]).unwrap().int() {
            ttl @ 0.. => Some(self.now.millis() + ttl as u64),
            _ => None,
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

/// Runs random sequences of up to 60 actions, each after a shift of the server's clock by so many us, and checks the state
/// after each.
pub(crate) fn drive<M: Model>(sequences: u32, actions: impl Strategy<Value = (M::Action, i64)>) {
    let (server, clock) = Server::with_clock();
    let mut runner = TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let actions = prop::collection::vec(actions, 1..60);
    let mut now = START;
    let mut steps = 0;
    for sequence in 0..sequences {
        let actions = actions.new_tree(&mut runner).unwrap().current();
        let name = ObjectName::new("", &format!("object-{sequence}")).unwrap();
        let mut listener = server.connect();
        listener.cmd(&["PSUBSCRIBE", "*"]).unwrap();
        let mut pair =
            Pair { name, state: M::default(), server: server.connect(), listener, now: ServerTime(now as u64) };
        for (at, (action, shift_us)) in actions.iter().enumerate() {
            now += shift_us;
            clock.freeze_at(now);
            pair.now = ServerTime(now as u64);
            pair.state.expire(pair.now);
            M::act(&mut pair, action);
            pair.state.expire(pair.now);
            assert_eq!(M::read_back(&mut pair), pair.state, "state differs after {:?}", &actions[..=at]);
            pair.state.check();
            steps += 1;
        }
    }
    println!("{steps} steps compared");
    assert!(steps >= sequences * 20, "the sequences are shorter than meant");
}
