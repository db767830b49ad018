//! The protocol of permits holds: no order of events within these bounds breaks a property. Each test visits every state of its
//! space.
//!
//! `cargo test -p libdlock-model -- --nocapture` prints how many there are.

use libdlock_model::Kinds;
use libdlock_model::check::holds;
use libdlock_model::permits::Config;
use libdlock_model::permits::config::{READ, WRITE};

const CRASH: Kinds = Kinds { crash: true, ..Kinds::NONE };

/// Two permits, and four processes, of which the second wants both.
fn four() -> Config {
    Config::semaphore(2, &[&[1], &[2], &[1], &[1]])
}

/// The same with three processes.
fn three() -> Config {
    Config::semaphore(2, &[&[1], &[2], &[1]])
}

#[test]
fn semaphore_without_faults() {
    let config = Config { cancels: 1, ..Config::semaphore(3, &[&[2, 1], &[1], &[3]]) };
    holds("3 permits, wants 2+1, 1, 3, a cancel", config);
    let config = Config { cancels: 1, lease: 4, ..Config::semaphore(2, &[&[1, 1], &[2], &[1]]) };
    holds("2 permits, wants 1+1, 2, 1, a cancel", config);
}

#[test]
fn semaphore_among_four_processes() {
    holds("wants 1, 2, 1, 1, a cancel", Config { cancels: 1, ..four() });
    holds("2, 1, then 3 permits, wants 1, 2, 1, 1", Config { totals: &[1, 3], ..four() });
    holds("wants 1, 2, 1, 1, the server's keys or clock", four().faults(1, Kinds::SERVER));
}

#[test]
fn semaphore_whose_total_changes() {
    let config = Config { totals: &[1, 3], cancels: 1, ..three() };
    holds("2, 1, then 3 permits, wants 1, 2, 1, a cancel", config);
    let config = Config { totals: &[1, 2], ..three() }.faults(1, Kinds::NETWORK_AND_PROCESSES);
    holds("2, 1, then 2 permits, wants 1, 2, 1, a fault", config);
}

#[test]
fn semaphore_with_non_blocking_attempts() {
    holds("wants 1, 2, 1, three attempts", Config { tries: &[1, 1, 1], ..three() });
    holds("wants 1, 2, 1, two attempts of processes", Config { own_tries: &[1, 1], ..three() });
    let config = Config { tries: &[1], ..three() }.faults(1, Kinds::NETWORK_AND_PROCESSES);
    holds("wants 1, 2, 1, an attempt, a fault", config);
}

#[test]
fn semaphore_shared_with_redisson() {
    holds("wants 1, 2, 1, two foreign permits, a cancel", Config { foreign: 2, cancels: 1, ..three() });
}

#[test]
fn semaphore_among_three_processes_and_any_fault() {
    holds("wants 1, 2, 1, a cancel, a fault", Config { cancels: 1, ..three() }.faults(1, Kinds::ALL));
    let config = Config { cancels: 1, lease: 4, ..Config::semaphore(3, &[&[2], &[1], &[1]]) };
    holds("3 permits, wants 2, 1, 1, a cancel, a fault", config.faults(1, Kinds::ALL));
}

#[test]
fn semaphore_among_changing_wants_and_any_fault() {
    let config = Config { cancels: 1, ..Config::semaphore(2, &[&[1, 2], &[2]]) };
    holds("wants 1+2, 2, a cancel, a fault", config.faults(1, Kinds::ALL));
    let config = Config { cancels: 1, ..Config::semaphore(2, &[&[2, 1], &[1]]) };
    holds("wants 2+1, 1, a cancel, a fault", config.faults(1, Kinds::ALL));
    let config = Config { cancels: 1, ..Config::semaphore(2, &[&[1], &[2]]) };
    holds("wants 1, 2, a cancel, two faults", config.faults(2, Kinds::ALL));
}

#[test]
fn semaphore_among_processes_that_wait_for_the_first_time() {
    let config = Config { fresh: true, cancels: 1, ..three() }.faults(1, Kinds::NETWORK_AND_PROCESSES);
    holds("wants 1, 2, 1, none subscribed, a cancel, a fault", config);
}

#[test]
fn semaphore_behind_dead_entries() {
    let config = Config { lease: 9, long_silence: true, ..three() };
    holds("wants 1, 2, 1, a long lease, a fault", config.clone().faults(1, Kinds::NETWORK_AND_PROCESSES));
    holds("wants 1, 2, 1, a long lease, two crashes", Config { cancels: 1, ..config }.faults(2, CRASH));
    let config = Config { tries: &[2], lease: 4, ..Config::semaphore(2, &[&[2], &[2], &[1]]) };
    holds("wants 2, 2, 1, an attempt, two crashes", config.faults(2, CRASH));
}

#[test]
fn semaphore_that_reclaims_one_grant_at_a_time() {
    let config = Config { reclaims_at_once: 1, tries: &[1, 1], ..three() };
    holds("wants 1, 2, 1, two attempts, small reclaims", config.clone());
    let config = Config { tries: &[1], cancels: 1, ..config }.faults(1, CRASH);
    holds("wants 1, 2, 1, an attempt, small reclaims, a crash", config);
}

#[test]
fn semaphore_when_keys_of_its_queue_go_or_its_clock_jumps() {
    let config = Config { cancels: 1, ..three() };
    holds("wants 1, 2, 1, a cancel, the server's keys or clock", config.faults(1, Kinds::SERVER));
    let config = Config { cancels: 1, ..Config::semaphore(2, &[&[1, 2], &[2, 1]]) };
    holds("wants 1+2, 2+1, a cancel, the server's keys or clock", config.faults(1, Kinds::SERVER));
}

/// Also what makes the others sound: time passes only when nothing is under way, so a process that spun would stop it.
#[test]
fn no_process_of_a_semaphore_spins() {
    let config = Config { count_asks: true, cancels: 1, ..three() };
    holds("wants 1, 2, 1, a cancel, a fault, acquires counted", config.faults(1, Kinds::ALL));
    let config = Config { count_asks: true, totals: &[1, 2], reclaims_at_once: 1, ..three() };
    holds("2, 1, then 2 permits, wants 1, 2, 1, acquires counted", config);
}

#[test]
fn readers_and_writers_without_faults() {
    let config = Config { downgrades: 1, cancels: 1, ..Config::read_write(&[&[READ, WRITE], &[WRITE], &[READ]]) };
    holds("read+write, write, read, a downgrade, a cancel", config);
    let config = Config { tries: &[READ, READ, WRITE], ..Config::read_write(&[&[READ], &[WRITE]]) };
    holds("read, write, three attempts", config);
}

#[test]
fn readers_and_writers_and_any_fault() {
    let config = Config { downgrades: 1, cancels: 1, ..Config::read_write(&[&[READ], &[WRITE], &[READ]]) };
    holds("read, write, read, a downgrade, a cancel, a fault", config.faults(1, Kinds::ALL));
    let config = Config { cancels: 1, ..Config::read_write(&[&[WRITE, READ], &[READ]]) };
    holds("write+read, read, a cancel, the server's keys or clock", config.faults(1, Kinds::SERVER));
    let config = Config::read_write(&[&[READ], &[WRITE], &[READ]]);
    holds("read, write, read, two faults", config.faults(2, Kinds { pause: true, ..CRASH }));
    let config = Config::read_write(&[&[READ], &[WRITE], &[READ], &[READ]]);
    holds("read, write, read, read, two faults", config.faults(2, Kinds { message: true, ..CRASH }));
}

/// The same in spaces of millions of states.
mod larger {
    use super::*;

    #[test]
    #[ignore = "long: make check-long"]
    fn semaphore_with_several_callers_in_each_process() {
        let config = Config { cancels: 1, lease: 4, ..Config::semaphore(2, &[&[2, 1], &[1, 1], &[1]]) };
        holds("wants 2+1, 1+1, 1, a cancel", config);
        let config = Config { cancels: 2, ..Config::semaphore(2, &[&[1, 2], &[2, 1], &[1]]) };
        holds("wants 1+2, 2+1, 1, two cancels", config);
        let config = Config { totals: &[1, 3], cancels: 1, ..Config::semaphore(2, &[&[1, 2], &[2], &[1]]) };
        holds("2, 1, then 3 permits, wants 1+2, 2, 1, a cancel", config);
    }

    #[test]
    #[ignore = "long: make check-long"]
    fn four_processes_and_any_fault() {
        holds("wants 1, 2, 1, 1, a fault", four().faults(1, Kinds::NETWORK_AND_PROCESSES));
        let config = Config::read_write(&[&[READ], &[WRITE], &[READ], &[READ]]);
        holds("read, write, read, read, a fault", config.faults(1, Kinds::NETWORK_AND_PROCESSES));
        holds("wants 1, 2, 1, 1, a cancel, a fault", Config { cancels: 1, ..four() }.faults(1, Kinds::ALL));
        let config = Config { tries: &[2], lease: 4, ..Config::semaphore(2, &[&[1], &[1], &[1], &[1]]) };
        holds("wants 1, 1, 1, 1, an attempt, two crashes", config.faults(2, CRASH));
        let config = Config { tries: &[3], lease: 4, ..Config::semaphore(3, &[&[2], &[1], &[1], &[1]]) };
        holds("3 permits, wants 2, 1, 1, 1, an attempt, two crashes", config.faults(2, CRASH));
    }

    #[test]
    #[ignore = "long: make check-long"]
    fn semaphore_and_two_faults() {
        let config = Config { cancels: 1, ..three() }.faults(2, Kinds::NETWORK_AND_PROCESSES);
        holds("wants 1, 2, 1, a cancel, two faults", config);
        let config = Config { cancels: 1, ..Config::semaphore(2, &[&[2, 1], &[1]]) }.faults(2, Kinds::ALL);
        holds("wants 2+1, 1, a cancel, two faults", config);
    }

    #[test]
    #[ignore = "long: make check-long"]
    fn semaphore_with_redisson_and_any_fault() {
        let config = Config { foreign: 1, cancels: 1, ..three() }.faults(1, Kinds::ALL);
        holds("wants 1, 2, 1, a foreign permit, a cancel, a fault", config);
    }

    /// The space in which late bytes of a cancel cost a place with the long timer.
    #[test]
    #[ignore = "long: make check-long"]
    fn semaphore_and_late_bytes() {
        let config = Config { cancels: 1, tries: &[1], ..Config::semaphore(1, &[&[1], &[1], &[1, 1]]) };
        holds(
            "wants 1, 1, 1+1, an attempt, a cancel, late bytes",
            config.faults(1, Kinds { stuck: true, ..Kinds::NONE }),
        );
        let config = Config { tries: &[1], ..Config::semaphore(1, &[&[1, 1], &[1], &[1]]) };
        holds("wants 1+1, 1, 1, an attempt, a stop", config.faults(1, Kinds { pause: true, ..Kinds::NONE }));
    }

    #[test]
    #[ignore = "long: make check-long"]
    fn readers_and_writers_and_two_faults() {
        let config = Config { downgrades: 1, cancels: 1, ..Config::read_write(&[&[READ], &[WRITE], &[READ]]) };
        holds("read, write, read, a downgrade, a cancel, two faults", config.faults(2, Kinds::NETWORK_AND_PROCESSES));
    }
}
