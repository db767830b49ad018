//! What each rule is for: without it, a property does not hold. Each test checks first that with the rule the same space is
//! sound.

use libdlock_model::check::{counterexample, holds};
use libdlock_model::properties::name;
use libdlock_model::{Config, Kinds, Rules};

const R: Rules = Rules::PROTOCOL;

fn needs(rule: &str, config: Config, without: Rules, property: &'static str) {
    holds(&format!("with {rule}"), config.clone());
    let events = counterexample(&format!("without {rule}"), Config { rules: without, ..config }, property);
    println!("without {rule}: {property} breaks after {} events", events.len());
}

#[test]
fn a_head_asks_again_once_it_is_subscribed() {
    let config = Config { foreign: 1, ..Config::new(&[1, 1]) };
    needs("the re-check", config, Rules { recheck: false, ..R }, name::I5_PROMPT);
}

#[test]
fn a_process_asks_again_once_its_inbox_is_subscribed() {
    let config = Config { fresh: true, ..Config::new(&[1, 1]) };
    needs("the re-check", config, Rules { recheck: false, ..R }, name::I5_PROMPT);
}

#[test]
fn a_repeated_acquire_knows_its_own_field() {
    let config = Config::new(&[1, 1]).faults(1, Kinds { reply: true, ..Kinds::NONE });
    needs("idempotence", config, Rules { idempotent: false, ..R }, name::I6_REPEAT);
}

#[test]
fn who_moves_up_is_stamped() {
    let config = Config { foreign: 1, lease: 4, ..Config::new(&[2, 1, 1]) };
    needs("the stamps of who moves up", config, Rules { stamps: false, ..R }, name::LIVE);
}

#[test]
fn a_dead_head_is_dropped_by_its_stamp() {
    let config = Config::new(&[2, 1]).faults(1, Kinds { crash: true, ..Kinds::NONE });
    needs("dropping dead heads", config, Rules { prune: false, ..R }, name::I5_BOUND);
}

#[test]
fn a_waiter_that_does_not_listen_yet_has_time_to_connect() {
    let config = Config { fresh: true, ..Config::new(&[1, 1, 1]) };
    needs("the time to connect", config, Rules { deaf_have_time: false, ..R }, name::LIVE);
}

#[test]
fn a_request_that_comes_too_late_is_refused() {
    let config = Config::new(&[1, 1]).faults(1, Kinds { stuck: true, ..Kinds::NONE });
    needs("not_after", config, Rules { not_after: false, ..R }, name::I7_FIELD);
}

#[test]
fn a_cancel_that_comes_too_late_is_repeated() {
    let config = Config { cancels: 1, ..Config::new(&[1, 1]) };
    let config = config.faults(1, Kinds { jump: true, ..Kinds::NONE });
    needs("repeating a cancel", config, Rules { late_cancel_repeats: false, ..R }, name::I7_ENTRY);
}

#[test]
fn the_head_has_a_timer() {
    let config = Config::new(&[1, 1]).faults(1, Kinds { message: true, ..Kinds::NONE });
    needs("the timer of the head", config, Rules { head_timer: false, ..R }, name::I5_BOUND);
    let config = Config::new(&[1, 1]).faults(1, Kinds { forget: true, ..Kinds::NONE });
    needs("the timer of the head", config, Rules { head_timer: false, ..R }, name::I5_BOUND);
}

#[test]
fn a_release_looks_at_the_owner() {
    let config = Config::new(&[1, 1]).faults(1, Kinds { pause: true, ..Kinds::NONE });
    needs("release by owner", config.clone(), Rules { release_by_owner: false, ..R }, name::I6);
    needs("release by owner", config, Rules { release_by_owner: false, ..R }, name::I1_VALID);
}

#[test]
fn an_attempt_without_an_answer_is_cleaned_up() {
    let config = Config { cancels: 1, ..Config::new(&[1, 1]) };
    let config = config.faults(1, Kinds { stuck: true, ..Kinds::NONE });
    needs("cleaning up", config.clone(), Rules { clean_up: false, ..R }, name::I7_FIELD);
    needs("cleaning up", config, Rules { clean_up: false, ..R }, name::I7_ENTRY);
}

#[test]
fn a_message_that_meets_a_request_is_not_forgotten() {
    needs("asking again", Config::new(&[2, 2]), Rules { again: false, ..R }, name::I5_PROMPT);
}

#[test]
fn a_release_that_rejoins_as_head_asks_at_once() {
    needs("asking at once", Config::new(&[2, 1]), Rules { rejoined_head_asks: false, ..R }, name::I5_PROMPT);
}

#[test]
fn a_lost_hold_lets_the_next_caller_contend() {
    needs("handing on", Config::new(&[2, 1]), Rules { lost_hands_on: false, ..R }, name::I5_BOUND);
}

#[test]
fn a_cancel_tells_who_moves_up() {
    let config = Config { cancels: 1, ..Config::new(&[1, 1, 1]) };
    needs("telling on cancel", config, Rules { cancel_tells: false, ..R }, name::I5_PROMPT);
}

#[test]
fn a_dead_entry_is_dropped_by_the_one_behind_it() {
    let config = Config { lease: 14, foreign: 1, long_silence: true, ..Config::new(&[1, 1]) };
    let config = config.faults(1, Kinds { crash: true, ..Kinds::NONE });
    needs("dropping dead entries", config, Rules { prune_entries: false, ..R }, name::GONE);
}

#[test]
fn who_moves_up_behind_a_dead_entry_is_told() {
    let config = Config { lease: 9, foreign: 1, long_silence: true, ..Config::new(&[1, 1, 1]) };
    let config = config.faults(1, Kinds { crash: true, ..Kinds::NONE });
    needs("telling on a drop", config, Rules { prune_tells: false, ..R }, name::I5_HEAD);
}

#[test]
fn a_third_try_respects_the_queue() {
    let config = Config { tries: 3, ..Config::new(&[1, 1]) };
    needs("the bound of tries", config, Rules { tries_respect: false, ..R }, name::OVERTAKEN);
}

#[test]
fn tries_are_counted_until_another_is_head() {
    let config = Config { tries: 3, ..Config::new(&[1, 1]) };
    needs("counting over releases", config, Rules { tries_counted_over_releases: false, ..R }, name::OVERTAKEN);
}

#[test]
fn lost_is_a_hint() {
    let config = Config { forces: 1, ..Config::new(&[2]) };
    let config = config.faults(1, Kinds { late: true, ..Kinds::NONE });
    needs("looking before believing", config, Rules { lost_is_a_hint: false, ..R }, name::I7_FIELD);
}

#[test]
fn tokens_come_from_the_clock() {
    let config = Config::new(&[1, 1]).faults(1, Kinds { failover: true, ..Kinds::NONE });
    needs("tokens by the clock", config, Rules { clock_tokens: false, ..R }, name::I3);
}
