//! The protocol of a lock on several servers holds: no order of events within these bounds breaks a property. Each test visits
//! every state of its space.
//!
//! `cargo test -p libdlock-model -- --nocapture` prints how many there are.

use libdlock_model::check::holds;
use libdlock_model::quorum::config::{AHEAD, Clock, FAST, RIGHT};
use libdlock_model::quorum::{Config, Kinds};

/// Three servers, of which one is ahead.
const THREE: &[Clock] = &[AHEAD, RIGHT, RIGHT];

/// Three servers, of which two run fast.
const TWO_FAST: &[Clock] = &[FAST, FAST, RIGHT];

/// Five servers, of which one is ahead and one runs fast.
const FIVE: &[Clock] = &[AHEAD, FAST, RIGHT, RIGHT, RIGHT];

fn three(attempts: &'static [u8]) -> Config {
    Config::new(THREE, attempts)
}

/// The same with renewals, where leases end early.
fn renewing(attempts: &'static [u8], renewals: u8) -> Config {
    Config { renewals, ..Config::new(TWO_FAST, attempts) }
}

#[test]
fn quorum_without_faults() {
    holds("3 servers, attempts 2, 2", three(&[2, 2]));
    holds("3 servers, attempts 1, 1, 1", three(&[1, 1, 1]));
    holds("3 servers, attempts 1, 1, a renewal", renewing(&[1, 1], 1));
    holds("5 servers, attempts 1, 1", Config::new(FIVE, &[1, 1]));
}

#[test]
fn quorum_with_a_fault_of_the_network() {
    holds("3 servers, attempts 1, 2, the network", three(&[1, 2]).faults(1, Kinds::NETWORK));
}

#[test]
fn quorum_with_a_fault_of_a_client() {
    holds("3 servers, attempts 1, 2, a client", three(&[1, 2]).faults(1, Kinds::CLIENTS));
}

#[test]
fn quorum_with_a_fault_of_a_server() {
    holds("3 servers, attempts 1, 1, a server", three(&[1, 1]).faults(1, Kinds::SERVERS));
    holds("4 servers, attempts 1, 1, a server", Config::new(&FIVE[..4], &[1, 1]).faults(1, Kinds::SERVERS));
}

#[test]
fn quorum_with_renewals_and_faults() {
    holds("3 servers, one attempt, two renewals, a fault", renewing(&[1], 2).faults(1, Kinds::ALL));
    holds("3 servers, one attempt, two renewals, two servers", renewing(&[1], 2).faults(2, Kinds::SERVERS));
    holds("3 servers, attempts 1, 1, a renewal, a client", renewing(&[1, 1], 1).faults(1, Kinds::CLIENTS));
}

mod long {
    use super::*;

    #[test]
    #[ignore = "half a minute each"]
    fn quorum_with_a_fault_of_any_kind() {
        holds("3 servers, attempts 2, 2, the network", three(&[2, 2]).faults(1, Kinds::NETWORK));
        holds("3 servers, attempts 2, 2, a client", three(&[2, 2]).faults(1, Kinds::CLIENTS));
        holds("3 servers, attempts 1, 2, a server", three(&[1, 2]).faults(1, Kinds::SERVERS));
        holds("3 servers, attempts 1, 2", renewing(&[1, 2], 0).faults(1, Kinds::ALL));
        holds("3 servers, attempts 1, 2, a renewal", renewing(&[1, 2], 1));
        holds("3 servers, attempts 1, 1, a renewal, a fault", renewing(&[1, 1], 1).faults(1, Kinds::ALL));
    }

    #[test]
    #[ignore = "half a minute each"]
    fn quorum_with_two_faults() {
        holds("3 servers, attempts 1, 1, two faults", three(&[1, 1]).faults(2, Kinds::ALL));
        holds("3 servers, one attempt, two renewals, two faults", renewing(&[1], 2).faults(2, Kinds::ALL));
    }

    #[test]
    #[ignore = "half a minute each"]
    fn quorum_of_five_servers() {
        holds("5 servers, attempts 1, 1, a server", Config::new(FIVE, &[1, 1]).faults(1, Kinds::SERVERS));
        holds("5 servers, attempts 1, 1, the network", Config::new(FIVE, &[1, 1]).faults(1, Kinds::NETWORK));
    }

    #[test]
    #[ignore = "half a minute each"]
    fn quorum_of_three_clients() {
        let down = Kinds { down: true, ..Kinds::NONE };
        holds("3 servers, attempts 1, 1, 1, a server down", three(&[1, 1, 1]).faults(1, down));
    }
}
