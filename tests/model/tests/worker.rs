//! Worker numbers: nothing breaks a property, and without each rule something does.

use std::collections::BTreeSet;

use libdlock_model::check::{counterexample, holds, unseen};
use libdlock_model::worker::{Config, Rules, Seen, event, name};

const R: Rules = Rules::PROTOCOL;
const C: Config = Config::new();

fn needs(rule: &str, config: Config, without: Rules, property: &'static str) {
    holds(&format!("with {rule}"), config.clone());
    let events = counterexample(&format!("without {rule}"), Config { rules: without, ..config }, property);
    println!("without {rule}: {property} breaks after {} events", events.len());
}

#[test]
fn a_number_goes_from_one_holder_to_the_next() {
    holds("one number", Config { rounds: 2, ..C });
    holds("two numbers", Config { numbers: 2, rounds: 2, ticks: 1, ..C });
}

#[test]
fn numbers_survive_every_fault() {
    holds("a crash", Config { crashes: 1, ..C });
    holds("a lost reply", Config { lost_replies: 1, ticks: 3, ..C });
    holds("a clock that misses a tick", Config { slow: 1, ..C });
    holds("the server's clock is set ahead and back", Config { ahead: 1, back: 1, ticks: 2, ..C });
    holds("the server's clock is set back, a crash", Config { back: 1, crashes: 1, ticks: 3, ..C });
}

#[test]
fn a_holders_time_begins_after_the_last() {
    let config = Config { back: 1, ..C };
    needs("a later start", config, Rules { starts_after: false, ..R }, name::GROWS);
}

#[test]
fn a_renewal_says_how_far_its_holder_goes() {
    let config = Config { back: 1, ..C };
    needs("a promise", config.clone(), Rules { promises: false, ..R }, name::TAKEN_DOWN);
    needs("a promise", config, Rules { promises: false, ..R }, name::GROWS);
}

#[test]
fn a_holder_stops_before_the_server_does() {
    let config = Config { slow: 1, ..C };
    needs("a margin", config, Rules { margin: false, ..R }, name::ALONE);
}

#[test]
fn the_lease_is_looked_at_before_an_id_is_given_out() {
    needs("a look at the lease", C, Rules { looks: false, ..R }, name::IN_TIME);
}

#[test]
fn a_release_says_how_far_only_once_nothing_follows() {
    needs("stopping first", C, Rules { stops_first: false, ..R }, name::GROWS);
}

#[test]
fn a_repeat_of_an_acquire_takes_no_second_number() {
    let config = Config { numbers: 2, lost_replies: 1, ticks: 0, ..C };
    needs("owners", config, Rules { idempotent: false, ..R }, name::ONE_EACH);
}

/// A server that is emptied, or a replica that was behind and is promoted, knows of no holder: two may have one number until the
/// first renewal of the one before. The protocol says so, and this shows that it is so.
#[test]
fn a_server_that_forgets_gives_a_number_twice() {
    let events = counterexample("a server that forgets", Config { empties: 1, ..C }, name::GROWS);
    println!("breaks after {} events", events.len());
}

#[test]
fn numbers_are_seen_to_change_hands() {
    let events = BTreeSet::from([event::FOLLOWS, event::AHEAD, event::REFUSES]);
    assert!(unseen("what happens", Seen(Config { back: 1, rounds: 2, ..C }), events).is_empty());
}
