//! The read-write lock's actions for the property test of steps, see `step/model.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;

use super::Side;
use super::step::{self, Acquire, Cancel, ForceRelease, Inspect, Release, Renew, RwLockState, field_of, timeout_of};
use crate::contended::token::TOKEN;
use crate::contended::{Look, Queue};
use crate::context::inbox;
use crate::name::ObjectName;
use crate::step::keys::{Fields, Key, Value};
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{MainKey, Text};

/// More than head, next and one behind them.
const CLIENTS: u8 = 4;

/// A client of Redisson.
const REDISSON: &str = "6e3814a1-e847-452b-a982-45baf93a1df2:1";

/// How often Redisson enters a hold at most.
const ENTRIES: u64 = 3;

/// The field of a hold.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    owner: u8,
    side: Side,
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Acquire {
        hold: Hold,
        lease_ms: u64,
        token_ttl_ms: Option<u64>,
        waits: bool,
        under: Option<u8>,
        steals: bool,
        late: bool,
    },
    Release(Hold),
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
        hold: Hold,
        lease_ms: u64,
        cut_ms: Option<u64>,
    },
    ForceRelease,
    Inspect,
    /// What others do to the keys.
    Foreign(Foreign),
}

#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// Redisson's reader joins, with so many entries, of which the last so many have ended.
    Reader {
        entries: u64,
        ended: u64,
        lease_ms: Option<u64>,
    },
    /// Redisson's writer has it, with or without expiry.
    Writer {
        ttl_ms: Option<u64>,
    },
    /// A hash that is no read-write lock, or one with the mode of a later version.
    Mode(Option<&'static str>),
    /// An object of another kind, such as a latch.
    Other,
    /// More readers than a script examines.
    Crowd,
    Token {
        value: &'static str,
        ttl_ms: Option<u64>,
    },
    Delete,
    /// What ends with a hold is gone, or holds no token.
    DropTimeout(Hold),
    Timeout(Hold),
    DropSeen,
    Listens {
        client: u8,
        listens: bool,
    },
}

fn leases() -> impl Strategy<Value = u64> {
    prop_oneof![Just(100), Just(1000), Just(30_000), 100..5_000u64]
}

/// Two attempts of each client, mostly the same few: a step is to meet what another has left.
fn owners() -> impl Strategy<Value = u8> {
    prop_oneof![5 => Just(0u8), 3 => Just(2u8), 2 => 0..2 * CLIENTS]
}

fn holds() -> impl Strategy<Value = Hold> {
    let side = prop_oneof![3 => Just(Side::Read), 2 => Just(Side::Write)];
    (owners(), side).prop_map(|(owner, side)| Hold { owner, side })
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let (waits, late) = (prop::bool::weighted(0.8), prop::bool::weighted(0.05));
    let steals = prop::bool::weighted(0.15);
    let token_ttl = prop_oneof![Just(None), Just(Some(1_000)), Just(Some(3_600_000))];
    let under = prop::option::weighted(0.5, owners());
    let ttl = || prop::option::of(1..2_000u64);
    let foreign = prop_oneof![
        2 => (1..=ENTRIES, 0..=ENTRIES, ttl()).prop_map(|(entries, ended, lease_ms)| Foreign::Reader { entries, ended, lease_ms }),
        1 => ttl().prop_map(|ttl_ms| Foreign::Writer { ttl_ms }),
        1 => prop_oneof![Just(None), Just(Some("read")), Just(Some("write")), Just(Some("shared"))].prop_map(Foreign::Mode),
        1 => Just(Foreign::Other),
        1 => Just(Foreign::Crowd),
        1 => (prop_oneof![Just("7"), Just("1767232800000000"), Just("9007199254740991"), Just("0x10"), Just("")], ttl())
            .prop_map(|(value, ttl_ms)| Foreign::Token { value, ttl_ms }),
        2 => Just(Foreign::Delete),
        2 => holds().prop_map(Foreign::DropTimeout),
        1 => holds().prop_map(Foreign::Timeout),
        1 => Just(Foreign::DropSeen),
        2 => (0..CLIENTS, any::<bool>()).prop_map(|(client, listens)| Foreign::Listens { client, listens }),
    ];
    let action = prop_oneof![
        10 => (holds(), leases(), token_ttl, waits, under, steals, late).prop_map(|(hold, lease_ms, token_ttl_ms, waits, under, steals, late)| Action::Acquire { hold, lease_ms, token_ttl_ms, waits, under, steals, late }),
        7 => holds().prop_map(Action::Release),
        2 => (0..CLIENTS, late).prop_map(|(client, late)| Action::Cancel { client, late }),
        4 => (0..CLIENTS, any::<bool>(), late).prop_map(|(client, keep, late)| Action::Look { client, keep, late }),
        3 => (holds(), leases(), prop::option::of(0..2_000u64)).prop_map(|(hold, lease_ms, cut_ms)| Action::Renew { hold, lease_ms, cut_ms }),
        1 => Just(Action::ForceRelease),
        2 => Just(Action::Inspect),
        2 => foreign.prop_map(Action::Foreign),
    ];
    // Pauses that land before, on and behind the ends of leases and keys.
    let pause_us = prop_oneof![4 => 0..2_000i64, 1 => Just(1_000_000), 2 => Just(100_000), 2 => Just(1_000), 2 => 0..2_000_000i64, 1 => Just(31_000_000), 1 => Just(2_600_000), 1 => Just(15_100_000), 1 => Just(-1_500_000)];
    (action, pause_us)
}

fn client(number: u8) -> String {
    format!("11111111-2222-8333-8444-55555555555{number}")
}

fn field(hold: Hold) -> String {
    field_of(format!("{}:{}", client(hold.owner / 2), hold.owner % 2), hold.side)
}

/// All fields that have keys which end with them, and how many of those each may have.
fn fields() -> Vec<(String, u64)> {
    let all = (0..2 * CLIENTS).flat_map(|owner| [Side::Read, Side::Write].map(|side| field(Hold { owner, side })));
    all.map(|field| (field, 1)).chain([(REDISSON.to_owned(), ENTRIES)]).collect()
}

fn timeout_key(name: &ObjectName, field: &str, n: u64) -> String {
    name.suffixed_parts(&timeout_of(field, n)).concat()
}

impl Model for RwLockState {
    type Action = Action;

    fn act(pair: &mut Pair<RwLockState>, action: &Action) {
        let ms = Duration::from_millis;
        match action {
            Action::Acquire { hold, lease_ms, token_ttl_ms, waits, under, steals, late } => {
                let steals = *steals && hold.side == Side::Write;
                let under = under.filter(|_| hold.side == Side::Read);
                let under = under.map(|owner| field(Hold { owner, side: Side::Write }));
                let (lease, token_ttl) = (ms(*lease_ms), token_ttl_ms.map(ms));
                let waits = *waits && !steals;
                pair.step(&Acquire { field: field(*hold), lease, token_ttl, waits, under, steals }, *late);
            }
            Action::Release(hold) => pair.step(&Release { field: field(*hold) }, false),
            Action::Cancel { client: number, late } => pair.step(&Cancel { client: client(*number) }, *late),
            Action::Look { client: number, keep, late } => {
                pair.step(&Look::new(&client(*number).into(), *keep), *late);
            }
            Action::Renew { hold, lease_ms, cut_ms } => {
                let cut = cut_ms.map(|more| ms(lease_ms + more));
                pair.step(&Renew { field: field(*hold), lease: ms(*lease_ms), cut }, false);
            }
            Action::ForceRelease => pair.step(&ForceRelease, false),
            Action::Inspect => pair.step(&Inspect, false),
            Action::Foreign(action) => foreign(pair, action),
        }
    }

    fn channels(name: &ObjectName) -> Vec<String> {
        let inboxes = (0..CLIENTS).map(|number| inbox(&client(number)));
        inboxes.chain([step::channel(name)]).collect()
    }

    /// One writer at most.
    fn check(&self) {
        let fields = self.main.fields().ok().flatten().into_iter().flat_map(Fields::keys);
        assert!(fields.filter(|field| field.ends_with(":write")).count() < 2);
    }

    fn read_back(pair: &mut Pair<RwLockState>) -> RwLockState {
        let token = pair.name.companion(TOKEN);
        RwLockState {
            main: pair.read_main(),
            timeouts: timeouts(pair),
            token: pair.read_text(&token),
            queue: Queue::read_back(pair, &step::QUEUE),
        }
    }
}

/// The keys that end with holds, in one request: there may be many.
fn timeouts(pair: &mut Pair<RwLockState>) -> BTreeMap<(String, u64), Text> {
    const READ: &str = "local all = {}
        for _, key in ipairs(KEYS) do
          all[#all + 1] = redis.call('GET', key) or ''
          all[#all + 1] = redis.call('PTTL', key)
        end
        return all";
    let names: Vec<(String, u64)> =
        fields().into_iter().flat_map(|(field, entries)| (1..=entries).map(move |n| (field.clone(), n))).collect();
    let mut command = vec!["EVAL".to_owned(), READ.to_owned(), names.len().to_string()];
    command.extend(names.iter().map(|(field, n)| timeout_key(&pair.name, field, *n)));
    let answer = pair.server.cmd(&command).unwrap();
    let seen = names.into_iter().zip(answer.array().chunks(2)).filter(|(_, seen)| seen[1].int() != -2);
    seen.map(|(name, seen)| {
        let deadline = u64::try_from(seen[1].int()).ok().map(|ttl| pair.now.millis() + ttl);
        (name, Text { value: seen[0].text().to_owned(), deadline })
    })
    .collect()
}

/// Makes the hash what is given, with its time to live.
fn set_hash(pair: &mut Pair<RwLockState>, fields: Fields, ttl_ms: Option<u64>) {
    pair.set_main(MainKey(Some(Key { value: Value::Hash(fields), deadline: pair.deadline(ttl_ms) })));
}

fn set_timeout(pair: &mut Pair<RwLockState>, field: &str, n: u64, text: &str, ttl_ms: Option<u64>) {
    let key = timeout_key(&pair.name, field, n);
    pair.command(&["SET", &key, text]);
    if let Some(ttl) = ttl_ms {
        pair.command(&["PEXPIRE", &key, &ttl.to_string()]);
    }
    let timeout = Text { value: text.to_owned(), deadline: pair.deadline(ttl_ms) };
    pair.state.timeouts.insert((field.to_owned(), n), timeout);
}

fn foreign(pair: &mut Pair<RwLockState>, action: &Foreign) {
    let text = |text: &str| text.to_owned();
    match action {
        Foreign::Reader { entries, ended, lease_ms } => {
            let present = pair.state.main.fields().ok().flatten().cloned();
            let reads = present.filter(|fields| fields.get("mode").is_some_and(|mode| mode == "read"));
            let mut fields = reads.unwrap_or_else(|| Fields::from([(text("mode"), text("read"))]));
            fields.insert(text(REDISSON), entries.to_string());
            set_hash(pair, fields, Some(30_000));
            for n in 1..=entries.saturating_sub(*ended) {
                set_timeout(pair, REDISSON, n, "1", *lease_ms);
            }
        }
        Foreign::Writer { ttl_ms } => {
            let fields = [(text("mode"), text("write")), (format!("{REDISSON}:write"), text("2"))];
            set_hash(pair, fields.into(), *ttl_ms);
        }
        Foreign::Mode(mode) => {
            let mode = mode.map(|mode| (text("mode"), text(mode)));
            set_hash(pair, mode.into_iter().chain([(text("other"), text("x"))]).collect(), Some(1_500));
        }
        Foreign::Crowd => {
            let readers = (0..600).map(|n| (format!("{REDISSON}{n}"), text("1")));
            set_hash(pair, readers.chain([(text("mode"), text("read"))]).collect(), Some(3_000));
        }
        Foreign::Token { value, ttl_ms } => {
            let token = pair.name.companion(TOKEN);
            pair.command(&["SET", &token, value]);
            if let Some(ttl) = ttl_ms {
                pair.command(&["PEXPIRE", &token, &ttl.to_string()]);
            }
            pair.state.token = Some(Text { value: text(value), deadline: pair.deadline(*ttl_ms) });
        }
        Foreign::Other => pair.set_main(MainKey::of_text("3".to_owned(), pair.deadline(Some(1_500)))),
        Foreign::Delete => pair.set_main(MainKey::default()),
        Foreign::DropTimeout(hold) => {
            pair.command(&["DEL", &timeout_key(&pair.name, &field(*hold), 1)]);
            pair.state.timeouts.remove(&(field(*hold), 1));
        }
        Foreign::Timeout(hold) => set_timeout(pair, &field(*hold), 1, "none", None),
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
    drive::<RwLockState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<RwLockState>(Sequences::long(), actions());
}
