//! The model is not empty: what it is about does happen in it.

use std::collections::BTreeSet;

use libdlock_model::check::unseen;
use libdlock_model::properties::{EVENTS, EVENTS_BESIDE, EVENTS_OF_THE_DEAD, Seen};
use libdlock_model::{Config, Kinds};

fn all_happen(what: &str, config: Config, events: &[(&'static str, Seen)]) {
    let all: BTreeSet<_> = events.iter().map(|(name, _)| *name).collect();
    assert_eq!(unseen(what, Config { remember: true, ..config }, all), Vec::<&str>::new());
}

#[test]
fn everything_happens_in_the_queue() {
    let config = Config { cancels: 1, foreign: 1, ..Config::new(&[2, 1]) };
    all_happen("all events", config.faults(1, Kinds::ALL), EVENTS);
}

#[test]
fn everything_happens_beside_the_queue() {
    let config = Config { tries: 3, own_tries: 1, forces: 1, lease: 9, long_silence: true, ..Config::new(&[1, 1]) };
    all_happen("those beside the queue", config.faults(1, Kinds { crash: true, ..Kinds::NONE }), EVENTS_BESIDE);
}

#[test]
fn several_dead_are_dropped_at_once() {
    let config = Config { tries: 1, ..Config::new(&[1, 1, 1]) };
    all_happen("those of the dead", config.faults(2, Kinds { crash: true, ..Kinds::NONE }), EVENTS_OF_THE_DEAD);
}
