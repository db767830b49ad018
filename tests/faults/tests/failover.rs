//! The primary dies and a replica takes over that has not heard of everything. What the first holder was
//! granted is gone; the token is what is left to tell the two apart.

use std::time::Duration;

use libdlock_faults::{Peer, SOON, is_held, slack, wait_until_waiting, with_options, worker};
use libdlock_testkit::{Proxy, Server, eventually, resource::Register, temp::TempDir, wait::monotonic_us};

const LEASE: Duration = Duration::from_secs(6);
const OPTIONS: &str = "lease=6s&response_timeout=500ms";
/// A waiter asks every second, up to 20 % later.
const POLL: Duration = Duration::from_millis(1_200);
/// Until a client whose connection broke has another: it tries again after a moment, and not yet the longest.
const REDIAL: Duration = Duration::from_millis(500);

/// A primary, its replica, the clients' way to whichever of them is in charge, and the replica's way to the primary.
struct Pair {
    primary: Server,
    replica: Server,
    clients: Proxy,
    stream: Proxy,
}

impl Pair {
    fn start() -> Self {
        let primary = Server::options().args(&["--repl-diskless-sync-delay", "0"]).start();
        let stream = Proxy::start(primary.address());
        let replica = Server::start();
        let port = stream.address().port().to_string();
        assert_eq!(replica.cmd(&["REPLICAOF", "127.0.0.1", &port]).text(), "OK");
        eventually(SOON * 2, "the replica follows", || {
            replica.cmd(&["INFO", "replication"]).text().contains("master_link_status:up")
        });
        let clients = Proxy::start(primary.address());
        Self { primary, replica, clients, stream }
    }

    fn url(&self) -> String {
        with_options(&self.clients.url(), OPTIONS)
    }

    /// The primary dies; the replica is promoted as it is and the clients are led to it.
    fn fail_over(&mut self) -> i64 {
        self.primary.stop();
        self.stream.reset_all();
        assert_eq!(self.replica.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
        self.clients.point_at(self.replica.address());
        self.clients.reset_all();
        monotonic_us()
    }
}

fn between(from: i64, to: i64) -> Duration {
    Duration::from_micros((to - from).max(0) as u64)
}

#[test]
fn after_a_failover_that_lost_the_grant_the_first_holder_knows() {
    let mut pair = Pair::start();
    let (mut first, mut second) = (Peer::start(worker!(), &pair.url()), Peer::start(worker!(), &pair.url()));
    let dir = TempDir::new();
    let register = Register::create(&dir.path().join("register"));
    let path = dir.path().join("register").display().to_string();

    // the replica has heard of an earlier hold, its token and its end, and of nothing since
    let early = second.acquire("job");
    second.release("job");
    eventually(SOON, "the replica has the token", || {
        let token = pair.replica.cmd(&["GET", "redisson_lock_token:{job}"]);
        !token.is_nil() && token.int() as u64 == early.token && !is_held(&pair.replica, "job")
    });
    pair.stream.hold_all();
    let a = first.acquire("job");
    first.ok(&format!("write {path} {} by-the-first", a.token));
    let waiting = second.start_acquire("job");
    wait_until_waiting(&pair.primary, "job");
    assert!(!is_held(&pair.replica, "job"), "it is stale");
    let failed_at = pair.fail_over();

    let b = second.granted(waiting, SOON);
    let waited = between(failed_at, b.acquired_at);
    assert!(waited <= POLL + REDIAL + slack(), "the waiter had the lock after {waited:?}");
    assert!(b.token > a.token && a.token > early.token, "tokens increase across the failover");
    second.ok(&format!("write {path} {} by-the-second", b.token));
    first.call(&format!("write {path} {} too-late", a.token)).expect_err("a stale write");
    assert_eq!(register.read(), (b.token, "by-the-second".into()));

    let loss = first.loss(SOON);
    let told = between(failed_at, loss.told_at);
    assert!(told <= LEASE / 3 + REDIAL + slack(), "the first holder knew after {told:?}");
    assert!(["taken", "server_changed"].contains(&loss.reason.as_str()), "{loss:?}");
    let (kind, _) = first.call("release 1 job").expect_err("it has nothing to release");
    assert!(kind == "NOT_HELD" || kind == "LOST", "{kind}");
    assert!(second.is_valid("job"), "and touches nothing of the second's");
    second.release("job");
    assert!(!is_held(&pair.replica, "job"));
}

#[test]
fn after_a_failover_that_lost_nothing_the_holder_holds_on() {
    let mut pair = Pair::start();
    let (mut first, mut second) = (Peer::start(worker!(), &pair.url()), Peer::start(worker!(), &pair.url()));
    let a = first.acquire("job");
    let waiting = second.start_acquire("job");
    wait_until_waiting(&pair.primary, "job");
    eventually(SOON, "the replica has heard of it", || is_held(&pair.replica, "job"));
    pair.fail_over();

    assert_eq!(second.answer_within(waiting, LEASE), None, "for a whole lease: the promoted server was told renewals");
    assert_eq!(first.loss_within(Duration::ZERO), None);
    assert!(first.is_valid("job"));
    let (called, _) = first.release("job");
    let b = second.granted(waiting, SOON);
    assert!(between(called, b.acquired_at) <= POLL + slack());
    assert!(b.token > a.token);
    second.release("job");
    assert!(!is_held(&pair.replica, "job"));
}
