//! Answers of several servers that come late: from when a hold counts, and what becomes of a grant that nobody waits for.

use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, NAME, PATIENCE, Servers};
use libdlock::lease::Lease;
use libdlock::lock::{Lock, LockOptions};
use libdlock::{Client, ErrorKind};
use libdlock_testkit::{Action, Server, Side, eventually, lateness};

const SECOND: i64 = 1_000_000;

/// What a hold with a fixed lease is less valid for: 10 ms and 1 %.
fn margin(lease: Duration) -> Duration {
    Duration::from_millis(10) + lease / 100
}

fn fixed(client: &Client, lease: Duration) -> Lock {
    client.lock_with(NAME, LockOptions::default().lease(Lease::Fixed(lease))).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_valid_from_the_first_sending() {
    const LEASE: Duration = Duration::from_secs(5);
    const DELAY: Duration = Duration::from_millis(400);
    for side in [Side::Requests, Side::Replies] {
        let servers = Servers::start(3).behind_proxies();
        let client = servers.ready_client(&format!("{KEPT}&response_timeout=2s&operation_timeout=10s")).await;
        let lock = fixed(&client, LEASE);
        servers.ways.iter().for_each(|way| way.delay(side, DELAY));
        let called = Instant::now();
        let held = lock.try_acquire().await.unwrap().unwrap();
        let left = held.remaining();
        // Two rounds.
        assert!(left <= LEASE - margin(LEASE) - DELAY * 2, "{left:?}");
        assert!(left + called.elapsed() + Duration::from_millis(100) >= LEASE - margin(LEASE), "{left:?}, and no less");
        servers.ways.iter().for_each(|way| way.heal());
        held.release().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_answers_late_neither_delays_nor_lengthens() {
    const LEASE: Duration = Duration::from_secs(5);
    const DELAY: Duration = Duration::from_secs(1);
    for side in [Side::Requests, Side::Replies] {
        let servers = Servers::start(3).behind_proxies();
        let client = servers.ready_client(&format!("{KEPT}&response_timeout=2s&operation_timeout=10s")).await;
        let lock = fixed(&client, LEASE);
        servers.ways[0].delay(side, DELAY);
        let called = Instant::now();
        let held = lock.try_acquire().await.unwrap().unwrap();
        assert!(called.elapsed() < DELAY, "{:?}", called.elapsed());
        eventually(PATIENCE, "the late answer has come", || called.elapsed() > DELAY * 2);
        let left = held.remaining();
        // The call is a little older than the first sending.
        assert!(left <= LEASE - margin(LEASE) - DELAY * 2 + DELAY / 10, "{left:?}");
        held.release().await.unwrap();
        servers.nothing_is_left();
    }
}

/// A renewal counts from its sending, too.
#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_is_valid_from_its_sending() {
    const LEASE: Duration = Duration::from_secs(5);
    const DELAY: Duration = Duration::from_millis(400);
    let servers = Servers::start(3).behind_proxies();
    let client = servers.ready_client(&format!("{KEPT}&response_timeout=2s&operation_timeout=10s")).await;
    let held = fixed(&client, Duration::from_secs(3)).acquire().await.unwrap();
    servers.ways.iter().for_each(|way| way.delay(Side::Replies, DELAY));
    held.extend(LEASE).await.unwrap();
    let left = held.remaining();
    assert!(left <= LEASE - margin(LEASE) - DELAY, "{left:?}");
    assert!(left > Duration::from_secs(3), "it is extended: {left:?}");
    servers.ways.iter().for_each(|way| way.heal());
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_slower_than_its_lease_is_refused_and_released() {
    const LEASE: Duration = Duration::from_secs(2);
    let servers = Servers::start(3).behind_proxies();
    let client = servers.ready_client(&format!("{KEPT}&response_timeout=5s&operation_timeout=20s")).await;
    let lock = fixed(&client, LEASE);
    let slow = LEASE + Duration::from_millis(200);
    servers.ways.iter().for_each(|way| way.hold(Side::Requests));
    let called = Instant::now();
    let trying = tokio::spawn({
        let lock = lock.clone();
        async move { lock.try_acquire().await }
    });
    eventually(PATIENCE, "it takes too long", || called.elapsed() > slow);
    servers.ways.iter().for_each(|way| way.heal());
    let granted = Instant::now();
    let refused = trying.await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection, "{refused}");
    assert!(refused.message().contains("ask for a longer lease"), "{refused}");
    assert!(servers.tokens().iter().all(Option::is_some), "it was granted");
    eventually(PATIENCE, "the grants are given back", || servers.fields() == 0);
    assert!(granted.elapsed() < LEASE, "by a release, and not by the end of the lease");
    let held = lock.try_acquire().await.unwrap().expect("it is free");
    held.release().await.unwrap();
}

/// The clocks of three servers are set back while they stand still, so that what was asked of them is not void when they go on.
#[tokio::test(flavor = "multi_thread")]
async fn grants_that_come_late_are_undone() {
    let servers = Servers::with_clocks(&[0; 5]);
    let client = servers.ready_client(KEPT).await;
    let lock = client.lock(NAME).unwrap();
    servers.servers[..3].iter().for_each(|server| server.pause());
    assert!(lock.try_acquire().await.is_err());
    for server in &servers.servers[..3] {
        server.clock().advance(-60 * SECOND);
        server.resume();
    }
    eventually(PATIENCE, "they have granted it", || servers.tokens().iter().all(Option::is_some));
    // Far below the lease of 30 s.
    eventually(Duration::from_secs(10), "the late grants are undone", || servers.fields() == 0);
    servers.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_arrives_when_it_is_void_grants_nothing() {
    let servers = Servers::start(5);
    let client = servers.ready_client(KEPT).await;
    let lock = client.lock(NAME).unwrap();
    let calls = |at: usize| servers.servers[at].info("commandstats", "cmdstat_evalsha:calls");
    let before = [0, 1, 2].map(calls);
    servers.servers[..3].iter().for_each(|server| server.pause());
    let called = Instant::now();
    assert!(lock.try_acquire().await.is_err());
    // `response_timeout`, by which a request is void, and what the client may be late with.
    eventually(PATIENCE, "the request is void", || called.elapsed() > Duration::from_millis(500));
    servers.servers[..3].iter().for_each(|server| server.resume());
    eventually(PATIENCE, "it has arrived", || (0..3).all(|at| calls(at) > before[at]));
    servers.nothing_is_left();
    assert_eq!(servers.tokens()[..3], [None; 3], "and nothing was granted");
}

/// The request overtakes nothing: it is held back in the network while its connection is replaced and the attempt is undone.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_arrives_after_its_undoing_is_undone_again() {
    let servers = Servers::start(5).behind_proxies();
    let client = servers.ready_client(&format!("{KEPT}&response_timeout=2s&operation_timeout=8s")).await;
    let lock = client.lock(NAME).unwrap();
    let late = &servers.ways[..3];
    let held_back: Vec<_> = late.iter().map(|way| way.on(&[NAME], Action::HoldRequest)).collect();
    let undone: Vec<_> = late.iter().map(|way| way.on_each(&[NAME], Action::Pass)).collect();
    let trying = tokio::spawn(async move { lock.try_acquire().await });
    held_back.iter().for_each(|held_back| held_back.expect(PATIENCE));
    let sent = Instant::now();
    late.iter().for_each(|way| way.forsake_clients());
    let refused = trying.await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection, "{refused}");
    undone.iter().for_each(|undone| undone.expect(PATIENCE));
    assert!(servers.fields() == 0 && servers.tokens()[..3] == [None; 3], "nothing has arrived so far");
    held_back.iter().for_each(|held_back| held_back.let_go());
    eventually(PATIENCE, "they grant it", || servers.tokens().iter().all(Option::is_some));
    assert!(sent.elapsed() < Duration::from_secs(2), "too slow a machine for this test: {:?}", sent.elapsed());
    // Far below the lease of 30 s.
    eventually(Duration::from_secs(10), "the late grants are undone", || servers.fields() == 0);
}

/// A caller that goes away leaves nothing behind, whatever its attempt has come to.
#[tokio::test(flavor = "multi_thread")]
async fn an_attempt_whose_caller_has_gone_leaves_nothing() {
    let servers = Servers::start(5).behind_proxies();
    let client = servers.ready_client(KEPT).await;
    for delay in [0, 1, 2, 5, 10, 20] {
        servers.ways.iter().for_each(|way| way.delay(Side::Replies, Duration::from_millis(delay)));
        for after in [0, 1, 2, 3, 5, 8, 13, 21, 34, 55] {
            let lock = client.lock(NAME).unwrap();
            let within = Duration::from_millis(after);
            // Dropped in the middle, or granted and dropped.
            drop(tokio::time::timeout(within, lock.acquire()).await);
        }
    }
    servers.ways.iter().for_each(|way| way.heal());
    eventually(PATIENCE, "no server has it", || servers.fields() == 0);
    let held = client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    held.release().await.unwrap();
    servers.nothing_is_left();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_ends_in_time_while_a_majority_stands_still() {
    let servers = Servers::start(5);
    let client = servers.ready_client(&format!("{KEPT}&response_timeout=1s")).await;
    let lock = client.lock(NAME).unwrap();
    servers.servers[..3].iter().for_each(|server| server.pause());
    for wait in [50, 400, 1_500, 2_500].map(Duration::from_millis) {
        let called = Instant::now();
        let refused = lock.acquire_timeout(wait).await.unwrap_err();
        let took = called.elapsed();
        assert!(took >= wait && took < wait + Duration::from_millis(250), "{took:?} for {wait:?}: {refused}");
    }
    servers.servers[..3].iter().for_each(|server| server.resume());
    lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    servers.nothing_is_left();
}

/// What is still under way at servers that do not answer holds up no closing.
#[tokio::test(flavor = "multi_thread")]
async fn closing_does_not_wait_for_servers_that_stand_still() {
    let servers = Servers::start(5);
    for still in [2, 3] {
        let client = servers.ready_client(&format!("{KEPT}&response_timeout=1s")).await;
        let held = client.lock(&format!("{NAME}-{still}")).unwrap().acquire().await.unwrap();
        servers.servers[..still].iter().for_each(|server| server.pause());
        let other = client.lock(&format!("other-{still}")).unwrap().try_acquire().await;
        assert_eq!(other.is_ok(), still == 2, "{other:?}");
        let called = Instant::now();
        client.close().await;
        assert!(called.elapsed() < Duration::from_millis(500) + lateness(), "{:?}", called.elapsed());
        assert!(!held.is_valid());
        servers.servers[..still].iter().for_each(|server| server.resume());
    }
}

/// A server that has not seen the scripts, or is just connected again, may carry out a request after its undoing.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_grant_that_was_answered_is_undone_too() {
    let servers = Servers::start(3);
    let client = servers.ready_client(KEPT).await;
    let lock = client.lock(NAME).unwrap();
    for _ in 0..10 {
        servers.servers[2].cmd(&["SCRIPT", "FLUSH"]);
        servers.servers[2].pause();
        lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
        servers.servers[2].resume();
        // Far below the lease of 30 s.
        eventually(Duration::from_secs(5), "nothing is left", || servers.fields() == 0);
    }
}

/// As it says: a request that arrives late is undone before closing is over.
#[tokio::test(flavor = "multi_thread")]
async fn closing_with_a_release_waits_for_late_grants() {
    let servers = Servers::start(5);
    for _ in 0..5 {
        let client = servers.ready_client(KEPT).await;
        servers.servers[..2].iter().for_each(|server| server.pause());
        client.lock(NAME).unwrap().acquire().await.unwrap().release().await.unwrap();
        assert!(client.lock(NAME).unwrap().try_acquire().await.unwrap().is_some());
        let closing = tokio::spawn(async move { client.close_releasing().await });
        servers.servers[..2].iter().for_each(|server| server.resume());
        closing.await.unwrap().unwrap();
        assert_eq!(servers.fields(), 0);
    }
}

/// Within `operation_timeout`, as with one server.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_rides_over_a_moment_without_a_majority() {
    let servers = Servers::start(3);
    let client = servers.ready_client(&format!("{KEPT}&operation_timeout=10s")).await;
    for _ in 0..3 {
        let held = client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
        servers.servers[..2].iter().for_each(Server::pause);
        let resuming = async {
            // Longer than one request may take.
            tokio::time::sleep(Duration::from_millis(700)).await;
            servers.servers[..2].iter().for_each(Server::resume);
        };
        tokio::join!(held.release(), resuming).0.unwrap();
        servers.nothing_is_left();
    }
}
