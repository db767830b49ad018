//! The filter's actions for the property test of steps, see `step/model.rs`.

use std::sync::Arc;

use libdlock_testkit::Reply;
use proptest::prelude::*;

use super::Sizing;
use super::step::{Add, BloomState, CONFIG, Clear, Contains, DONE, FIELDS, Look};
use crate::step::bits::Bits;
use crate::step::keys::{Key, MainKey, Value};
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{Once, Remembered};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Add {
        sizing: Sizing,
        ttl_ms: u64,
        items: Vec<Vec<u32>>,
    },
    Contains {
        sizing: Sizing,
        items: Vec<Vec<u32>>,
    },
    Look(Sizing),
    /// A request of this number, perhaps once more, and perhaps too late.
    Clear {
        request: u8,
        late: bool,
    },
    /// What others leave in the key of the bits.
    Bits {
        text: &'static str,
        ttl_ms: Option<u64>,
    },
    /// What others leave in the key of the configuration.
    Config {
        fields: Vec<(&'static str, String)>,
        ttl_ms: Option<u64>,
    },
    /// A text in the key of the configuration.
    NoConfig,
    /// A hash in the key of the bits.
    NoBits,
    Removed,
    ConfigRemoved,
}

fn sizings() -> impl Strategy<Value = Sizing> {
    let sizing = |expected, rate| Sizing::new("test", expected, rate).unwrap();
    prop_oneof![
        12 => Just(sizing(10, 0.1)),
        2 => Just(sizing(10, 0.2)),
        1 => Just(sizing(1, 0.5)),
        1 => Just(sizing(30, 1e-12)),
    ]
}

fn items() -> impl Strategy<Value = Vec<Vec<u32>>> {
    // Bits of few, so that items meet; cut to the hashes and the size of the filter when they are used.
    let item = prop::collection::vec(prop_oneof![8 => 0..47_u32, 1 => 0..u32::MAX - 1], 40);
    prop::collection::vec(item, 1..8)
}

fn configs() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let whole = sizings().prop_map(|sizing| FIELDS.into_iter().zip(sizing.texts()).collect::<Vec<_>>());
    let texts = prop::sample::select(vec!["47", "047", "3", "3.0", "", "many", "NaN", "1e400", "0.03", "-1"]);
    let odd = prop::collection::btree_map(prop::sample::select(FIELDS.to_vec()), texts.prop_map(str::to_owned), 1..4);
    let odd = odd.prop_map(|fields| fields.into_iter().collect());
    let foreign = Just(vec![("field", "1".to_owned())]);
    prop_oneof![6 => whole, 3 => odd, 1 => foreign]
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let ttl = || prop::option::weighted(0.4, 1..5_000_u64);
    let live = prop_oneof![3 => Just(0), 1 => 1..5_000_u64];
    let text = prop::sample::select(vec!["5", "a", "\0\0", "1000000", "\u{7f}\u{7f}\u{7f}"]);
    let action = prop_oneof![
        12 => (sizings(), live, items()).prop_map(|(sizing, ttl_ms, items)| Action::Add { sizing, ttl_ms, items }),
        8 => (sizings(), items()).prop_map(|(sizing, items)| Action::Contains { sizing, items }),
        3 => sizings().prop_map(Action::Look),
        3 => (0..4_u8, prop::bool::weighted(0.2)).prop_map(|(request, late)| Action::Clear { request, late }),
        1 => (text, ttl()).prop_map(|(text, ttl_ms)| Action::Bits { text, ttl_ms }),
        2 => (configs(), ttl()).prop_map(|(fields, ttl_ms)| Action::Config { fields, ttl_ms }),
        1 => Just(Action::NoConfig),
        1 => Just(Action::NoBits),
        3 => Just(Action::Removed),
        2 => Just(Action::ConfigRemoved),
    ];
    (action, prop_oneof![4 => 0..1_000_i64, 2 => 0..2_000_000_i64, 1 => Just(-3_000_000)])
}

/// As many bits of each item as there are hashes, each within the size.
fn bits(sizing: &Sizing, items: &[Vec<u32>]) -> Arc<[u32]> {
    let hashes = sizing.hashes() as usize;
    items.iter().flat_map(|item| item[..hashes].iter().map(|bit| (u64::from(*bit) % sizing.size()) as u32)).collect()
}

fn config_key<M>(pair: &Pair<M>) -> String {
    pair.name.suffixed_parts(CONFIG).concat()
}

impl Model for BloomState {
    type Action = Action;

    fn act(pair: &mut Pair<BloomState>, action: &Action) {
        let key = config_key(pair);
        match action {
            Action::Add { sizing, ttl_ms, items } => {
                pair.step(&Add { sizing: *sizing, ttl_ms: *ttl_ms, bits: bits(sizing, items) }, false);
            }
            Action::Contains { sizing, items } => {
                pair.step(&Contains { sizing: *sizing, bits: bits(sizing, items) }, false);
            }
            Action::Look(sizing) => pair.step(&Look { sizing: *sizing }, false),
            Action::Clear { request, late } => {
                let once = Once::new(&format!("client:{request}"), pair.now);
                pair.step(&Clear { once }, *late);
            }
            Action::Bits { text, ttl_ms } => {
                pair.set_main(MainKey::of_text((*text).to_owned(), pair.deadline(*ttl_ms)))
            }
            Action::Config { fields, ttl_ms } => {
                let deadline = pair.deadline(*ttl_ms);
                pair.command(&["DEL", &key]);
                for (field, value) in fields {
                    pair.command(&["HSET", &key, field, value]);
                }
                if let Some(deadline) = deadline {
                    pair.command(&["PEXPIREAT", &key, &deadline.to_string()]);
                }
                let fields = fields.iter().map(|(field, value)| ((*field).to_owned(), value.clone())).collect();
                pair.state.config = MainKey(Some(Key { value: Value::Hash(fields), deadline }));
            }
            Action::NoConfig => {
                pair.command(&["SET", &key, "text"]);
                pair.state.config = MainKey::of_text("text".to_owned(), None);
            }
            Action::NoBits => pair.set_main(MainKey::of_fields([("field", "1")], pair.deadline(Some(1_500)))),
            Action::Removed => pair.set_main(MainKey::default()),
            Action::ConfigRemoved => {
                pair.command(&["DEL", &key]);
                pair.state.config = MainKey::default();
            }
        }
    }

    fn read_back(pair: &mut Pair<BloomState>) -> BloomState {
        let (key, config) = (pair.name.as_str().to_owned(), config_key(pair));
        let main = match pair.state.main.0.as_ref().map(|key| &key.value) {
            // For the server it is a text.
            Some(Value::Bits(_)) => {
                let Reply::Text(bytes) = pair.server.cmd(&["GET", &key]).unwrap() else { panic!("no bits") };
                MainKey(Some(Key { value: Value::Bits(Bits::of_bytes(&bytes)), deadline: pair.server_deadline(&key) }))
            }
            _ => pair.read_main(),
        };
        let config = pair.read_key(&config);
        BloomState { main, config, done: Remembered::read_back(pair, DONE) }
    }
}

#[test]
fn the_scripts_do_what_the_specifications_do() {
    drive::<BloomState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specifications_do_for_long() {
    drive::<BloomState>(Sequences::long(), actions());
}
