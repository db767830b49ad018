//! The delayed queue: nothing breaks a property, and without each rule something does.

use std::collections::BTreeSet;

use libdlock_model::check::{counterexample, holds, unseen};
use libdlock_model::jobs::{Config, Rules, event, name};

const R: Rules = Rules::PROTOCOL;

fn config() -> Config {
    Config::new()
}

fn needs(rule: &str, config: Config, rules: Rules, property: &'static str) {
    holds(&format!("with {rule}"), config.clone());
    let events = counterexample(&format!("without {rule}"), Config { rules, ..config }, property);
    println!("without {rule}: {property} breaks after {} events", events.len());
}

#[test]
fn jobs_go_from_producers_to_workers() {
    holds("two jobs, two workers", Config { takes: 2, ..config() });
    holds("later jobs", Config { delays: vec![2, 1], ..config() });
    holds("one id by two producers", Config { twice: true, ..config() });
    holds("put back, cancelled", Config { nacks: true, cancels: 1, ticks: 3, ..config() });
    holds("one more urgent, and later", Config { delays: vec![0, 1], urgencies: vec![1, 0], takes: 2, ..config() });
    holds("put back, taken twice", Config { nacks: true, delays: vec![0], takes: 2, ..config() });
}

#[test]
fn jobs_survive_every_fault() {
    holds("a crash", Config { crashes: 1, takes: 2, ticks: 3, ..config() });
    holds("two crashes", Config { crashes: 2, delays: vec![0, 1], ..config() });
    holds("a lost message, reply or request", Config { lost: 1, takes: 2, ticks: 3, ..config() });
    holds("two of them", Config { lost: 2, delays: vec![0], takes: 2, ..config() });
    holds("a crash and a lost reply", Config { lost: 1, crashes: 1, delays: vec![0], takes: 2, ..config() });
    holds("a clock that is set twice", Config { jumps: 2, delays: vec![1], takes: 2, ..config() });
    let urgent = Config { delays: vec![1, 0], urgencies: vec![0, 1], ..config() };
    holds("a clock that is set, one more urgent", Config { jumps: 2, ..urgent.clone() });
    holds("a crash, one more urgent", Config { crashes: 1, takes: 2, ticks: 3, ..urgent });
    holds("a waiter that leaves", Config { leaves: 1, delays: vec![1, 2], ..config() });
}

#[test]
fn what_a_queue_is_about_happens() {
    let busy = Config {
        looks_for_events: true,
        lost: 1,
        crashes: 1,
        nacks: true,
        cancels: 1,
        delays: vec![0],
        takes: 2,
        ..config()
    };
    let of_one =
        BTreeSet::from([event::DONE, event::AGAIN, event::DEAD, event::CANCELLED, event::REPEATED, event::REFUSED]);
    assert_eq!(unseen("events of one job", busy, of_one), Vec::<&str>::new());
    let waiting = Config { looks_for_events: true, delays: vec![1, 1], ..config() };
    assert_eq!(unseen("events of two", waiting, BTreeSet::from([event::HANDED, event::LATE])), Vec::<&str>::new());
}

#[test]
fn a_repeated_put_is_known() {
    let config = Config { lost: 1, delays: vec![0], workers: 1, ..config() };
    needs("a memory of puts", config, Rules { remembers: false, ..R }, name::ONCE);
}

#[test]
fn an_id_is_put_once() {
    let config = Config { twice: true, delays: vec![0], workers: 1, ..config() };
    needs("one of an id", config, Rules { one_of_an_id: false, ..R }, name::ONE_PLACE);
}

#[test]
fn a_repeated_take_finds_its_delivery() {
    let config = Config { lost: 1, workers: 1, ..config() };
    needs("a known repeat", config, Rules { knows_repeat: false, ..R }, name::ONE_PLACE);
}

#[test]
fn a_job_is_ended_by_its_own_delivery() {
    let config = Config { delays: vec![0], nacks: true, ..config() };
    needs("the delivery", config.clone(), Rules { by_delivery: false, ..R }, name::OWN);
}

#[test]
fn a_take_returns_what_was_lost() {
    let config = Config { delays: vec![0], crashes: 1, ..config() };
    needs("a reclaim", config, Rules { reclaims: false, ..R }, name::RETURNS);
}

#[test]
fn a_job_is_moved_by_one_script() {
    let config = Config { delays: vec![0], crashes: 1, ..config() };
    needs("one script", config, Rules { one_script: false, ..R }, name::ONE_PLACE);
}

#[test]
fn a_job_that_comes_back_keeps_its_place() {
    let config = Config { crashes: 1, ..config() };
    needs("its rank", config, Rules { keeps_rank: false, ..R }, name::ORDER);
}

#[test]
fn jobs_that_are_due_come_by_priority() {
    let config = Config { urgencies: vec![1, 0], ..config() };
    needs("the priority", config.clone(), Rules { by_priority: false, ..R }, name::ORDER);
    let later = Config { delays: vec![0, 1], ..config };
    needs("finding what has become due", later, Rules { finds_due: false, ..R }, name::ORDER);
}

#[test]
fn a_job_is_not_delivered_for_ever() {
    let config = Config { delays: vec![0], crashes: 2, max_attempts: 1, ticks: 6, ..config() };
    needs("the count of attempts", config, Rules { counts_attempts: false, ..R }, name::ATTEMPTS);
}

#[test]
fn a_late_release_counts_what_was_seen() {
    let config = Config { delays: vec![0], workers: 1, lost: 1, ..config() };
    needs("that", config, Rules { counts_seen: false, ..R }, name::COUNTED);
}

#[test]
fn a_cancel_leaves_what_is_held() {
    let config = Config { delays: vec![0], cancels: 1, workers: 1, ..config() };
    needs("that", config, Rules { cancels_waiting: false, ..R }, name::OWN);
}

#[test]
fn a_lost_answer_means_done_while_the_lease_is_valid() {
    let config = Config { delays: vec![0], lost: 1, ..config() };
    needs("the lease", config, Rules { judges_by_lease: false, ..R }, name::TOLD);
}

#[test]
fn a_lease_counts_from_the_sending() {
    let config = Config { delays: vec![0], lost: 1, ..config() };
    needs("the sending", config, Rules { from_sending: false, ..R }, name::ALONE);
}

#[test]
fn a_job_waits_for_its_time() {
    let config = Config { delays: vec![1], jumps: 1, workers: 1, ..config() };
    needs("the due time", config, Rules { waits_until_due: false, ..R }, name::EARLY);
}

#[test]
fn a_put_wakes_the_head() {
    needs("the message", config(), Rules { put_wakes: false, ..R }, name::PROMPT);
    let later = Config { delays: vec![1], workers: 1, ..config() };
    needs("the message of an earlier one", later, Rules { earlier_wakes: false, ..R }, name::PROMPT);
}

#[test]
fn the_head_sleeps_until_the_first_is_due() {
    let config = Config { delays: vec![1], workers: 1, ..config() };
    needs("the timer", config, Rules { sleeps_until_due: false, ..R }, name::PROMPT);
}

#[test]
fn a_worker_that_takes_wakes_the_next() {
    needs("the message", config(), Rules { hands_on: false, ..R }, name::PROMPT);
}

#[test]
fn a_job_that_is_put_back_wakes_the_head() {
    let config = Config { delays: vec![0], nacks: true, ..config() };
    needs("the message", config, Rules { nack_wakes: false, ..R }, name::PROMPT);
}

#[test]
fn a_waiter_that_leaves_wakes_the_next() {
    let config = Config { delays: vec![1], leaves: 1, ..config() };
    needs("the message", config, Rules { leave_tells: false, ..R }, name::PROMPT);
}

#[test]
fn a_lost_message_costs_a_poll() {
    let config = Config { delays: vec![0], lost: 1, ticks: 6, ..config() };
    needs("the poll", config, Rules { polls: false, ..R }, name::BOUND);
}
