//! Callers whose grants wait for replicas (option `replicas`): many at once, those that leave or wait, and a primary that fails.

use std::time::{Duration, Instant};

use libdlock::{Client, ErrorKind};
use libdlock_faults::replicas::{TICK, TIMEOUT, assert_short, each_replica, next_wait, requiring};
use libdlock_faults::{SOON, bounded, client, is_held, kind, slack, wait_until_waiting, with_options};
use libdlock_testkit::{Action, Proxy, Replicated, Server, eventually};
use tokio::task::JoinSet;

/// A primary with one replica, behind a proxy, and a client whose grants need the replica.
struct Setup {
    servers: Replicated,
    proxy: Proxy,
    client: Client,
}

impl Setup {
    async fn new() -> Setup {
        Setup::with("replica_timeout=1s").await
    }

    /// The lease outlasts every test: what is free was released.
    async fn with(options: &str) -> Setup {
        let servers = Replicated::start(1);
        let proxy = Proxy::start(servers.primary.address());
        let options = format!("replicas=1&lease=60s&poll_interval=30s&{options}");
        let client = client(&with_options(&proxy.url(), &options)).await;
        client.lock("warm").unwrap().acquire().await.unwrap().release().await.unwrap();
        Setup { servers, proxy, client }
    }

    /// Stops the replica, and has a caller acquire: returns when that was granted and waits for the replica.
    async fn stuck<T: Send + 'static>(
        &self,
        caller: impl Future<Output = T> + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        each_replica(&self.servers, Server::pause);
        let wait = next_wait(&self.proxy);
        let caller = tokio::spawn(caller);
        tokio::task::block_in_place(|| wait.expect(SOON));
        assert!(self.is_held(), "granted");
        caller
    }

    fn is_held(&self) -> bool {
        is_held(&self.servers.primary, "job")
    }
}

/// All names are asked for at once: a few WAITs serve them, on a few connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_callers_share_eight_connections() {
    const CALLERS: usize = 64;
    let setup = Setup::new().await;
    let all_at_once = || {
        let mut callers = JoinSet::new();
        for number in 0..CALLERS {
            let lock = setup.client.lock(&format!("job-{number}")).unwrap();
            callers.spawn(async move { lock.acquire().await });
        }
        bounded(SOON, "all are told", callers.join_all())
    };
    for held in all_at_once().await {
        held.unwrap().release().await.unwrap();
    }
    each_replica(&setup.servers, Server::pause);
    let (before, waits) = (setup.proxy.open(), setup.proxy.on_each(&["dlock_replicas"], Action::Pass));
    let begun = Instant::now();
    let told = all_at_once().await;
    let took = begun.elapsed();
    // One more eighth of the time, for those that came after the first batch was sent.
    assert!(took < TIMEOUT + TIMEOUT / 8 + TICK + slack() * 2, "{took:?}");
    for told in told {
        assert_eq!(kind(told), ErrorKind::Server);
    }
    assert!(waits.hits() <= 8 && waits.connections() <= 8, "{} on {}", waits.hits(), waits.connections());
    assert!(setup.proxy.open() <= before + 8, "{} after {before}", setup.proxy.open());
    let keys = setup.servers.primary.keys();
    assert!(!keys.iter().any(|key| key.starts_with("job-")), "all were released: {keys:?}");
    each_replica(&setup.servers, Server::resume);
    for held in all_at_once().await {
        held.unwrap().release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_hangs_delays_no_caller_by_another() {
    let setup = Setup::new().await;
    let lock = setup.client.lock("job").unwrap();
    let first = setup.stuck(async move { lock.acquire().await }).await;
    tokio::time::sleep(TIMEOUT / 4).await;
    let begun = Instant::now();
    let lock = setup.client.lock("another").unwrap();
    bounded(SOON, "told", lock.acquire()).await.expect_err("the replica is stopped");
    assert!(begun.elapsed() < TIMEOUT + TICK + slack(), "{:?}", begun.elapsed());
    assert_eq!(kind(bounded(SOON, "told", first).await.unwrap()), ErrorKind::Server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_leaves_during_the_count_keeps_nothing() {
    let setup = Setup::new().await;
    // Whoever stands in line in the same process when the refusal arrives is told with the caller that left.
    let other = client(&setup.servers.primary.url()).await.lock("job").unwrap();
    for replicas_come_back in [false, true] {
        let lock = setup.client.lock("job").unwrap();
        let caller = setup.stuck(async move { lock.acquire().await }).await;
        caller.abort();
        assert!(bounded(SOON, "gone", caller).await.unwrap_err().is_cancelled());
        if replicas_come_back {
            each_replica(&setup.servers, Server::resume);
        }
        eventually(SOON, "the grant is released", || !setup.is_held());
        each_replica(&setup.servers, Server::resume);
        bounded(SOON, "free", other.acquire()).await.unwrap().release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_closes_during_the_count_does_not_wait() {
    let setup = Setup::with("replica_timeout=10s").await;
    let lock = setup.client.lock("job").unwrap();
    let caller = setup.stuck(async move { lock.acquire().await }).await;
    let begun = Instant::now();
    bounded(SOON, "closed", setup.client.close_releasing()).await.unwrap();
    assert_eq!(kind(bounded(SOON, "told", caller).await.unwrap()), ErrorKind::Closed);
    // Far less than the ten seconds of the WAIT.
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(!setup.is_held(), "the grant is released");
    eventually(SOON, "no connection is left", || setup.proxy.open() == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closed_client_has_no_connection_left_for_counting() {
    let setup = Setup::new().await;
    assert!(setup.proxy.open() > 0);
    setup.client.close().await;
    eventually(SOON, "none is left", || setup.proxy.open() == 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_shorter_than_the_replica_timeout_ends_in_time() {
    const WAIT: Duration = Duration::from_millis(300);
    let setup = Setup::with("replica_timeout=2s").await;
    let lock = setup.client.lock("job").unwrap();
    let begun = Instant::now();
    let caller = setup.stuck(async move { lock.acquire_timeout(WAIT).await }).await;
    let error = bounded(SOON, "told", caller).await.unwrap().expect_err("the replica is stopped");
    assert!(begun.elapsed() < WAIT + slack(), "{:?}", begun.elapsed());
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    assert!(error.message().starts_with("granted, but not yet confirmed by 1 replica (option replicas)"), "{error}");
    eventually(SOON, "the grant is released", || !setup.is_held());
}

/// The next in line may need no replicas.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_that_does_not_count_goes_to_the_next_waiter() {
    let setup = Setup::new().await;
    let plain = client(&with_options(&setup.proxy.url(), "poll_interval=30s&lease=60s")).await;
    let lock = setup.client.lock("job").unwrap();
    let first = setup.stuck(async move { lock.acquire().await }).await;
    let lock = plain.lock("job").unwrap();
    let next = tokio::spawn(async move { lock.acquire().await });
    tokio::task::block_in_place(|| wait_until_waiting(&setup.servers.primary, "job"));
    let error = bounded(SOON, "told", first).await.unwrap().expect_err("the replica is stopped");
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    // Far less than a poll.
    bounded(SOON, "woken", next).await.unwrap().unwrap().release().await.unwrap();
}

/// All callers of the process that wait for the name are told: the next attempt would fail for the same reason.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_of_the_process_are_told_with_the_first() {
    let setup = Setup::new().await;
    let holder = client(&setup.servers.primary.url()).await;
    let held = holder.lock("job").unwrap().acquire().await.unwrap();
    let mut waiters = JoinSet::new();
    for _ in 0..4 {
        let lock = setup.client.lock("job").unwrap();
        waiters.spawn(async move { lock.acquire_timeout(SOON * 2).await });
    }
    eventually(SOON, "all wait", || setup.client.stats().lock.waiting == 4);
    each_replica(&setup.servers, Server::pause);
    held.release().await.unwrap();
    let begun = Instant::now();
    for told in bounded(SOON, "all are told", waiters.join_all()).await {
        assert_short(&told.expect_err("the replica is stopped"), "job", "no replica", 1, &setup.servers.primary);
    }
    assert!(begun.elapsed() < TIMEOUT * 2, "{:?}", begun.elapsed());
}

/// What the error must not say is that nothing is held: the server may still show the hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unconfirmed_release_is_told_and_made_up_for() {
    let setup = Setup::with("replica_timeout=1s&operation_timeout=500ms&response_timeout=200ms").await;
    let lock = setup.client.lock("job").unwrap();
    let caller = setup.stuck(async move { lock.try_acquire().await }).await;
    // None of them reaches the server, not even later.
    let releases = setup.proxy.on_each(&["EVALSHA", "job"], Action::Refuse);
    let error = bounded(SOON, "told", caller).await.unwrap().expect_err("the replica is stopped");
    assert!(releases.hits() > 0);
    assert_eq!(error.kind(), ErrorKind::OutcomeUnknown, "{error}");
    assert!(error.message().contains("no replica had the grant within 1s"), "{error}");
    assert!(error.message().contains("the release of the grant was not confirmed ("), "{error}");
    assert!(setup.is_held(), "the server still shows it");
    setup.proxy.heal();
    eventually(SOON, "it is released in the background", || !setup.is_held());
}

/// The primary hangs while replicas are counted: a caller that waits has the lock when the primary is back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timed_wait_outlasts_a_primary_that_hangs_in_a_wait() {
    let setup = Setup::with("replica_timeout=1s&operation_timeout=1s&response_timeout=200ms").await;
    let (timed, once) = (setup.client.lock("job").unwrap(), setup.client.lock("job-once").unwrap());
    let caller = setup.stuck(async move { timed.acquire_timeout(SOON * 2).await }).await;
    setup.servers.primary.pause();
    let error = bounded(SOON, "told", once.try_acquire()).await.expect_err("the primary hangs");
    assert!([ErrorKind::Connection, ErrorKind::OutcomeUnknown].contains(&error.kind()), "{error}");
    tokio::time::sleep(TIMEOUT + Duration::from_millis(500)).await;
    assert!(!caller.is_finished());
    setup.servers.primary.resume();
    each_replica(&setup.servers, Server::resume);
    bounded(SOON * 2, "acquired", caller).await.unwrap().unwrap().release().await.unwrap();
    eventually(SOON, "nothing is left", || !setup.is_held() && !is_held(&setup.servers.primary, "job-once"));
}

/// Inside a process a lock is handed on without the server, so there is nothing to count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hand_over_in_the_process_counts_no_replicas() {
    let setup = Setup::with("replica_timeout=1s&cohort_age=10s").await;
    let waits = setup.proxy.on_each(&["dlock_replicas"], Action::Pass);
    let held = setup.client.lock("job").unwrap().acquire().await.unwrap();
    let mut waiters = JoinSet::new();
    for _ in 0..2 {
        let lock = setup.client.lock("job").unwrap();
        waiters.spawn(async move { lock.acquire().await.unwrap().release().await });
    }
    eventually(SOON, "both wait", || setup.client.stats().lock.waiting == 2);
    held.release().await.unwrap();
    for released in bounded(SOON, "both have had it", waiters.join_all()).await {
        released.unwrap();
    }
    // For the first holder, and for the first of the waiters.
    assert_eq!(waits.hits(), 2);
}

/// An idle connection that the server closed is replaced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_closed_while_idle_costs_no_grant() {
    let servers = Replicated::start(1);
    let client = requiring(1, &servers.primary.url()).await;
    let lock = client.lock("job").unwrap();
    for _ in 0..5 {
        bounded(SOON, "acquired", lock.acquire()).await.unwrap().release().await.unwrap();
        servers.primary.cmd(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    }
    bounded(SOON, "acquired", lock.acquire()).await.unwrap().release().await.unwrap();
}

/// Else each client of a fleet would keep eight for ever after its replica has hung once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_of_a_bad_time_are_closed_after_it() {
    let setup = Setup::with("replica_timeout=1s&ping_interval=1s").await;
    let lock = |number: usize| setup.client.lock(&format!("job-{number}")).unwrap();
    let before = setup.proxy.open();
    each_replica(&setup.servers, Server::pause);
    let mut callers = JoinSet::new();
    for number in 0..8 {
        let lock = lock(number);
        callers.spawn(async move { lock.acquire().await });
        tokio::time::sleep(TIMEOUT / 7).await;
    }
    assert!(setup.proxy.open() > before + 4, "{} after {before}", setup.proxy.open());
    for told in bounded(SOON, "all are told", callers.join_all()).await {
        assert_eq!(kind(told), ErrorKind::Server);
    }
    each_replica(&setup.servers, Server::resume);
    eventually(SOON, "those that are not needed are closed", || {
        let held = tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(lock(0).acquire()));
        drop(held.unwrap());
        setup.proxy.open() <= before
    });
}
