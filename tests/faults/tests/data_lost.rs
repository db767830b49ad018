//! The lock's key disappears while it is held and waited for.

use std::time::Duration;

use libdlock_faults::{Peer, SOON, slack, with_options, worker};
use libdlock_testkit::{Server, server::Data, wait::monotonic_us};

const LEASE: &str = "lease=3s";
/// A renewal is due at a third of the lease; that one finds out.
const NEXT_RENEWAL: Duration = Duration::from_millis(1_000);
/// A waiter asks every second, up to 20 % later: the bound on a wake-up that never comes.
const POLL: Duration = Duration::from_millis(1_200);

fn the_key_goes_away(reasons: &[&str], go: impl FnOnce(&mut Server)) {
    let mut server = Server::start();
    let url = with_options(&server.url(), LEASE);
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let first = holder.acquire("job");
    let waiting = waiter.start_acquire("job");
    libdlock_faults::wait_until_waiting(&server, "job");

    go(&mut server);
    let gone_at = monotonic_us();
    let second = waiter.granted(waiting, SOON);
    let waited = Duration::from_micros((second.acquired_at - gone_at).max(0) as u64);
    assert!(waited <= POLL + slack(), "the waiter had the lock after {waited:?}");
    assert!(second.token > first.token, "tokens increase across the loss");

    let loss = holder.loss(SOON);
    let told = Duration::from_micros((loss.told_at - gone_at).max(0) as u64);
    assert!(told <= NEXT_RENEWAL + slack(), "the holder knew after {told:?}");
    assert!(reasons.contains(&loss.reason.as_str()), "{}", loss.reason);
    assert!(!holder.is_valid("job"));
    holder.call("release 1 job").expect_err("there is nothing to release");
    assert!(waiter.is_valid("job"), "the second hold is untouched");
    waiter.release("job");
    assert!(!libdlock_faults::is_held(&server, "job"));
}

#[test]
fn after_del_the_holder_knows_at_its_next_renewal() {
    the_key_goes_away(&["taken", "deleted"], |server| {
        assert_eq!(server.cmd(&["DEL", "job"]).int(), 1);
    });
}

#[test]
fn after_flushall_the_holder_knows_at_its_next_renewal() {
    the_key_goes_away(&["taken", "deleted"], |server| {
        assert_eq!(server.cmd(&["FLUSHALL"]).text(), "OK");
    });
}

#[test]
fn after_an_empty_restart_the_holder_knows_at_its_next_renewal() {
    the_key_goes_away(&["taken", "deleted", "server_changed"], |server| server.restart(Data::Lost));
}
