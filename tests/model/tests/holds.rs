//! The protocol holds: no order of events within these bounds breaks a property. Each test visits every state of its space.
//!
//! `cargo test -p libdlock-model -- --nocapture` prints how many there are.

use libdlock_model::check::holds;
use libdlock_model::{Config, Kinds};

#[test]
fn among_three_processes_without_faults() {
    let config = Config { cancels: 1, foreign: 2, ..Config::new(&[1, 1, 1]) };
    holds("three processes, two foreign holds, a cancel", config);
    let config = Config { cancels: 1, lease: 4, ..Config::new(&[2, 2, 1]) };
    holds("three processes with 2, 2 and 1 callers, a cancel", config);
}

#[test]
fn among_processes_that_wait_for_the_first_time() {
    let config = Config { fresh: true, cancels: 1, foreign: 1, ..Config::new(&[1, 1]) };
    holds("two fresh processes, a foreign hold, a cancel, a fault", config.faults(1, Kinds::ALL));
    let config = Config { fresh: true, cancels: 1, ..Config::new(&[2, 2]) };
    holds("two fresh processes with two callers, a cancel", config);
    let config = Config { fresh: true, ..Config::new(&[1, 1, 1]) };
    holds("three fresh processes, a fault", config.faults(1, Kinds::NETWORK_AND_PROCESSES));
}

#[test]
fn between_two_processes_with_two_callers_each_and_any_fault() {
    let config = Config { cancels: 1, ..Config::new(&[2, 2]) };
    holds("two processes with two callers, a cancel, a fault", config.faults(1, Kinds::ALL));
}

#[test]
fn among_three_processes_and_any_fault() {
    let config = Config { cancels: 1, lease: 4, ..Config::new(&[1, 1, 1]) };
    holds("three processes, a cancel, a fault", config.faults(1, Kinds::ALL));
    let config = Config { foreign: 1, ..Config::new(&[1, 1, 1]) };
    holds("three processes, a foreign hold, a fault", config.faults(1, Kinds::ALL));
}

#[test]
fn between_two_processes_and_two_faults() {
    let config = Config { cancels: 1, ..Config::new(&[1, 1]) };
    holds("two processes, a cancel, two faults", config.faults(2, Kinds::ALL));
}

#[test]
fn among_three_processes_and_two_faults() {
    holds("three processes, two faults", Config::new(&[1, 1, 1]).faults(2, Kinds::NETWORK_AND_PROCESSES));
}

/// Also what makes the others sound: time passes only when nothing is under way, so a process that spun would stop it.
#[test]
fn nobody_spins() {
    let config = Config { cancels: 1, foreign: 1, count_asks: true, ..Config::new(&[1, 1]) };
    holds("two processes, acquires counted", config.faults(1, Kinds::ALL));
    let config = Config { count_asks: true, ..Config::new(&[1, 1, 1]) };
    holds("three processes, acquires counted", config.faults(1, Kinds::NETWORK_AND_PROCESSES));
    let config = Config { count_asks: true, ..Config::new(&[2, 2]) };
    holds("two processes with two callers, acquires counted", config.faults(1, Kinds::NETWORK_AND_PROCESSES));
}

#[test]
fn beside_those_who_only_try() {
    let config = Config { tries: 3, ..Config::new(&[1, 1]) };
    holds("two processes, three tries, a fault", config.faults(1, Kinds::ALL));
    let config = Config { tries: 3, ..Config::new(&[1, 1, 1]) };
    holds("three processes, three tries", config);
    let config = Config { own_tries: 1, cancels: 1, ..Config::new(&[2, 1]) };
    holds("two processes, a try of their own, a cancel, a fault", config.faults(1, Kinds::NETWORK_AND_PROCESSES));
    let config = Config { own_tries: 3, ..Config::new(&[2, 1]) };
    holds("two processes, three tries of their own", config);
}

#[test]
fn when_a_lock_is_freed_by_force() {
    let config = Config { forces: 1, cancels: 1, ..Config::new(&[2, 1]) };
    holds("two processes, a release by force, a cancel, a fault", config.faults(1, Kinds::ALL));
}

#[test]
fn behind_dead_entries_while_a_lock_is_held_for_long() {
    let config = Config { lease: 9, long_silence: true, ..Config::new(&[1, 1, 1]) };
    holds("three processes, a long lease, a fault", config.faults(1, Kinds::NETWORK_AND_PROCESSES));
}

#[test]
fn behind_two_dead_processes() {
    let config = Config { tries: 1, ..Config::new(&[1, 1, 1]) };
    holds("three processes, a try, two crashes", config.faults(2, Kinds { crash: true, ..Kinds::NONE }));
}

#[test]
fn when_the_keys_of_the_queue_are_gone_or_the_clock_jumps() {
    let config = Config { cancels: 1, ..Config::new(&[1, 1, 1]) };
    holds("three processes, the server's keys or clock", config.faults(1, Kinds::SERVER));
    let config = Config { foreign: 1, ..Config::new(&[2, 1]) };
    holds("two processes, a foreign hold, twice the server's keys or clock", config.faults(2, Kinds::SERVER));
}

/// The same in spaces of millions of states.
mod larger {
    use super::*;

    #[test]
    #[ignore = "half a minute each"]
    fn two_processes() {
        let config = Config { cancels: 1, foreign: 1, lease: 4, ..Config::new(&[1, 1]) };
        holds("two processes, a foreign hold, a cancel, two faults", config.faults(2, Kinds::ALL));
        let config = Config { cancels: 1, foreign: 1, lease: 3, ..Config::new(&[2, 2]) };
        holds("two processes with two callers, a foreign hold, a cancel, a fault", config.faults(1, Kinds::ALL));
        let config = Config { lease: 4, ..Config::new(&[2, 2]) };
        holds("two processes with two callers, two faults", config.faults(2, Kinds::ALL));
    }

    #[test]
    #[ignore = "a minute"]
    fn three_processes_and_a_foreign_client() {
        let config = Config { cancels: 1, foreign: 1, lease: 3, ..Config::new(&[1, 1, 1]) };
        holds("three processes, a foreign hold, a cancel, a fault", config.faults(1, Kinds::ALL));
    }

    #[test]
    #[ignore = "a minute"]
    fn three_processes_and_a_queue_inside_one() {
        let config = Config { cancels: 1, lease: 4, ..Config::new(&[2, 1, 1]) };
        holds("three processes with 2, 1 and 1 callers, a cancel, a fault", config.faults(1, Kinds::ALL));
    }

    #[test]
    #[ignore = "a minute"]
    fn three_processes_and_two_faults() {
        let config = Config { cancels: 1, lease: 4, ..Config::new(&[1, 1, 1]) };
        holds("three processes, a cancel, two faults", config.faults(2, Kinds::ALL));
    }
}
