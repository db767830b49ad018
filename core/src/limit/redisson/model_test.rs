//! The actions of Redisson's limiter for the property test of steps, see `step/model.rs`: also with a server clock that steps
//! back, with clients whose clocks are ahead or behind, and with what Redisson's own scripts do to the keys.

use std::collections::BTreeSet;

use libdlock_testkit::Reply;
use proptest::prelude::*;

use super::log::{FEW, Log, member};
use super::step::{Acquire, Bucket, RedissonState, Reset};
use super::terms::Terms;
use crate::name::ObjectName;
use crate::step::keys::Key;
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{MainKey, Text};

/// The clients that have keys of their own.
const CLIENTS: [&str; 2] = ["6e3814a1-e847-852b-a982-45baf93a1df2", "other"];

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Acquire {
        terms: Terms,
        permits: u32,
        client: usize,
        settled: Option<Terms>,
        number: u32,
    },
    Reset {
        client: usize,
    },
    /// Fields of the hash, as others set them.
    Hash {
        fields: Vec<(&'static str, &'static str)>,
        ttl_ms: Option<u64>,
    },
    /// An object of another kind.
    Text,
    /// What others leave as the number of available permits of a client, or of all.
    Value {
        client: Option<usize>,
        value: &'static str,
        ttl_ms: Option<u64>,
    },
    /// What others acquire, so many members, by a clock that is so far ahead.
    Log {
        client: Option<usize>,
        members: u32,
        permits: u32,
        ahead_ms: i64,
        number: u32,
    },
    /// Members of another layout.
    Foreign {
        client: Option<usize>,
        member: &'static str,
    },
    /// As Redisson's `setRate` does it.
    Forget {
        client: Option<usize>,
    },
}

fn terms() -> impl Strategy<Value = Terms> {
    let any =
        (prop_oneof![Just(1), Just(5), Just(50), 1..200u64], prop_oneof![Just(1), Just(100), Just(1_000), 1..3_000u64])
            .prop_map(|(permits, interval_ms)| Terms { permits, interval_ms, per_client: false });
    let usual = Terms { permits: 10, interval_ms: 1_000, per_client: false };
    let crowded = Terms { permits: 1_000, interval_ms: 2_000, per_client: true };
    prop_oneof![
        4 => Just(usual),
        2 => Just(Terms { per_client: true, ..usual }),
        2 => Just(crowded),
        1 => any,
    ]
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let permits = prop_oneof![1 => Just(0u32), 6 => 1..4u32, 2 => 1..60u32, 1 => Just(127)];
    let settled = prop_oneof![1 => Just(None), 3 => terms().prop_map(Some)];
    let acquire = (terms(), permits.clone(), 0..2usize, settled, any::<u32>()).prop_map(
        |(terms, permits, client, settled, number)| Action::Acquire { terms, permits, client, settled, number },
    );
    let client = prop::option::of(0..2usize);
    let fields = prop_oneof![
        Just(vec![("rate", "10"), ("interval", "1000"), ("type", "0"), ("keepAliveTime", "0")]),
        Just(vec![("rate", "20"), ("interval", "500"), ("type", "0"), ("keepAliveTime", "1500")]),
        Just(vec![("rate", "5"), ("interval", "2000"), ("type", "1"), ("keepAliveTime", "0")]),
        Just(vec![("rate", "600"), ("interval", "2000"), ("type", "0")]),
        Just(vec![("rate", "0"), ("interval", "1000"), ("type", "0")]),
        Just(vec![("rate", "10"), ("interval", "1000")]),
        Just(vec![("rate", "ten"), ("interval", "1000"), ("type", "0")]),
        Just(vec![("rate", "10"), ("interval", "-1"), ("type", "0")]),
        Just(vec![("rate", "10"), ("interval", "1000"), ("type", "2")]),
        Just(vec![("rate", "10"), ("interval", "1000"), ("type", "1"), ("keepAliveTime", "")]),
        Just(vec![("rate", "9999999999999999"), ("interval", "1000"), ("type", "1")]),
        Just(vec![("6e3814a1-e847-452b-a982-45baf93a1df2:1", "1")]),
    ];
    let ttl_ms = || prop_oneof![3 => Just(None), 1 => (1..4_000u64).prop_map(Some)];
    let hash = (fields, ttl_ms()).prop_map(|(fields, ttl_ms)| Action::Hash { fields, ttl_ms });
    let values = prop_oneof![
        Just("10"),
        Just("0"),
        Just("3"),
        Just("-4"),
        Just("600"),
        Just("007"),
        Just("-0"),
        Just(""),
        Just("-"),
        Just("ten"),
        Just("1.5"),
        Just("9999999999999999"),
    ];
    let value =
        (client.clone(), values, ttl_ms()).prop_map(|(client, value, ttl_ms)| Action::Value { client, value, ttl_ms });
    let ahead_ms =
        prop_oneof![Just(0), Just(1), Just(5_000), Just(86_400_000), Just(-700), Just(-60_000), -2_000..2_000i64];
    let members = prop_oneof![
        12 => 1..4u32,
        4 => (FEW as u32 - 1)..(FEW as u32 + 3),
        1 => Just(600),
        1 => Just(1_100),
    ];
    let log = (client.clone(), members, prop_oneof![Just(1u32), 1..9u32], ahead_ms, any::<u32>()).prop_map(
        |(client, members, permits, ahead_ms, number)| Action::Log { client, members, permits, ahead_ms, number },
    );
    let member = prop_oneof![
        Just(""),
        Just("x"),
        Just("\u{4}1234\u{1}\0\0\0"),
        Just("\u{10}0123456789abcdef\u{2}\0\0"),
        Just("\u{0}\u{1}\0\0\0")
    ];
    let foreign = (client.clone(), member).prop_map(|(client, member)| Action::Foreign { client, member });
    let action = prop_oneof![
        30 => acquire,
        1 => (0..2usize).prop_map(|client| Action::Reset { client }),
        3 => hash,
        1 => Just(Action::Text),
        3 => value,
        5 => log,
        1 => foreign,
        3 => client.prop_map(|client| Action::Forget { client }),
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

fn id(client: Option<usize>) -> &'static str {
    client.map_or("", |client| CLIENTS[client])
}

fn key(name: &ObjectName, what: &str, client: &str) -> String {
    let key = name.suffixed_parts(what).concat();
    if client.is_empty() { key } else { format!("{key}:{client}") }
}

fn random(number: u32) -> [u8; 16] {
    format!("{number:016x}").into_bytes().try_into().unwrap()
}

impl Model for RedissonState {
    type Action = Action;

    fn act(pair: &mut Pair<RedissonState>, action: &Action) {
        match action {
            Action::Acquire { terms, permits, client, settled, number } => {
                let (client, random) = (CLIENTS[*client].to_owned(), random(*number));
                let step = Acquire { terms: *terms, permits: *permits, random, client, settled: *settled };
                pair.step(&step, false);
            }
            Action::Reset { client } => pair.step(&Reset { client: CLIENTS[*client].to_owned() }, false),
            Action::Hash { fields, ttl_ms } => {
                let mut main = MainKey::of_fields([], pair.deadline(*ttl_ms));
                main.fields_mut()
                    .unwrap()
                    .extend(fields.iter().map(|(field, value)| ((*field).into(), (*value).into())));
                pair.set_main(main);
            }
            Action::Text => pair.set_main(MainKey::of_text("3".to_owned(), pair.deadline(Some(1_500)))),
            Action::Value { client, value, ttl_ms } => {
                let (key, deadline) = (key(&pair.name, "value", id(*client)), pair.deadline(*ttl_ms));
                pair.command(&["SET", &key, value]);
                if let Some(deadline) = deadline {
                    pair.command(&["PEXPIREAT", &key, &deadline.to_string()]);
                }
                let bucket = pair.state.buckets.entry(id(*client).to_owned()).or_default();
                bucket.value = Some(Text { value: (*value).to_owned(), deadline });
            }
            Action::Log { client, members, permits, ahead_ms, number } => {
                let score = pair.now.millis().saturating_add_signed(*ahead_ms);
                let entry = |at: u32| (score + u64::from(at % 3), member(random(number.wrapping_add(at)), *permits));
                add(pair, id(*client), (0..*members).map(entry).collect());
            }
            Action::Foreign { client, member } => {
                let score = pair.now.millis();
                add(pair, id(*client), vec![(score, member.as_bytes().to_vec())]);
            }
            Action::Forget { client } => {
                let keys = ["value", "permits"].map(|what| key(&pair.name, what, id(*client)));
                pair.command(&["DEL", &keys[0], &keys[1]]);
                pair.state.buckets.remove(id(*client));
            }
        }
    }

    fn read_back(pair: &mut Pair<RedissonState>) -> RedissonState {
        let main = pair.read_main();
        let mut buckets = std::collections::BTreeMap::new();
        for client in [None, Some(0), Some(1)] {
            let value = pair.read_text(&key(&pair.name, "value", id(client)));
            let log = read_log(pair, &key(&pair.name, "permits", id(client)));
            if value.is_some() || log != Log::default() {
                buckets.insert(id(client).to_owned(), Bucket { value, log });
            }
        }
        RedissonState { main, buckets }
    }
}

/// ZADD by somebody else.
fn add(pair: &mut Pair<RedissonState>, client: &str, members: Vec<(u64, Vec<u8>)>) {
    let mut words = vec!["ZADD".to_owned(), key(&pair.name, "permits", client)];
    words.extend(
        members.iter().flat_map(|(score, member)| [score.to_string(), String::from_utf8(member.clone()).unwrap()]),
    );
    let log = &mut pair.state.buckets.entry(client.to_owned()).or_default().log.0.value;
    // One that is there gets the new score.
    let added: BTreeSet<&Vec<u8>> = members.iter().map(|(_, member)| member).collect();
    log.retain(|(_, member)| !added.contains(member));
    log.extend(members);
    pair.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
}

fn read_log(pair: &mut Pair<RedissonState>, key: &str) -> Log {
    let range = pair.server.cmd(&["ZRANGE", key, "0", "-1", "WITHSCORES"]).unwrap();
    let read = |two: &[Reply]| (two[1].text().parse().unwrap(), two[0].text().as_bytes().to_vec());
    let value: BTreeSet<(u64, Vec<u8>)> = range.array().chunks(2).map(read).collect();
    Log(Key { value, deadline: pair.server_deadline(key) })
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<RedissonState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<RedissonState>(Sequences::long(), actions());
}
