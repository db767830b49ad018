//! A view as Prometheus reads it, in its text format.

use std::fmt::{Display, Write as _};

use libdlock::survey::Kind;

use crate::live::{View, json::SHARES, json::counts};

/// Names in labels, of each metric: more of them are a burden to whoever keeps them.
const NAMES: usize = 500;

pub fn text(view: &View) -> String {
    let mut text = Text(String::new());
    let up = view.problem.is_none();
    text.one("dlock_up", "gauge", "Whether the server could be read the last time.", u8::from(up));
    text.about("dlock_build_info", "gauge", "The version of dlock.");
    text.sample("dlock_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    text.one(
        "dlock_grants_seen_total",
        "counter",
        "Grants of locks seen: of one lock between two looks, one.",
        view.grants_seen,
    );
    if !up {
        return text.0;
    }
    text.about("dlock_objects", "gauge", "Objects in use, by kind and state.");
    for ((kind, state), count) in counts(view) {
        text.sample("dlock_objects", &[("kind", kind), ("state", state)], count);
    }
    text.one("dlock_idle_objects", "gauge", "Objects that nobody uses.", view.idle);
    text.one("dlock_complete", "gauge", "Whether all objects have been seen.", u8::from(view.is_complete));
    let waiting: u64 = view.rows.iter().map(|row| row.details.queued).sum();
    text.one("dlock_waiting", "gauge", "Processes that wait, each counted for each object.", waiting);
    text.about(
        "dlock_waited_seconds",
        "gauge",
        "How long those that wait now have waited: a quantile of them no longer.",
    );
    for (share, wait) in SHARES.iter().zip(view.waits(SHARES).into_iter().flatten()) {
        text.sample("dlock_waited_seconds", &[("quantile", &share.to_string())], wait.as_secs_f64());
    }
    text.one(
        "dlock_grants_per_second",
        "gauge",
        "Grants of locks per second, at least: of one lock between two looks, one.",
        view.grants,
    );
    let longest = view.rows.iter().filter_map(|row| row.held_for()).max().unwrap_or_default();
    text.one("dlock_longest_held_seconds", "gauge", "How long the lock held longest is held.", longest.as_secs_f64());
    text.one("dlock_sweep_seconds", "gauge", "How long it took to read everything once.", view.sweep.as_secs_f64());
    text.one("dlock_server_share", "gauge", "The part of a processor that the server spends on it.", view.share);
    named(&mut text, view);
    text.0
}

/// What has a series for each name.
fn named(text: &mut Text, view: &View) {
    let of = |is_wanted: fn(Kind) -> bool| view.rows.iter().filter(move |row| is_wanted(row.details.kind));
    let mut left_out = 0;
    text.about("dlock_queue_jobs", "gauge", "Jobs of a queue, by what they wait for.");
    let queues = || of(|kind| kind == Kind::Queue);
    for row in queues().take(NAMES) {
        for state in ["ready", "delayed", "in_flight", "dead"] {
            let count = row.details.number(state).unwrap_or(0);
            text.sample("dlock_queue_jobs", &[("queue", &row.details.name), ("state", state)], count);
        }
    }
    left_out += queues().count().saturating_sub(NAMES);
    let semaphores = || of(|kind| matches!(kind, Kind::Semaphore | Kind::CountingSemaphore));
    for (name, field, help) in [
        ("dlock_semaphore_permits", "permits", "Permits of a semaphore in all."),
        ("dlock_semaphore_available", "available", "Permits of a semaphore that can be acquired now."),
    ] {
        text.about(name, "gauge", help);
        for row in semaphores().take(NAMES) {
            if let Some(count) = row.details.number(field) {
                let labels = [("semaphore", row.details.name.as_str()), ("kind", row.details.kind.as_str())];
                text.sample(name, &labels, count);
            }
        }
    }
    left_out += semaphores().count().saturating_sub(NAMES);
    text.about("dlock_waiters", "gauge", "Processes that wait for an object, of those that any waits for.");
    let mut waited: Vec<_> = view.rows.iter().filter(|row| row.details.queued > 0).collect();
    waited.sort_by_key(|row| std::cmp::Reverse(row.details.queued));
    for row in waited.iter().take(NAMES) {
        let labels = [("name", row.details.name.as_str()), ("kind", row.details.kind.as_str())];
        text.sample("dlock_waiters", &labels, row.details.queued);
    }
    left_out += waited.len().saturating_sub(NAMES);
    text.one("dlock_names_left_out", "gauge", "Series that are left out, as there are too many names.", left_out);
}

struct Text(String);

impl Text {
    fn about(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.about(name, kind, help);
        self.sample(name, &[], value);
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        let _ = match labels.as_slice() {
            [] => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{}}} {value}", labels.join(",")),
        };
    }
}

fn escaped(label: &str) -> String {
    label.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
