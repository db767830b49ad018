//! What holds of a latch in every order of events, and what each of its rules is for: without it, a property does not hold.

use std::collections::BTreeSet;

use libdlock_model::check::{counterexample, unseen};
use libdlock_model::latch::{Config, Rules, name};
use stateright::{Checker, Model};

const R: Rules = Rules::PROTOCOL;

/// Two that count down, whose replies are lost, and a clock that jumps.
const COUNTING: Config = Config { calls: 2, waiters: 0, anew: 0, faults: 2, jumps: 2, rules: R };

/// One that counts down, two that wait, and a latch that is set anew.
const WAITING: Config = Config { calls: 2, waiters: 2, anew: 1, faults: 1, jumps: 0, rules: R };

const PROPERTIES: [&str; 5] = [name::ONCE, name::DONE, name::SAFE, name::PROMPT, name::BOUND];

fn holds(what: &str, config: Config) {
    let checker = config.checker().spawn_dfs().join();
    println!("{what}: {} states", checker.unique_state_count());
    let broken = PROPERTIES.into_iter().find_map(|property| Some((property, checker.discovery(property)?)));
    if let Some((property, path)) = broken {
        let events: Vec<_> = path.into_actions().iter().map(|event| format!("{event:?}")).collect();
        panic!("{what}: {property} does not hold after\n{}", events.join("\n"));
    }
    assert!(checker.is_done(), "{what}: the space was not exhausted");
}

fn needs(rule: &str, config: Config, rules: Rules, property: &'static str) {
    let events = counterexample(&format!("without {rule}"), Config { rules, ..config }, property);
    println!("without {rule}: {property} breaks after {} events", events.len());
}

#[test]
fn no_order_of_events_counts_twice() {
    holds("counting", COUNTING);
}

#[test]
fn no_order_of_events_releases_too_early_or_too_late() {
    holds("waiting", WAITING);
    holds("waiting for less", Config { calls: 1, faults: 2, ..WAITING });
}

#[test]
fn what_a_latch_is_about_happens() {
    let counting = BTreeSet::from(["a repeat meets its id", "a call does not know"]);
    assert_eq!(unseen("events of counting", COUNTING, counting), Vec::<&str>::new());
    let waiting = BTreeSet::from(["all are released"]);
    assert_eq!(unseen("events of waiting", WAITING, waiting), Vec::<&str>::new());
}

#[test]
fn a_repeated_count_down_meets_its_id() {
    needs("ids", COUNTING, Rules { remembers: false, ..R }, name::ONCE);
}

#[test]
fn a_request_is_void_before_its_id_is_forgotten() {
    needs("the void time", COUNTING, Rules { void: false, ..R }, name::ONCE);
}

#[test]
fn an_id_is_remembered_until_its_request_is_void() {
    needs("that end", COUNTING, Rules { till_void: false, ..R }, name::ONCE);
}

#[test]
fn a_request_is_made_anew_only_if_it_did_nothing() {
    needs("the lost reply", COUNTING, Rules { anew_if_answered: false, ..R }, name::ONCE);
}

#[test]
fn a_waiter_looks_again_once_it_is_subscribed() {
    needs("the re-check", WAITING, Rules { recheck: false, ..R }, name::PROMPT);
}

#[test]
fn a_message_that_meets_a_look_is_not_forgotten() {
    needs("looking again", WAITING, Rules { again: false, ..R }, name::PROMPT);
}

#[test]
fn a_waiter_looks_without_a_message() {
    needs("polling", WAITING, Rules { polls: false, ..R }, name::BOUND);
}

#[test]
fn a_message_alone_releases_nobody() {
    needs("the count", WAITING, Rules { looks_at_count: false, ..R }, name::SAFE);
}

#[test]
fn a_look_counts_for_those_that_waited_before_it() {
    needs("later looks", WAITING, Rules { later_looks: false, ..R }, name::SAFE);
}
