//! The rights that errors, documentation and test servers name are those that the scripts use, no more and no fewer.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::contended::available::TIMEOUT;
use crate::contended::permits::Permits;
use crate::contended::token::TOKEN;
use crate::lock::LockState;
use crate::name::ObjectName;
use crate::step::State;
use crate::step::model::keys_of;

type Commands = BTreeSet<String>;

/// What a kind of object has on the server.
#[derive(Clone)]
struct Kind {
    /// Its name in access.json.
    name: &'static str,
    access: &'static str,
    /// Where its scripts are.
    scripts: &'static [&'static str],
    keys: fn(&ObjectName) -> BTreeSet<String>,
}

fn kind<S: State>(name: &'static str, scripts: &'static [&'static str]) -> Kind {
    Kind { name, access: S::ACCESS, scripts, keys: keys_of::<S> }
}

/// Those of the primitives.
fn kinds() -> Vec<Kind> {
    vec![
        // <api:kinds> written by `python3 api/write.py` from api/primitives.json
        kind::<crate::lock::LockState>("lock", &["lock/step", "contended/queue.lua", "contended/token.lua"]),
        kind::<crate::semaphore::SemaphoreState>(
            "semaphore",
            &[
                "semaphore/step",
                "contended/queue.lua",
                "contended/wants.lua",
                "contended/turn.lua",
                "contended/available.lua",
            ],
        ),
        kind::<crate::counting_semaphore::CountingState>(
            "counting semaphore",
            &[
                "counting_semaphore/step",
                "contended/queue.lua",
                "contended/wants.lua",
                "contended/turn.lua",
                "contended/available.lua",
                "step/once.lua",
            ],
        ),
        kind::<crate::rw_lock::RwLockState>(
            "rw lock",
            &[
                "rw_lock/step",
                "contended/queue.lua",
                "contended/wants.lua",
                "contended/turn.lua",
                "contended/token.lua",
            ],
        ),
        kind::<crate::latch::LatchState>("latch", &["latch/step", "step/once.lua"]),
        kind::<crate::queue::QueueState>(
            "queue",
            &["queue/step", "contended/queue.lua", "contended/wants.lua", "contended/turn.lua", "step/once.lua"],
        ),
        kind::<crate::id_generator::IdGeneratorState>("id generator", &["id_generator/step"]),
        kind::<crate::limit::LimitState>("rate limiter", &["limit/step"]),
        kind::<crate::limit::RedissonState>("rate limiter of Redisson", &["limit/redisson/step"]),
        kind::<crate::id::worker::WorkerState>("worker", &["id/worker/step"]),
        // </api:kinds>
    ]
}

/// And what no primitive uses yet.
fn all_kinds() -> Vec<Kind> {
    [kinds(), vec![kind::<Permits>("permits", &[])]].concat()
}

/// The scripts at this path or below it.
fn scripts(path: &Path) -> Vec<PathBuf> {
    if path.is_dir() {
        return fs::read_dir(path).unwrap().flat_map(|entry| scripts(&entry.unwrap().path())).collect();
    }
    path.extension().filter(|extension| *extension == "lua").map(|_| path.to_owned()).into_iter().collect()
}

/// Everything that the scripts at these paths below `src` call.
fn called(paths: &[&str]) -> Commands {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut commands = Commands::new();
    for script in paths.iter().flat_map(|path| scripts(&source.join(path))) {
        let text = fs::read_to_string(&script).unwrap();
        let calls = text.split("call(").skip(1);
        commands.extend(calls.filter_map(|call| {
            // The word that stands in front of each script says how messages are published.
            let command =
                if call.starts_with("PUBLISH,") { "publish" } else { call.strip_prefix('\'')?.split('\'').next()? };
            Some(command.to_lowercase())
        }));
    }
    commands
}

fn listed(table: &Value, list: &str) -> Commands {
    table[list].as_array().unwrap().iter().map(|command| command.as_str().unwrap().to_owned()).collect()
}

fn words(table: &Value, kind: &str, list: &str, mark: char) -> BTreeSet<String> {
    table[kind][list].as_array().unwrap().iter().map(|word| format!("{mark}{}", word.as_str().unwrap())).collect()
}

/// The words of a rule that begin with `mark`, with it.
fn of_rule(rule: &str, mark: char) -> BTreeSet<String> {
    rule.split_whitespace().filter(|word| word.starts_with(mark)).map(str::to_owned).collect()
}

#[test]
fn the_documented_rights_are_those_that_scripts_use() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/vectors/access.json");
    let table: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let connection = listed(&table, "connection");
    // TIME is called on every new connection too.
    let scripts: Commands = called(&[""]).difference(&connection).cloned().collect();
    assert_eq!(scripts, listed(&table, "scripts"));
    let documented = table.as_object().unwrap().values().filter(|rights| rights.is_object());
    assert_eq!(documented.count(), kinds().len());
    for Kind { name, access, scripts, .. } in kinds() {
        let channels = words(&table, name, "channels", '&');
        let listens = if channels.is_empty() { "" } else { "subscribe unsubscribe" };
        let mut needed = called(scripts);
        needed.extend("eval evalsha time ping info".split(' ').chain(listens.split_whitespace()).map(str::to_owned));
        let needed: Commands = needed.iter().map(|command| format!("+{command}")).collect();
        assert_eq!(of_rule(access, '+'), needed, "{name}");
        assert_eq!(of_rule(access, '~'), words(&table, name, "keys", '~'), "{name}");
        assert_eq!(of_rule(access, '&'), channels, "{name}");
    }
}

/// Redisson chose these for its semaphore, its limiter and its id generator: the name itself, and the name in braces with a word
/// behind it, which could also be the name of another object.
fn is_redissons(key: &str, name: &str) -> bool {
    key == name || [":timeout", ":value", ":permits", ":allocation"].iter().any(|what| key.ends_with(what))
}

/// Of two kinds with one name, only the key of that name itself may be the same, which makes one exclude the other, that of
/// its last token, because there is one sequence for all that protects a resource, and that of permits under leases, by which a
/// counting semaphore knows a semaphore.
#[test]
fn two_kinds_have_no_companion_key_in_common() {
    for given in ["jobs", "queue", "orders:{42}", "{x}y{z}", "dlock_queue", "a:b"] {
        let name = ObjectName::new("", given).unwrap();
        let locks = keys_of::<LockState>(&name);
        assert_eq!(locks.len(), 4, "the lock's: {locks:?}");
        let mut seen = BTreeSet::new();
        for key in all_kinds().iter().flat_map(|kind| (kind.keys)(&name)).filter(|key| key != given) {
            let reserved = is_redissons(&key, given) || ObjectName::new("", &key).is_err();
            assert!(reserved, "{key} can be the name of another object");
            let is_common = key == name.companion(TOKEN) || key == name.suffixed_parts(TIMEOUT).concat();
            assert!(seen.insert(key.clone()) || is_common, "{key} belongs to two kinds");
        }
    }
}

/// `dlock_<kind>` or `dlock_<kind>_<part>`, of a kind without `_`, by which the name of its module begins. The lock's are older
/// than this rule.
#[test]
fn the_keys_of_a_kind_begin_with_the_kind() {
    let name = ObjectName::new("", "jobs").unwrap();
    for kind in all_kinds().iter().filter(|kind| kind.name != "lock") {
        // The module of its scripts, where it has any.
        let word = kind.scripts.first().and_then(|path| path.split(['/', '_']).next()).unwrap_or(kind.name);
        let token = name.companion(TOKEN);
        for key in (kind.keys)(&name).iter().filter(|key| !is_redissons(key, "jobs") && **key != token) {
            let own = key.strip_prefix(&format!("dlock_{word}"));
            assert!(own.is_some_and(|rest| rest.starts_with(':') || rest.starts_with('_')), "{key} of {word}");
        }
    }
}
