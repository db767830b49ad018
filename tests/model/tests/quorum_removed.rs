//! What each rule of a lock on several servers is for: without it, a property does not hold. Each test checks first that with
//! the rule the same space is sound.

use libdlock_model::check::{counterexample, holds, some_counterexample};
use libdlock_model::quorum::config::{AHEAD, Clock, FAST, RIGHT, TOO_FAR_AHEAD};
use libdlock_model::quorum::properties::name;
use libdlock_model::quorum::{Config, Kinds, Rules};

const R: Rules = Rules::PROTOCOL;

/// Three servers, of which one is ahead.
const THREE: &[Clock] = &[AHEAD, RIGHT, RIGHT];

/// Three servers, of which two run fast.
const TWO_FAST: &[Clock] = &[FAST, FAST, RIGHT];

const LOST: Kinds = Kinds { lost: true, ..Kinds::NONE };
const SLOW: Kinds = Kinds { slow: true, ..Kinds::NONE };
const PAUSE: Kinds = Kinds { pause: true, ..Kinds::NONE };

fn two() -> Config {
    Config::new(THREE, &[1, 1])
}

fn needs(rule: &str, config: Config, without: Rules, property: &'static str) {
    holds(&format!("with {rule}"), config.clone());
    breaks(rule, config, without, property);
}

fn breaks(rule: &str, config: Config, without: Rules, property: &'static str) {
    let events = counterexample(&format!("without {rule}"), Config { rules: without, ..config }, property);
    println!("without {rule}: {property} breaks after {} events", events.len());
}

#[test]
fn more_than_half_of_the_servers_have_to_grant() {
    needs("a majority", two(), Rules { asks_for_a_majority: false, ..R }, name::ONE);
}

#[test]
fn a_majority_of_the_servers_is_enough() {
    let config = two().faults(1, Kinds { down: true, ..Kinds::NONE });
    needs("a majority being enough", config, Rules { majority_is_enough: false, ..R }, name::GRANTED);
}

#[test]
fn a_hold_is_valid_from_its_first_request() {
    let without = Rules { valid_from_first_send: false, ..R };
    needs("counting from the first request", Config::new(TWO_FAST, &[1, 1]).faults(1, PAUSE), without, name::ONE);
}

#[test]
fn the_drift_of_the_clocks_is_subtracted() {
    needs("drift", Config::new(TWO_FAST, &[1, 1]), Rules { subtracts_drift: false, ..R }, name::ONE);
}

#[test]
fn a_hold_that_is_over_is_not_given_out() {
    let config = two().faults(1, PAUSE);
    needs("the check of validity", config, Rules { checks_before_giving_out: false, ..R }, name::GROWS);
}

#[test]
fn the_token_is_written_back() {
    let config = two().faults(1, LOST);
    needs("writing back", config, Rules { writes_back: false, ..R }, name::GROWS);
}

#[test]
fn the_token_is_written_back_to_a_majority() {
    let config = two().faults(2, LOST);
    needs("writing back to a majority", config, Rules { writes_back_to_a_majority: false, ..R }, name::GROWS);
}

#[test]
fn the_largest_token_is_taken() {
    let config = two().faults(2, LOST);
    needs("the largest token", config, Rules { takes_the_largest: false, ..R }, name::GROWS);
}

#[test]
fn a_token_is_raised_only_for_the_owner() {
    let config = two().faults(1, SLOW);
    needs("raising for the owner", config, Rules { raises_for_the_owner: false, ..R }, name::GROWS);
}

#[test]
fn a_release_looks_at_the_owner() {
    let config = Config::new(THREE, &[1, 2]).faults(1, PAUSE);
    needs("release by owner", config, Rules { releases_its_own: false, ..R }, name::ONE);
}

#[test]
fn a_minority_grant_is_released() {
    needs("release of grants", two(), Rules { releases_what_was_granted: false, ..R }, name::UNDONE);
}

#[test]
fn a_server_without_an_answer_is_released() {
    let without = Rules { releases_what_was_unanswered: false, ..R };
    needs("release without an answer", two().faults(1, LOST), without, name::UNDONE);
}

#[test]
fn a_late_grant_is_released_again() {
    needs("a second release", two().faults(1, SLOW), Rules { releases_again: false, ..R }, name::UNDONE);
}

#[test]
fn a_second_release_waits_for_the_end_of_the_attempt() {
    let config = Config { renewals: 1, ..Config::new(TWO_FAST, &[1]) };
    let config = config.faults(2, Kinds { lost: true, down: true, ..Kinds::NONE });
    needs("waiting with it", config, Rules { releases_again_afterwards: false, ..R }, name::FIELDS);
}

#[test]
fn an_acquire_becomes_void() {
    needs("not_after", two().faults(1, SLOW), Rules { not_after: false, ..R }, name::UNDONE);
}

#[test]
fn a_restarted_server_waits_for_the_longest_lease() {
    let config = two().faults(2, Kinds { lost: true, emptied: true, ..Kinds::NONE });
    needs("waiting after a restart", config.clone(), Rules { waits_after_a_restart: false, ..R }, name::ONE);
    breaks("waiting after a restart", config, Rules { waits_after_a_restart: false, ..R }, name::GROWS);
}

#[test]
#[ignore = "a minute: five million states"]
fn clocks_agree_as_far_as_the_longest_lease_goes() {
    const TOO_FAR: &[Clock] = &[TOO_FAR_AHEAD, RIGHT, RIGHT];
    let config = Config::new(TOO_FAR, &[1, 1]).faults(3, Kinds::SERVERS);
    let events = some_counterexample("clocks that do not agree", config, name::GROWS);
    println!("clocks that do not agree: {} breaks after {} events", name::GROWS, events.len());
}

#[test]
fn a_renewal_takes_the_lock_where_it_is_gone() {
    let config = Config { renewals: 2, ..Config::new(&[RIGHT, RIGHT, RIGHT], &[1]) };
    let config = config.faults(2, Kinds { down: true, ..Kinds::NONE });
    needs("healing", config, Rules { heals: false, ..R }, name::KEPT);
}

#[test]
fn a_lost_hold_stays_lost() {
    let config = Config { renewals: 1, ..Config::new(&[RIGHT, RIGHT, RIGHT], &[1, 1]) }.faults(1, PAUSE);
    needs("losses for good", config, Rules { lost_is_lost: false, ..R }, name::LATEST);
}

#[test]
fn a_waiter_listens_to_all_servers() {
    let config = Config::new(THREE, &[1, 2]).faults(1, Kinds { down: true, ..Kinds::NONE });
    needs("listening to all", config, Rules { listens_everywhere: false, ..R }, name::WOKEN);
}

#[test]
fn a_refused_attempt_that_looked_held_is_announced() {
    let without = Rules { announces_what_looked_held: false, ..R };
    needs("that announcement", Config::new(THREE, &[1, 2]).faults(1, PAUSE), without, name::WOKEN);
}

#[test]
fn a_waiter_that_saw_no_majority_tries_soon() {
    let config = Config::new(THREE, &[1, 2]).faults(1, Kinds { down: true, ..Kinds::NONE });
    // Sound with the rule: the space is that of `a_waiter_listens_to_all_servers`.
    breaks("short timers", config, Rules { splits_are_short: false, ..R }, name::WOKEN);
}

#[test]
fn a_message_that_meets_an_attempt_is_not_forgotten() {
    needs("trying again", Config::new(THREE, &[1, 2]), Rules { again: false, ..R }, name::WOKEN);
}

#[test]
fn a_timer_runs_from_the_sending_of_its_attempt() {
    let config = Config::new(TWO_FAST, &[1, 2]).faults(1, PAUSE);
    needs("timers from the sending", config, Rules { timer_from_sending: false, ..R }, name::WOKEN);
}

#[test]
fn a_waiter_tries_without_a_message() {
    let config = Config::new(THREE, &[1, 2]).faults(1, Kinds { message: true, ..Kinds::NONE });
    needs("polling", config, Rules { polls: false, ..R }, name::BOUND);
}
