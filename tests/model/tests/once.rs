//! Requests that are carried out once: nothing breaks with all rules, and something does without each.

use std::collections::BTreeSet;

use libdlock_model::check::{counterexample, holds, unseen};
use libdlock_model::once::{Once, Rules};

const R: Rules = Rules::PROTOCOL;
const ONCE: &str = "taken once";
const BACK: &str = "nobody's permit comes back";

fn needs(rule: &str, jumps: u8, without: Rules, property: &'static str) {
    let events = counterexample(&format!("without {rule}"), Once { rules: without, jumps, events: false }, property);
    println!("without {rule}: {property} breaks after {} events", events.len());
}

#[test]
fn lost_requests_and_replies_cost_no_permit() {
    holds("a request that is carried out once", Once { rules: R, jumps: 0, events: false });
}

#[test]
fn a_jump_of_the_clock_takes_no_second_permit() {
    holds("with a jump of the server's clock", Once { rules: R, jumps: 1, events: false });
}

#[test]
fn repeats_and_undos_do_happen() {
    let events = BTreeSet::from(["a repeat finds its id", "an undo gives back", "a caller has its permit"]);
    assert_eq!(unseen("events", Once { rules: R, jumps: 0, events: true }, events), Vec::<&str>::new());
}

#[test]
fn the_server_has_to_remember_ids() {
    needs("ids", 0, Rules { remembers: false, ..R }, ONCE);
}

#[test]
fn ids_have_to_outlast_their_attempts_and_undos() {
    needs("a long memory", 0, Rules { remembers_long: false, ..R }, BACK);
}

#[test]
fn what_nobody_wants_has_to_be_undone() {
    needs("undos", 0, Rules { undoes: false, ..R }, BACK);
}

#[test]
fn only_what_is_known_may_be_undone() {
    needs("looking for the id", 0, Rules { undoes_what_is_known: false, ..R }, ONCE);
}

#[test]
fn an_undo_has_to_forget_the_id() {
    needs("forgetting", 0, Rules { forgets: false, ..R }, ONCE);
}

#[test]
fn bytes_that_come_late_have_to_be_undone_again() {
    needs("a second undo", 0, Rules { undoes_again: false, ..R }, BACK);
}

#[test]
fn a_request_has_to_be_void_when_its_id_may_be_forgotten() {
    needs("a time after which it is void", 1, Rules { voids: false, ..R }, ONCE);
}
