//! The model of a lock on several servers is not empty: what it is about does happen in it.

use std::collections::BTreeSet;

use libdlock_model::check::unseen;
use libdlock_model::quorum::config::{AHEAD, Clock, FAST, RIGHT};
use libdlock_model::quorum::properties::{EVENTS, EVENTS_OF_FAULTS, Seen};
use libdlock_model::quorum::{Config, Kinds};

const THREE: &[Clock] = &[AHEAD, FAST, RIGHT];

fn all_happen(what: &str, config: Config, events: &[(&'static str, Seen)]) {
    let all: BTreeSet<_> = events.iter().map(|(name, _)| *name).collect();
    assert_eq!(unseen(what, Config { remember: true, ..config }, all), Vec::<&str>::new());
}

#[test]
fn everything_happens_without_faults() {
    all_happen("events", Config { renewals: 1, ..Config::new(THREE, &[1, 2]) }, EVENTS);
}

#[test]
fn every_fault_of_the_quorum_has_its_effect() {
    let config = Config { renewals: 1, ..Config::new(THREE, &[1, 1]) };
    all_happen("events of faults", config.faults(1, Kinds::ALL), EVENTS_OF_FAULTS);
}
