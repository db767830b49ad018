//! The model is not empty: what it is about does happen in it.

use std::collections::BTreeSet;

use libdlock_model::check::unseen;
use libdlock_model::properties::EVENTS;
use libdlock_model::{Config, Kinds};

#[test]
fn everything_happens() {
    let config = Config { cancels: 1, foreign: 1, remember: true, ..Config::new(&[2, 1]) };
    let all: BTreeSet<_> = EVENTS.iter().map(|(name, _)| *name).collect();
    assert_eq!(unseen("all events", config.faults(1, Kinds::ALL), all), Vec::<&str>::new());
}
