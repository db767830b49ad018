//! A wall clock jumps by an hour. The server's takes every lease with it, or none; a client's nothing.

use std::time::Duration;

use libdlock_faults::{
    Peer, SOON, is_held, listeners,
    peer::{Held, Loss, held},
    slack, wait_until_waiting, with_options, worker,
};
use libdlock_testkit::{
    ClockHandle, Hold, Proxy, Server,
    checker::{Violation, check},
    eventually,
    resource::Register,
    temp::TempDir,
    wait::{monotonic_us, within},
};

const HOUR: i64 = 3_600_000_000;
const LEASE: Duration = Duration::from_secs(6);
/// The holder renews every two seconds: so a waiter, who asks at least every 1.2 s, has the lock before it knows.
const OPTIONS: &str = "lease=6s";
/// A waiter asks every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);

fn ms(us: i64) -> i64 {
    us / 1_000
}

fn hold(who: &str, grant: &Held, ended_at: i64) -> Hold {
    Hold { who: who.into(), token: grant.token, acquired_at: grant.acquired_at, ended_at }
}

fn between(from: i64, to: i64) -> Duration {
    Duration::from_micros((to - from).max(0) as u64)
}

/// Every key is over at once. The lock alone cannot help here: two believe in it until the first one's next renewal. The
/// token can, for the register that checks it.
#[test]
fn a_clock_an_hour_ahead_lets_in_an_owner_with_a_higher_token() {
    let (server, clock) = Server::with_clock();
    let url = with_options(&server.url(), OPTIONS);
    let (mut first, mut second) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let dir = TempDir::new();
    let register = Register::create(&dir.path().join("register"));
    let path = dir.path().join("register").display().to_string();

    let a = first.acquire("job");
    // A holder looks at what it holds once its inbox is open: not between the jump and the second grant.
    let inbox = format!("dlock_inbox:{}", a.owner.rsplit_once(':').expect("an owner").0);
    eventually(SOON, "the holder listens", || listeners(&server, &inbox) == 1);
    // That look is the third script to be sent by its text, after the acquire and the question about rights; there is none if
    // the inbox was open before the acquire.
    let _ = within(Duration::from_millis(300), || server.info("commandstats", "cmdstat_eval:calls") >= 3);
    let waiting = second.start_acquire("job");
    wait_until_waiting(&server, "job");
    first.ok(&format!("write {path} {} by-the-first", a.token));
    clock.advance(HOUR);
    let jumped_at = monotonic_us();

    let b = second.granted(waiting, SOON);
    assert!(between(jumped_at, b.acquired_at) <= POLL + slack(), "after {:?}", between(jumped_at, b.acquired_at));
    assert!(b.token > a.token, "tokens increase across the jump");
    second.ok(&format!("write {path} {} by-the-second", b.token));
    let refused = first.call(&format!("write {path} {} too-late", a.token)).expect_err("a stale write");
    assert_eq!(refused, ("REFUSED".into(), b.token.to_string()));
    assert_eq!(register.read(), (b.token, "by-the-second".into()));

    let loss: Loss = first.loss(SOON);
    assert!(between(jumped_at, loss.told_at) <= LEASE / 3 + slack(), "told at the next renewal: {loss:?}");
    assert_eq!(loss.reason, "taken");
    let overlap = check(&[hold("first", &a, loss.told_at), hold("second", &b, monotonic_us())]);
    assert!(matches!(overlap, Err(Violation::Overlap(..))), "the checker sees them: {overlap:?}");

    assert!(second.is_valid("job"));
    second.release("job");
    // and back again: what the token key remembers keeps them growing
    clock.advance(-HOUR);
    let c = first.acquire_after_a_loss("job");
    assert!(c.token > b.token, "tokens increase when the clock is back");
    first.release("job");
    assert!(!is_held(&server, "job"));
}

/// Every lease is an hour too long. Who lives mends it; so when that one dies its lease bounds the wait again.
#[test]
fn a_clock_an_hour_back_is_mended_and_keeps_no_waiter_out() {
    const LEASE: Duration = Duration::from_secs(2);
    let (server, clock) = Server::with_clock();
    let url = with_options(&server.url(), "lease=2s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    let first = holder.acquire("job");
    let waiting = waiter.start_acquire("job");
    wait_until_waiting(&server, "job");
    clock.advance(-HOUR);
    let ttl = || server.cmd(&["PTTL", "job"]).int();
    assert!(ttl() > ms(HOUR), "without mending it stays so for an hour");

    let mended = LEASE / 3 + slack();
    eventually(mended, "the holder mends it by its next renewal", || ttl() <= LEASE.as_millis() as i64);
    assert_eq!(holder.loss_within(LEASE), None, "nothing is lost");
    assert!(holder.is_valid("job"));

    holder.process().kill();
    let killed_at = monotonic_us();
    let second = waiter.granted(waiting, LEASE + POLL + slack());
    assert!(between(killed_at, second.acquired_at) <= LEASE + POLL + slack());
    assert!(second.token > first.token, "tokens increase though the clock went back");
    waiter.release("job");
    assert!(!is_held(&server, "job"));
}

/// The token key has to outlive the clock's way back to the last token.
#[test]
fn tokens_grow_after_a_clock_that_ran_ahead_is_set_right() {
    let (server, clock) = Server::with_clock();
    let mut peer = Peer::start(worker!(), &server.url());
    let mut take = || {
        let token = peer.acquire("job").token;
        peer.release("job");
        token
    };
    clock.advance(2 * HOUR);
    let ahead = take();
    clock.advance(-2 * HOUR);
    let mut last = take();
    assert!(last > ahead);
    let life = server.cmd(&["PTTL", "redisson_lock_token:{job}"]).int();
    assert!(life > ms(3 * HOUR) - 60_000, "the key lives token_ttl plus what it lies ahead, not {life} ms");
    // Longer than token_ttl without an acquire, until the clock is past the token and beyond.
    for _ in 0..4 {
        clock.advance(HOUR + HOUR / 60);
        let token = take();
        assert!(token > last, "{token} after {last}");
        last = token;
    }
    let life = server.cmd(&["PTTL", "redisson_lock_token:{job}"]).int();
    assert!(life <= ms(HOUR), "once the clock is past the token the key lives token_ttl again, not {life} ms");
}

/// The same at the moment of a hand-over: the waiter's timer must not believe in a lease of an hour.
#[test]
fn a_release_after_the_clock_went_back_wakes_the_waiter_as_ever() {
    let (server, clock) = Server::with_clock();
    let url = with_options(&server.url(), "lease=60s");
    let (mut holder, mut waiter) = (Peer::start(worker!(), &url), Peer::start(worker!(), &url));
    for _ in 0..3 {
        let first = holder.acquire("job");
        let waiting = waiter.start_acquire("job");
        wait_until_waiting(&server, "job");
        clock.advance(-HOUR);
        holder.release("job");
        let second = waiter.granted(waiting, POLL + slack());
        assert!(second.token > first.token);
        waiter.release("job");
        assert!(!is_held(&server, "job"));
    }
}

/// Holders and waiters count on a monotonic clock and on the server's; their own wall clock is nobody's business.
#[test]
fn a_jump_of_the_clients_wall_clock_changes_nothing() {
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::start();
    let url = with_options(&server.url(), "lease=2s");
    let dir = TempDir::new();
    let clock = ClockHandle::create(&dir.path().join("clock"));
    let mut odd = Peer::start_with(worker!(), &url, &clock.environment());
    let mut other = Peer::start(worker!(), &url);
    let mut last = 0;
    for step in [HOUR, -2 * HOUR, HOUR] {
        let wall = |peer: &mut Peer| peer.ok("wall-clock")[0].parse::<i64>().expect("us");
        let held = odd.acquire("job");
        assert!(held.token > last, "tokens are the server's");
        let waiting = other.start_acquire("job");
        wait_until_waiting(&server, "job");

        let before = wall(&mut odd);
        clock.advance(step);
        assert!((wall(&mut odd) - before).abs_diff(step) < 60_000_000, "its wall clock has jumped");
        assert_eq!(odd.loss_within(LEASE * 2), None, "renewed all the time, for two leases");
        assert!(odd.is_valid("job"));
        let ttl = server.cmd(&["PTTL", "job"]).int();
        assert!((1..=LEASE.as_millis() as i64).contains(&ttl), "{ttl}");
        odd.release("job");
        let second = other.granted(waiting, SOON);
        assert!(second.token > held.token);

        // and as the one who waits: its timers and its deadline
        let waiting = odd.request("acquire 2 job 700 0");
        wait_until_waiting(&server, "job");
        let asked_at = monotonic_us();
        clock.advance(-step);
        let (kind, _) = odd.answer(waiting, SOON).expect_err("it is held");
        assert_eq!(kind, "BUSY");
        assert!(between(asked_at, monotonic_us()) <= Duration::from_millis(700) + slack());
        let (called, _) = other.release("job");
        let third = odd.acquire("job");
        assert!(between(called, third.acquired_at) <= slack() + POLL);
        last = third.token;
        odd.release("job");
        clock.advance(step);
    }
}

/// The server's clock is slewed by as much as a time daemon does: a lease of the server's is over sooner than the client's
/// clock says. A holder that cannot reach the server stops believing before the server grants the lock to another.
fn a_slewed_clock(options: &str, lease: i64) {
    /// chrony's default limit.
    const FAST: i64 = 83_333;
    let (server, clock) = Server::with_clock();
    let proxy = Proxy::start(server.address());
    let (mut holder, mut waiter) = (
        Peer::start(worker!(), &with_options(&proxy.url(), options)),
        Peer::start(worker!(), &with_options(&server.url(), &format!("{options}&poll_interval=20ms"))),
    );
    clock.slew(FAST);
    let first = held(holder.call(&format!("acquire 1 job -1 {lease}")));
    let waiting = waiter.start_acquire("job");
    wait_until_waiting(&server, "job");
    proxy.hold_all();
    let second = waiter.granted(waiting, SOON);
    let loss = holder.loss(SOON);
    assert_eq!(loss.reason, "expired");
    let early = second.acquired_at - loss.told_at;
    assert!(early > 0, "granted {} ms before the holder was told", -early / 1_000);
    assert!(loss.valid_until < second.acquired_at, "valid for {} us more", loss.valid_until - second.acquired_at);
    assert!(second.token > first.token);
}

#[test]
fn a_slewed_clock_lets_nobody_in_before_a_renewed_lease_ends() {
    a_slewed_clock("lease=4s", 0);
}

#[test]
fn clock_drift_covers_a_slewed_clock_for_a_fixed_lease() {
    a_slewed_clock("clock_drift=9", 4_000);
}
