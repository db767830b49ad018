//! A view as JSON, for `dlock serve` and `dlock top --once --json`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::clients::{self, Doing};
use super::pick::Pick;
use super::{Row, View};
use crate::duration;
use crate::exit::millis;

/// Of the waiters, so many have waited no longer.
pub const SHARES: [f64; 3] = [0.5, 0.99, 1.0];

/// How many clients are told.
const CLIENTS: usize = 50;

/// So many names of what one client holds, and waits for.
const OBJECTS: usize = 200;

/// The rows that are picked from `from` on, `most` of them, and how things stand.
pub fn view(view: &View, pick: &Pick, (from, most): (usize, usize)) -> Value {
    let rows = pick.rows(view);
    let shown: Vec<_> = rows.iter().skip(from).take(most).map(object).collect();
    let mut document = summary(view);
    document["matching"] = json!(rows.len());
    document["objects"] = json!(shown);
    let busiest = clients::busiest(view, CLIENTS).into_iter();
    document["clients"] = busiest
        .map(|(id, doing)| json!({ "client": id, "holds": doing.holds.len(), "waits": doing.waits.len() }))
        .collect();
    document
}

/// How things stand, without names.
fn summary(view: &View) -> Value {
    json!({
        "server": view.server,
        "up": view.problem.is_none(),
        "problem": view.problem,
        "at": duration::date(view.at),
        "complete": view.is_complete,
        "kinds": kinds(view),
        "idle": view.idle,
        "waiting": view.rows.iter().map(|row| row.details.queued).sum::<u64>(),
        "waited_ms": view.waits(SHARES).map(|[half, most, longest]| {
            json!({ "p50": millis(half), "p99": millis(most), "longest": millis(longest) })
        }),
        "grants_per_second": tenths(view.grants),
        "grants_seen": view.grants_seen,
        "sweeps": view.sweeps,
        "sweep_ms": millis(view.sweep),
        "server_share": (view.share * 10_000.0).round() / 10_000.0,
    })
}

/// How many there are of each kind and state.
pub fn counts(view: &View) -> BTreeMap<(&'static str, &'static str), u64> {
    let mut counts = BTreeMap::new();
    for row in view.rows.iter() {
        *counts.entry((row.details.kind.as_str(), row.details.state)).or_default() += 1;
    }
    counts
}

fn kinds(view: &View) -> Value {
    let mut kinds: Map<String, Value> = Map::new();
    for ((kind, state), count) in counts(view) {
        kinds.entry(kind).or_insert_with(|| json!({}))[state] = json!(count);
    }
    kinds.into()
}

/// One object, with what is left of it now.
pub fn object(row: &Arc<Row>) -> Value {
    let mut object = row.details.to_json();
    for field in ["ttl_ms", "full_after_ms"] {
        if object.get(field).is_some_and(Value::is_number) {
            object[field] = json!(row.left().map(millis));
        }
    }
    object["what"] = json!(row.details.what);
    object["waiters"] = row.waiters.iter().map(|waiter| &*waiter.client).collect();
    object["waited_ms"] = row.waits().map(millis).collect();
    object["grants_per_second"] = json!(tenths(row.grants));
    object["held_ms"] = json!(row.held_for().map(millis));
    object["read_ms_ago"] = json!(millis(row.read.elapsed()));
    object
}

/// What one client does.
pub fn client(id: &str, doing: &Doing) -> Value {
    let names = |objects: &[(libdlock::survey::Kind, String)]| -> Value {
        objects.iter().take(OBJECTS).map(|(kind, name)| json!({ "kind": kind.as_str(), "name": name })).collect()
    };
    json!({ "client": id, "holds": names(&doing.holds), "waits": names(&doing.waits),
        "complete": doing.holds.len().max(doing.waits.len()) <= OBJECTS })
}

fn tenths(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
