//! The model of permits is not empty: what it is about does happen in it.

use std::collections::BTreeSet;

use libdlock_model::Kinds;
use libdlock_model::check::unseen;
use libdlock_model::permits::Config;
use libdlock_model::permits::config::{READ, WRITE};
use libdlock_model::permits::properties::{
    EVENTS, EVENTS_BESIDE, EVENTS_OF_FAULTS, EVENTS_OF_THE_DEAD, EVENTS_OF_WRITERS, Seen,
};

fn all_happen(what: &str, config: Config, events: &[(&'static str, Seen)]) {
    let all: BTreeSet<_> = events.iter().map(|(name, _)| *name).collect();
    assert_eq!(unseen(what, Config { remember: true, ..config }, all), Vec::<&str>::new());
}

#[test]
fn everything_happens_in_the_queue() {
    let config = Config { cancels: 1, ..Config::semaphore(2, &[&[2, 1], &[1], &[1]]) };
    all_happen("events of the queue", config, EVENTS);
}

#[test]
fn everything_happens_beside_the_queue() {
    let config = Config { totals: &[1], tries: &[1, 1, 1], ..Config::semaphore(3, &[&[1, 1], &[2]]) };
    all_happen("events beside the queue", config, EVENTS_BESIDE);
}

#[test]
fn readers_and_writers_meet() {
    let config = Config { downgrades: 1, ..Config::read_write(&[&[READ], &[WRITE], &[READ]]) };
    all_happen("events of readers and writers", config, EVENTS_OF_WRITERS);
}

#[test]
fn every_fault_has_its_effect() {
    let config = Config { cancels: 1, ..Config::semaphore(2, &[&[1, 1], &[2]]) };
    all_happen("events of faults", config.faults(1, Kinds::ALL), EVENTS_OF_FAULTS);
}

#[test]
fn dead_entries_are_dropped() {
    let config = Config { tries: &[1], lease: 9, long_silence: true, ..Config::semaphore(1, &[&[1], &[1], &[1]]) };
    all_happen("events of the dead", config.faults(2, Kinds { crash: true, ..Kinds::NONE }), EVENTS_OF_THE_DEAD);
}
