//! The server, or the way to it, is away for less than a lease, and for more.

use std::time::{Duration, Instant};

use libdlock::lease::{Grant, LossReason};
use libdlock::{Client, ErrorKind};
use libdlock_faults::{SOON, bounded, client, kind, slack, with_options};
use libdlock_testkit::{Proxy, Server, eventually, lateness};

const LEASE: Duration = Duration::from_secs(2);
const OPTIONS: &str = "lease=2s&response_timeout=300ms&ping_interval=500ms";

/// The two ways in which nothing answers and nothing is reset.
enum Fault {
    Stopped,
    BlackHole,
}

struct Setup {
    server: Server,
    proxy: Proxy,
    client: Client,
    fault: Fault,
}

impl Setup {
    async fn new(fault: Fault) -> Self {
        let server = Server::start();
        let proxy = Proxy::start(server.address());
        let client = client(&with_options(&proxy.url(), OPTIONS)).await;
        Self { server, proxy, client, fault }
    }

    fn begin(&self) {
        match self.fault {
            Fault::Stopped => self.server.pause(),
            Fault::BlackHole => self.proxy.hold_all(),
        }
    }

    fn end(&self) {
        match self.fault {
            Fault::Stopped => self.server.resume(),
            Fault::BlackHole => self.proxy.heal(),
        }
    }

    fn ttl(&self) -> i64 {
        self.server.cmd(&["PTTL", "job"]).int()
    }
}

/// Awaits the loss and returns how much of the hold was left when it was told.
async fn left_when_told(grant: &Grant) -> Duration {
    let told = bounded(LEASE + slack(), "it hears of the loss", async {
        let reason = grant.lost().await;
        (reason, grant.remaining(), grant.is_valid())
    });
    let (reason, left, valid) = told.await;
    assert_eq!(reason, Some(LossReason::Expired));
    assert_eq!(valid, !left.is_zero());
    left
}

async fn away_for_less_than_a_lease(fault: Fault) {
    let setup = Setup::new(fault).await;
    let lock = setup.client.lock("job").expect("a name");
    let held = lock.acquire().await.expect("acquire");
    setup.begin();
    // away until little is left: every renewal in between has failed
    eventually(LEASE, "most of the lease is over", || held.remaining() < Duration::from_millis(500));
    assert!(held.is_valid(), "suspended, and still held");
    setup.end();
    eventually(SOON, "a renewal has come through", || held.remaining() > LEASE * 3 / 4);
    assert_eq!(held.loss(), None);
    assert!(setup.ttl() > 1_000);
    held.release().await.expect("release");
    assert!(!libdlock_faults::is_held(&setup.server, "job"));
}

async fn away_for_more_than_a_lease(fault: Fault) {
    let setup = Setup::new(fault).await;
    let lock = setup.client.lock("job").expect("a name");
    let held = lock.acquire().await.expect("acquire");
    setup.begin();
    let left = left_when_told(&held).await;
    // told 25 ms before the end, so that it is delivered in time
    assert!(left > Duration::ZERO, "told after the end");
    assert!(left <= Duration::from_millis(50), "told {left:?} before the end: too early");
    eventually(SOON, "it ends", || !held.is_valid());
    setup.end();
    assert_eq!(held.loss(), Some(LossReason::Expired), "lost is final, also when the server is back");
    let again = bounded(SOON, "the lock is usable again", lock.acquire()).await.expect("acquire");
    assert!(again.token() > held.token());
    again.release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_stopped_for_less_than_a_lease_costs_no_lock() {
    away_for_less_than_a_lease(Fault::Stopped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_stopped_for_longer_costs_the_lock_just_in_time() {
    away_for_more_than_a_lease(Fault::Stopped).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_for_less_than_a_lease_costs_nobody_the_lock() {
    away_for_less_than_a_lease(Fault::BlackHole).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_black_hole_for_longer_costs_the_lock_just_in_time() {
    away_for_more_than_a_lease(Fault::BlackHole).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timed_acquire_into_a_black_hole_returns_at_its_deadline() {
    const WAIT: Duration = Duration::from_millis(700);
    let setup = Setup::new(Fault::BlackHole).await;
    let lock = setup.client.lock("job").expect("a name");
    setup.begin();
    for _ in 0..2 {
        let start = Instant::now();
        let refused = kind(lock.acquire_timeout(WAIT).await.map(drop));
        let took = start.elapsed();
        assert!(matches!(refused, ErrorKind::Busy | ErrorKind::Connection | ErrorKind::OutcomeUnknown), "{refused:?}");
        let early = WAIT.saturating_sub(took);
        let late = took.saturating_sub(WAIT);
        assert!(
            early <= Duration::from_millis(50) && late <= Duration::from_millis(50) + lateness(),
            "returned after {took:?} instead of {WAIT:?}"
        );
    }
    setup.end();
    eventually(SOON, "nothing is left of the attempts", || !libdlock_faults::is_held(&setup.server, "job"));
    bounded(SOON, "the lock can be had again", lock.acquire())
        .await
        .expect("acquire")
        .release()
        .await
        .expect("release");
}
