//! The property test of steps: the same random sequences at the same frozen times on the specification and on a server.
//!
//! The server's clock stands still under the kit's shim and is set before each step, so that replies, notifications and
//! the state read back must be equal to the millisecond. A primitive brings its actions and its way to read the state back.

use std::collections::BTreeSet;
use std::fmt::Debug;

use libdlock_testkit::{self as kit, Conn, Server};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::keys::{Key, MainKey, Scores, SharedKeys, Text, Value};
use super::{Attempt, Call, Notice, Outbox, PubSub, Reply, State, Step, WrongType};
use crate::name::ObjectName;
use crate::time::ServerTime;

/// 2026-01-01, in us.
const START: i64 = 1_767_225_600_000_000;

/// The channel of the message that ends those of a step.
const MARKER: &str = "marker";

/// How many random sequences a test runs, and which.
pub(crate) struct Sequences {
    count: u32,
    seed: u8,
}

impl Sequences {
    /// The same 1,000 in every run, or as many of them as the environment's `MODEL_SEQUENCES` says.
    pub(crate) fn normal() -> Sequences {
        Sequences { count: number_of("MODEL_SEQUENCES").unwrap_or(1_000), seed: 1 }
    }

    /// Others: 500 for each of the environment's `REPEATS`, which is 20 unless it is set.
    pub(crate) fn long() -> Sequences {
        Sequences { count: 500 * number_of("REPEATS").unwrap_or(20), seed: 2 }
    }

    /// A part of them, for a test that runs several times so many.
    pub(crate) fn one_in(self, parts: u32) -> Sequences {
        Sequences { count: (self.count / parts).max(1), ..self }
    }
}

fn number_of(variable: &str) -> Option<u32> {
    std::env::var(variable).ok()?.parse().ok()
}

/// What a primitive brings to the test.
pub(crate) trait Model: State + Debug + PartialEq {
    /// One random action: a step, or what others do to the keys.
    type Action: Debug + Clone;

    fn act(pair: &mut Pair<Self>, action: &Self::Action);

    /// The channels that are listened to from the start.
    fn channels(_name: &ObjectName) -> Vec<String> {
        Vec::new()
    }

    /// The objects of which this is the state: more than one for a step that changes several.
    fn objects(name: &ObjectName) -> Vec<ObjectName> {
        vec![name.clone()]
    }

    /// An invariant of every state.
    fn check(&self) {}

    /// The third body, for tests only: reads back what the server holds.
    fn read_back(pair: &mut Pair<Self>) -> Self;
}

/// All keys of the object of this kind with this name, by the access rules of the kind.
pub(crate) fn keys_of<S: State>(name: &ObjectName) -> BTreeSet<String> {
    let patterns = S::ACCESS.split_whitespace().filter_map(|word| word.strip_prefix('~'));
    let patterns = patterns.filter(|pattern| among(pattern).is_none() && kinds(pattern).is_none());
    let key = |pattern: &str| match (pattern.strip_suffix(":*"), pattern.strip_prefix("*:")) {
        (Some(kind), _) => name.companion(kind),
        (None, Some(what)) => name.suffixed_parts(what).concat(),
        (None, None) => name.as_str().to_owned(),
    };
    patterns.map(key).collect()
}

/// What is common to the keys behind a name of which an object may have any number.
fn among(pattern: &str) -> Option<&str> {
    pattern.strip_prefix('*')?.strip_suffix('*')
}

/// What is common to the kinds of keys of which an object may have any number.
fn kinds(pattern: &str) -> Option<&str> {
    pattern.strip_suffix("*:*")
}

/// Whether an object of this kind with this name may have this key.
fn may_have<S: State>(name: &ObjectName, key: &str) -> bool {
    let patterns = S::ACCESS.split_whitespace().filter_map(|word| word.strip_prefix('~'));
    // From the colon on, which a pattern may begin with.
    let behind = key.strip_prefix(name.suffixed_parts("").concat().trim_end_matches(':'));
    let is_of = |kinds: &str| {
        key.starts_with(kinds) && key.split_once(':').is_some_and(|(kind, _)| name.companion(kind) == key)
    };
    patterns.clone().filter_map(among).any(|part| behind.is_some_and(|behind| behind.contains(part)))
        || patterns.filter_map(kinds).any(is_of)
        || keys_of::<S>(name).contains(key)
}

/// Both sides of the comparison.
pub(crate) struct Pair<M> {
    pub(crate) name: ObjectName,
    pub(crate) state: M,
    pub(crate) server: Conn,
    listener: Conn,
    listened: BTreeSet<String>,
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
        let listened = self.listened.clone();
        let hears = |channel: &str| listened.contains(channel);
        let mut outbox = Outbox::new(&hears);
        let before = self.state.clone();
        let expected = step.apply(&self.name, attempt, &mut self.state, self.now, &mut outbox);
        if expected.is_err() {
            assert_eq!(self.state, before, "a refused step changed the state");
        }
        let mut call = Call::default();
        step.encode(&self.name, attempt, &mut call);
        let objects = M::objects(&self.name);
        let text = |word: &[u8]| String::from_utf8(word.to_vec()).expect("a word of the test is a text");
        let is_own = |key: &[u8]| objects.iter().any(|name| may_have::<M>(name, &text(key)));
        assert!(call.keys.iter().all(is_own), "{} has keys that its kind does not name", S::OP);
        let keys = call.keys.len().to_string();
        let mut command = vec!["EVAL".to_owned(), S::script().text(PubSub::Plain), keys];
        command.extend(call.keys.iter().chain(call.args.iter()).map(text));
        let answer = self.server.cmd(&command).unwrap();
        let got = match &answer {
            kit::Reply::Error(text) if text.contains("WRONGTYPE") => Err(WrongType),
            kit::Reply::Error(text) => panic!("{step:?}: {text}", step = S::OP),
            other => Ok(S::decode(reply(other)).unwrap_or_else(|_| panic!("{} answered {other:?}", S::OP))),
        };
        assert_eq!(got, expected, "{} replies differ", S::OP);
        self.compare_notices(&outbox.into_notices());
    }

    fn compare_notices(&mut self, expected: &[Notice]) {
        // A marker behind the step's own messages tells where they end.
        self.server.cmd(&["PUBLISH", MARKER, ""]).unwrap();
        let mut got = Vec::new();
        loop {
            let message = self.listener.read().unwrap();
            // message, channel, payload
            match (message.array()[1].text(), message.array()[2].text()) {
                (MARKER, _) => break,
                (channel, payload) => got.push((channel.to_owned(), payload.to_owned())),
            }
        }
        let expected: Vec<(String, String)> =
            expected.iter().map(|notice| (notice.channel.clone(), notice.payload.clone())).collect();
        assert_eq!(got, expected, "notifications differ");
    }

    /// From now on somebody listens on the channel, or nobody does.
    pub(crate) fn listen(&mut self, channel: &str, listens: bool) {
        self.listener.cmd(&[if listens { "SUBSCRIBE" } else { "UNSUBSCRIBE" }, channel]).unwrap();
        if listens {
            self.listened.insert(channel.to_owned())
        } else {
            self.listened.remove(channel)
        };
    }

    /// What others do to the keys.
    pub(crate) fn command(&mut self, words: &[&str]) {
        self.server.cmd(words).unwrap();
    }

    /// Has the object's own key hold this, and nothing else, on both sides.
    pub(crate) fn set_main(&mut self, main: MainKey) {
        self.write_main(&main);
        let mut keys = SharedKeys::default();
        self.state.exchange(&mut keys);
        keys.main = main;
        self.state.exchange(&mut keys);
    }

    /// Has the object's own key on the server hold this. A hash has to have fields, a list entries.
    pub(crate) fn write_main(&mut self, main: &MainKey) {
        let key = M::main_key(&self.name);
        self.command(&["DEL", &key]);
        match main.0.as_ref().map(|main| &main.value) {
            Some(Value::Text(text)) => self.command(&["SET", &key, text]),
            Some(Value::Bits(_)) => panic!("others write texts"),
            Some(Value::Hash(fields)) => {
                let words = fields.iter().flat_map(|(field, value)| [field.as_str(), value.as_str()]);
                self.command(&["HSET", &key].into_iter().chain(words).collect::<Vec<_>>());
            }
            Some(Value::List(list)) => {
                let words = list.iter().map(String::as_str);
                self.command(&["RPUSH", &key].into_iter().chain(words).collect::<Vec<_>>());
            }
            None => {}
        }
        if let Some(deadline) = main.deadline() {
            self.command(&["PEXPIREAT", &key, &deadline.to_string()]);
        }
    }

    /// What the server has in the object's own key.
    pub(crate) fn read_main(&mut self) -> MainKey {
        let key = M::main_key(&self.name);
        self.read_key(&key)
    }

    /// What the server has in a key.
    pub(crate) fn read_key(&mut self, key: &str) -> MainKey {
        let value = match self.server.cmd(&["TYPE", key]).unwrap().text() {
            "none" => return MainKey::default(),
            "string" => Value::Text(self.server.cmd(&["GET", key]).unwrap().text().to_owned()),
            "hash" => {
                let words = self.server.cmd(&["HGETALL", key]).unwrap();
                let words: Vec<String> = words.array().iter().map(|word| word.text().to_owned()).collect();
                Value::Hash(words.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect())
            }
            "list" => {
                let words = self.server.cmd(&["LRANGE", key, "0", "-1"]).unwrap();
                Value::List(words.array().iter().map(|word| word.text().to_owned()).collect())
            }
            other => panic!("{key} is a {other}"),
        };
        MainKey(Some(Key { value, deadline: self.server_deadline(key) }))
    }

    /// What the server has in a key that holds a text.
    pub(crate) fn read_text(&mut self, key: &str) -> Option<Text> {
        let value = self.server.cmd(&["GET", key]).unwrap();
        (!value.is_nil()).then(|| Text { value: value.text().to_owned(), deadline: self.server_deadline(key) })
    }

    /// What the server has in a key that holds a sorted set.
    pub(crate) fn read_scores(&mut self, key: &str) -> Scores {
        let range = self.server.cmd(&["ZRANGE", key, "0", "-1", "WITHSCORES"]).unwrap();
        let range: Vec<&str> = range.array().iter().map(kit::Reply::text).collect();
        let value = range.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].parse().unwrap())).collect();
        Scores { value, deadline: self.server_deadline(key) }
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

fn reply(kits: &kit::Reply) -> Reply {
    match kits {
        kit::Reply::Nil => Reply::Nil,
        kit::Reply::Int(number) => Reply::Int(*number),
        kit::Reply::Array(items) => Reply::List(items.iter().map(reply).collect()),
        other => Reply::Bytes(other.text().as_bytes().to_vec()),
    }
}

/// Runs random sequences of up to 60 actions, each after a shift of the server's clock by so many us, and checks the state
/// after each.
pub(crate) fn drive<M: Model>(
    Sequences { count: sequences, seed }: Sequences,
    actions: impl Strategy<Value = (M::Action, i64)>,
) {
    let (server, clock) = Server::with_clock();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let actions = prop::collection::vec(actions, 1..60);
    let mut now = START;
    let mut steps = 0;
    for sequence in 0..sequences {
        let actions = actions.new_tree(&mut runner).unwrap().current();
        let name = ObjectName::new("", &format!("object-{sequence}")).unwrap();
        let mut listener = server.connect();
        listener.cmd(&["SUBSCRIBE", MARKER]).unwrap();
        let (state, listened, now_us) = (M::default(), BTreeSet::new(), ServerTime(now as u64));
        let mut pair = Pair { name, state, server: server.connect(), listener, listened, now: now_us };
        M::channels(&pair.name).iter().for_each(|channel| pair.listen(channel, true));
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
        // The next sequence has the same channels. That nobody listens must be certain: the end of a connection is not, as long
        // as a process that another test is starting has a copy of it.
        for channel in pair.listened.clone() {
            pair.listen(&channel, false);
        }
    }
    println!("{steps} steps compared");
    assert!(steps >= sequences * 20, "the sequences are shorter than meant");
}
