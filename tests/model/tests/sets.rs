//! Several locks as one: nothing breaks a property, and without each rule something does.

use std::collections::BTreeSet;

use libdlock_model::check::{counterexample, holds, unseen};
use libdlock_model::sets::{Config, Rules, Seen, event, name};

const R: Rules = Rules::PROTOCOL;

/// Three sets over three locks, each of which overlaps each other, named in a circle.
fn circle() -> Config {
    Config::new(&[&[0, 1], &[1, 2], &[2, 0]])
}

/// One that wants everything beside two that want a part.
fn nested() -> Config {
    Config::new(&[&[2, 1, 0], &[1, 2], &[0]])
}

fn needs(rule: &str, config: Config, without: Rules, property: &'static str) {
    holds(&format!("with {rule}"), config.clone());
    let events = counterexample(&format!("without {rule}"), Config { rules: without, ..config }, property);
    println!("without {rule}: {property} breaks after {} events", events.len());
}

#[test]
fn sets_without_a_fault_never_block_each_other() {
    holds("a circle", circle());
    holds("nested sets", nested());
    holds("three rounds", Config { rounds: 3, ..circle() });
}

#[test]
fn sets_survive_every_fault() {
    let faults = |config: Config| Config { crashes: 1, time_outs: 1, lost_replies: 1, forces: 1, ..config };
    holds("a circle, every fault", faults(circle()));
    holds("nested sets, every fault", faults(nested()));
    holds("a circle, two crashes", Config { crashes: 2, ..circle() });
    holds("a circle, two lost replies", Config { lost_replies: 2, ..circle() });
    holds("a circle, two by force", Config { forces: 2, ..circle() });
}

#[test]
fn locks_are_waited_for_in_one_order() {
    needs("the order", circle(), Rules { ordered: false, ..R }, name::GOES_ON);
}

#[test]
fn a_wait_that_is_over_gives_back() {
    let config = Config { time_outs: 1, ..circle() };
    needs("giving back", config, Rules { gives_back: false, ..R }, name::NOTHING_LEFT);
}

#[test]
fn a_lost_reply_is_undone() {
    let config = Config { lost_replies: 1, rounds: 1, ..circle() };
    needs("undoing", config, Rules { undoes: false, ..R }, name::GOES_ON);
}

#[test]
fn a_part_that_is_lost_starts_over() {
    let config = Config { forces: 1, ..circle() };
    needs("starting over", config, Rules { starts_over: false, ..R }, name::HELD);
}

#[test]
fn a_set_that_waits_jumps_no_queue() {
    needs("respecting queues", circle(), Rules { respects_queues: false, ..R }, name::ORDER);
}

#[test]
fn the_script_takes_all_or_none() {
    needs("all or none", circle(), Rules { all_or_none: false, ..R }, name::GOES_ON);
}

#[test]
fn sets_are_seen_to_wait_with_locks_in_hand() {
    let events = BTreeSet::from([event::WAITS_HOLDING, event::TWO_WAIT]);
    assert!(unseen("what happens", Seen(Config { rounds: 3, ..circle() }), events).is_empty());
}
