//! The process that holds the lock is killed, or stands still.

use std::time::Duration;

use libdlock_faults::{Peer, SOON, is_held, slack, with_options, worker};
use libdlock_testkit::{
    Action, Proxy, Server, eventually,
    resource::{Counter, Register},
    temp::TempDir,
    wait::monotonic_us,
    within,
};

/// A waiter asks every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);

fn us(duration: Duration) -> i64 {
    duration.as_micros() as i64
}

#[test]
fn after_kill_9_a_waiter_gets_the_lock_when_the_lease_is_over() {
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::start();
    let url = with_options(&server.url(), "lease=2s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let first = holder.acquire("job");
    let waiting = waiter.start_acquire("job");
    libdlock_faults::wait_until_waiting(&server, "job");

    holder.process().kill();
    let killed_at = monotonic_us();
    let left = server.cmd(&["PTTL", "job"]).int() * 1_000;
    let expires_at = monotonic_us() + left;

    let second = waiter.granted(waiting, LEASE + POLL + slack());
    // the key expires in whole milliseconds
    assert!(second.acquired_at >= expires_at - 2_000, "{} us before the key expired", expires_at - second.acquired_at);
    assert!(second.acquired_at <= killed_at + us(LEASE + POLL + slack()));
    assert!(second.token > first.token);
    waiter.release("job");
    assert!(!is_held(&server, "job"));
}

#[test]
fn a_stopped_holder_loses_each_lock_after_its_watchdog_lease() {
    let server = Server::start();
    let left = |name: &str| server.cmd(&["PTTL", name]).int();
    let mut holder = Peer::start(worker!(), &server.url());
    holder.ok("renew 1 short 2000");
    holder.ok("renew 1 long 20000");
    eventually(SOON, "a third of the short lease has passed", || left("short") < 1_500);
    eventually(SOON, "the short lease is renewed", || left("short") > 1_800);
    assert!((18_000..19_600).contains(&left("long")), "the long one is not renewed yet");

    holder.process().pause();
    eventually(Duration::from_secs(2), "the short lease expires", || left("short") == -2);
    assert!(left("long") > 15_000);
    holder.process().resume();
    assert_eq!(holder.loss(SOON).name, "short");
    assert!(holder.is_valid("long"));
    holder.release("long");
}

#[test]
fn a_holder_that_stood_still_for_two_leases_knows_at_once() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let mut holder = Peer::start(worker!(), &with_options(&proxy.url(), "lease=1s"));
    let mut other = Peer::start(worker!(), &with_options(&server.url(), "lease=30s"));
    let dir = TempDir::new();
    let path = dir.path().join("register").display().to_string();
    let register = Register::create(dir.path().join("register").as_path());

    let first = holder.acquire("job");
    holder.ok(&format!("write {path} {} by-the-first", first.token));
    holder.ok("watch-for-a-stop 1 job");
    holder.process().pause();
    let scripts = proxy.on_each(&["EVAL"], Action::Pass);
    let second = other.acquire("job");
    assert!(second.acquired_at >= first.valid_until, "two holders at once");
    other.ok(&format!("write {path} {} by-the-second", second.token));
    // two leases in all: the wait for the second grant was one
    assert!(!within(Duration::from_secs(1), || !is_held(&server, "job")));
    holder.process().resume();

    assert_eq!(holder.ok("first-check-after-it"), ["false"], "the first check after the stop");
    let loss = holder.loss(SOON);
    assert_eq!((loss.name.as_str(), loss.reason.as_str()), ("job", "expired"));
    assert_eq!(scripts.hits(), 0, "a renewal was sent before the loss was told");

    let (kind, _) = holder.call("release 1 job").expect_err("a stale release");
    assert!(kind == "NOT_HELD" || kind == "LOST", "{kind}");
    assert_eq!(server.cmd(&["HEXISTS", "job", &second.owner]).int(), 1, "the stale release took the second's grant");
    let refused = holder.call(&format!("write {path} {} by-the-first-again", first.token)).expect_err("a stale write");
    assert_eq!(refused, ("REFUSED".into(), second.token.to_string()));
    assert_eq!(register.read(), (second.token, "by-the-second".into()));
    assert!(other.is_valid("job"));
    other.release("job");
}

#[test]
fn a_holder_that_stood_still_for_half_a_lease_keeps_the_lock() {
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::start();
    let mut holder = Peer::start(worker!(), &with_options(&server.url(), "lease=2s"));
    let grant = holder.acquire("job");
    // just renewed: half a lease from here leaves the other half
    eventually(SOON, "the first renewal", || {
        monotonic_us() > grant.acquired_at + us(LEASE / 4) && { server.cmd(&["PTTL", "job"]).int() > 1_900 }
    });
    holder.process().pause();
    assert!(!within(LEASE / 2, || !is_held(&server, "job")), "it must not expire in half a lease");
    let low = server.cmd(&["PTTL", "job"]).int();
    holder.process().resume();

    eventually(Duration::from_secs(1), "renewals resume", || server.cmd(&["PTTL", "job"]).int() > low + 500);
    assert_eq!(holder.loss_within(LEASE), None, "nothing was lost");
    assert!(holder.is_valid("job"));
    assert_eq!(server.cmd(&["HEXISTS", "job", &grant.owner]).int(), 1);
    holder.release("job");
}

/// What the fencing token is for: the lock alone cannot protect a counter against a holder that sleeps past its lease
/// between its check and its write. This shows that the counters of the other tests can fail at all.
#[test]
fn a_counter_without_fencing_loses_an_addition_to_a_stop() {
    let server = Server::start();
    let url = with_options(&server.url(), "lease=500ms");
    let dir = TempDir::new();
    let counter = Counter::create(&dir.path().join("counter"));
    let (mut slow, mut quick) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));

    slow.acquire("job");
    let path = dir.path().join("counter");
    let adding = slow.request(&format!("add-when-told {}", path.display()));
    eventually(SOON, "it has read and not yet written", || path.with_extension("read").exists());
    slow.process().pause();
    quick.acquire("job");
    quick.ok(&format!("add {}", path.display()));
    quick.release("job");
    std::fs::write(path.with_extension("go"), "").expect("the word");
    slow.process().resume();
    slow.answer(adding, SOON).expect("it never noticed");
    assert_eq!(counter.get(), 1, "two additions, and one must be lost: otherwise the counter proves nothing");
}
