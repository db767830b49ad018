//! Where the draft of the protocol had a trace against a property, and that the mended rule has none.

use libdlock_model::check::{counterexample, holds, some_counterexample};
use libdlock_model::properties::name;
use libdlock_model::{Config, Kinds, Rules};

const R: Rules = Rules::PROTOCOL;

/// The draft: a release tells head and next. But it is the take that moves the queue up: who was third is next from then on,
/// does not know it, and becomes head with the long timer when the holder in front of it dies or lets its lease end.
#[test]
fn the_take_tells_who_is_next() {
    let draft = Rules { take_tells_next: false, ..R };
    let config = Config::new(&[2, 2, 1]);
    counterexample("next told by the release", Config { rules: draft, ..config }, name::I5_HEAD);
}

/// The draft: after *not your turn* the next one sleeps until the head would count as dead. If the head takes the lock, the
/// sleeper is head itself, for up to 2.5 s without a look.
#[test]
fn next_keeps_its_short_timer_when_it_is_not_its_turn() {
    let draft = Rules { stays_short: false, ..R };
    let config = Config::new(&[1, 1, 1]);
    holds("next stays short", config.clone());
    counterexample("next sleeps as long as the head may", Config { rules: draft, ..config }, name::I5_HEAD);
}

/// The draft: a release stamps head and next, and a cancel tells, so it stamps them as well. Callers that wait for less than
/// 2.5 s and come again then keep a dead head alive, and nobody ever gets the lock.
#[test]
fn only_who_moves_up_is_stamped() {
    let draft = Rules { stamp_all: true, drops_deaf: false, ..R };
    let config = Config { cancels: 1, ..Config::new(&[2, 2]) };
    let config = config.faults(1, Kinds { crash: true, ..Kinds::NONE });
    holds("only who moves up is stamped", config.clone());
    counterexample("head and next are stamped", Config { rules: draft, ..config }, name::I5_BOUND);
}

/// The draft: a `free` or a timer that meets an acquire in flight makes it run again. Replies and messages come by two
/// connections: the message that one is next can overtake a reply that still says rank 2.
#[test]
fn a_next_that_meets_an_acquire_makes_it_run_again() {
    let draft = Rules { again_for_next: false, ..R };
    let config = Config { foreign: 1, ..Config::new(&[1, 1, 1]) };
    holds("next makes it run again", config.clone());
    counterexample("only free makes it run again", Config { rules: draft, ..config }, name::I5_HEAD);
}

/// The draft: what a request without an answer may have done is undone when its `not_after` has passed. A process that was
/// stopped then undoes it before it has seen the answer to the repeat, and its first request was carried out last.
#[test]
fn cleaning_up_waits_for_the_answer_to_the_repeat() {
    let draft = Rules { clean_up_waits: false, ..R };
    let config = Config { foreign: 1, cancels: 1, ..Config::new(&[1, 1]) };
    let config = config.faults(2, Kinds { stuck: true, pause: true, ..Kinds::NONE });
    counterexample("cleaning up does not wait", Config { rules: draft, ..config }, name::I7_FIELD);
}

/// The draft does not say from when a timer runs. From the reply, a process that was stopped sleeps on an answer from before
/// its stop: it has lost its place since, and a new caller of its joins that sleep.
#[test]
fn a_timer_runs_from_when_its_acquire_was_sent() {
    let draft = Rules { timer_from_asking: false, ..R };
    let config = Config { cancels: 1, ..Config::new(&[2, 2]) };
    let config = config.faults(1, Kinds { pause: true, ..Kinds::NONE });
    holds("from the sending", config.clone());
    counterexample("from the reply", Config { rules: draft, ..config }, name::I5_PROMPT);
}

/// The draft knows no late cancel: it takes away the place of a caller who came after it, who then sleeps with the long timer
/// beside a free lock and an empty queue.
#[test]
#[ignore = "half a minute: five million states"]
fn a_cancel_without_an_answer_is_followed_by_a_look() {
    let draft = Rules { late_cancel_rejoins: false, ..R };
    let config = Config { cancels: 1, foreign: 1, lease: 5, ..Config::new(&[1, 1, 2]) };
    let config = config.faults(1, Kinds { stuck: true, ..Kinds::NONE });
    some_counterexample("late cancels ignored", Config { rules: draft, ..config }, name::I5_BOUND);
}
