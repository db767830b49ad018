//! The model is not empty: what it is about does happen in it.

use std::collections::BTreeSet;

use libdlock_model::check::unseen;
use libdlock_model::properties::{EVENTS, EVENTS_LATER, Seen};
use libdlock_model::{Config, Kinds};

fn all_happen(what: &str, config: Config, events: &[(&'static str, Seen)]) {
    let all: BTreeSet<_> = events.iter().map(|(name, _)| *name).collect();
    assert_eq!(unseen(what, Config { remember: true, ..config }, all), Vec::<&str>::new());
}

#[test]
fn everything_happens() {
    let config = Config { cancels: 1, foreign: 1, tries: 3, own_tries: 1, forces: 1, ..Config::new(&[2, 1]) };
    all_happen("all events", config.faults(1, Kinds::ALL), EVENTS);
}

#[test]
fn dead_entries_are_dropped_in_each_way() {
    let config = Config { foreign: 1, tries: 3, lease: 9, long_silence: true, ..Config::new(&[1, 1]) };
    all_happen("dead entries", config.faults(1, Kinds { crash: true, ..Kinds::NONE }), EVENTS_LATER);
}
