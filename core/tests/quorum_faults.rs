//! Servers of a lock on several that are killed, stopped, emptied or cut off: any two of five, and never two holders.

use std::time::{Duration, Instant};

use crate::common::quorum::{
    Fault, Fleet, KEPT, NAME, PATIENCE, SHORT, Servers, counts_again, has_field, last_token, uptime,
};
use libdlock::lease::{Lease, LossReason};
use libdlock::lock::{Lock, LockOptions};
use libdlock_testkit::server::Data;
use libdlock_testkit::{Server, eventually};

/// Each kind of fault beside each, and each pair of the servers.
#[tokio::test(flavor = "multi_thread")]
async fn any_two_of_five_servers_may_fail_in_any_way() {
    let mut servers = Servers::start(5).behind_proxies();
    servers.servers.iter().for_each(counts_again);
    // Some holds outlast a lease, and a fault.
    let mut number = 0;
    let holds = move || {
        number += 1;
        Duration::from_millis(if number % 40 == 0 { 1_500 } else { 1 })
    };
    let fleet = Fleet::start(&servers.url(SHORT), 3, holds).await;
    let pairs = (0..5).flat_map(|one| (one + 1..5).map(move |other| (one, other)));
    let kinds =
        Fault::ALL.iter().enumerate().flat_map(|(at, one)| Fault::ALL[at..].iter().map(move |other| (one, other)));
    let (pairs, kinds): (Vec<_>, Vec<_>) = (pairs.collect(), kinds.collect());
    assert_eq!((pairs.len(), kinds.len()), (10, 10));
    for (pair, kind) in pairs.into_iter().zip(kinds) {
        let both = [(pair.0, *kind.0), (pair.1, *kind.1)];
        for (at, fault) in both {
            fault.begin(&mut servers, at);
        }
        fleet.goes_on(20, &format!("while {both:?}"));
        for (at, fault) in both {
            fault.end(&mut servers, at);
        }
        fleet.goes_on(5, &format!("after {both:?}"));
        servers.servers.iter().for_each(counts_again);
    }
    fleet.end(&servers).await;
}

/// Two leases long, with each kind of fault at two of five.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_outlives_any_two_servers() {
    let mut servers = Servers::start(5).behind_proxies();
    let counts = |server: &Server| eventually(PATIENCE, "it counts", || uptime(server) > 3);
    servers.servers.iter().for_each(counts);
    let client = servers.client("lease=2s&longest_lease=2s").await;
    let held = client.lock(NAME).unwrap().acquire().await.unwrap();
    for (round, fault) in Fault::ALL.into_iter().enumerate() {
        let both = [round % 5, (round + 2) % 5];
        both.iter().for_each(|at| fault.begin(&mut servers, *at));
        let began = Instant::now();
        eventually(PATIENCE, "two leases are over", || {
            assert!(held.is_valid(), "lost with {fault:?} at {both:?}, after {:?}", began.elapsed());
            began.elapsed() > Duration::from_secs(4)
        });
        both.iter().for_each(|at| fault.end(&mut servers, *at));
        servers.servers.iter().for_each(counts);
        eventually(PATIENCE, "they have it again", || servers.fields() == 5);
    }
    held.release().await.unwrap();
    servers.nothing_is_left();
}

/// By its timer, and not by any answer; when the servers go on sooner, nothing is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_without_a_majority_knows_before_its_hold_ends() {
    for fault in [Fault::Paused, Fault::CutOff] {
        let mut servers = Servers::start(5).behind_proxies();
        let client = servers.ready_client(&format!("{KEPT}&lease=2s")).await;
        let held = client.lock(NAME).unwrap().acquire().await.unwrap();
        (0..3).for_each(|at| fault.begin(&mut servers, at));
        tokio::time::sleep(Duration::from_secs(1)).await;
        (0..3).for_each(|at| fault.end(&mut servers, at));
        let began = Instant::now();
        eventually(PATIENCE, "a lease is over", || {
            assert!(held.is_valid(), "{fault:?} for half a lease");
            began.elapsed() > Duration::from_secs(2)
        });
        (0..3).for_each(|at| fault.begin(&mut servers, at));
        let reason = tokio::time::timeout(PATIENCE, held.lost()).await.expect("it is told");
        assert_eq!(reason, Some(LossReason::Expired), "{fault:?}");
        let left = held.remaining();
        assert!(left <= Duration::from_millis(50), "told {left:?} before the end");
        (0..3).for_each(|at| fault.end(&mut servers, at));
        let next = client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
        assert!(!held.is_valid() && next.token() > held.token());
        next.release().await.unwrap();
        let _ = held.release().await;
        servers.nothing_is_left();
    }
}

/// They keep what they have: a lock that was free before is free after.
#[tokio::test(flavor = "multi_thread")]
async fn tokens_grow_while_servers_stand_still_by_turns() {
    let servers = Servers::start(5);
    let _known = servers.ready_client(KEPT).await;
    let fleet = Fleet::start(&servers.url(KEPT), 3, || Duration::from_millis(1)).await;
    for round in 0..15 {
        let (one, other) = (&servers.servers[round % 5], &servers.servers[(round * 2 + 1) % 5]);
        one.pause();
        other.pause();
        fleet.goes_on(10, "while two stand still");
        one.resume();
        other.resume();
        fleet.goes_on(5, "after two stood still");
    }
    fleet.end(&servers).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_outlives_restarts_one_after_another() {
    let mut servers = Servers::start(3);
    let client = servers.client("lease=2s&longest_lease=2s").await;
    let held = client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    for number in 0..3 {
        servers.servers[number].restart(Data::Lost);
        eventually(PATIENCE, "the lock is taken again", || servers.fields() == 3);
        let known = last_token(&servers.servers[number]);
        assert!(known.is_some_and(|known| known >= held.token()), "its token is written there: {known:?}");
        // Until it counts again.
        eventually(PATIENCE, "it counts again", || uptime(&servers.servers[number]) > 3);
        assert!(held.is_valid());
    }
    held.release().await.unwrap();
    servers.nothing_is_left();
}

fn fixed(client: &libdlock::Client, lease: Duration) -> Lock {
    client.lock_with(NAME, LockOptions::default().lease(Lease::Fixed(lease))).unwrap()
}

/// The holder has two servers of three. One of them forgets it, and the third never knew of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_forgot_a_holder_grants_nobody_its_lock() {
    const LEASE: Duration = Duration::from_secs(3);
    let mut servers = Servers::start(3);
    let options = "lease=3s&longest_lease=3s";
    let (one, other) = (servers.client(options).await, servers.client(options).await);
    let early = fixed(&one, LEASE).try_acquire().await.unwrap_err();
    assert!(early.message().contains("does not count yet"), "{early}");
    // More than `longest_lease` and 1 s.
    servers.servers.iter().for_each(|server| eventually(PATIENCE, "it counts", || uptime(server) > 4));
    servers.servers[2].pause();
    let held = fixed(&one, LEASE).acquire_timeout(PATIENCE).await.unwrap();
    let began = Instant::now();
    // What it was asked comes too late for it now.
    eventually(PATIENCE, "the request is void", || began.elapsed() > Duration::from_millis(400));
    servers.servers[2].resume();
    servers.servers[1].restart(Data::Lost);
    let restarted = Instant::now();
    let holders = servers.servers.iter().filter(|server| has_field(server)).count();
    assert_eq!(holders, 1, "nothing is renewed");
    let lock = fixed(&other, LEASE);
    let refused = lock.try_acquire().await;
    assert!(!matches!(refused, Ok(Some(_))), "{refused:?}");
    let next = lock.acquire_timeout(PATIENCE).await.unwrap();
    assert!(!held.is_valid(), "two holders");
    assert!(next.token() > held.token());
    // By the two that had not restarted, as soon as the lease is over: nobody waits for the one that has.
    assert!(restarted.elapsed() < Duration::from_secs(4), "{:?}", restarted.elapsed());
    next.release().await.unwrap();
    let _ = held.release().await;
    servers.nothing_is_left();
}

/// A fleet whose servers have all lost power.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_all_restarted_grant_after_the_longest_lease() {
    let mut servers = Servers::start(3);
    servers.servers.iter().for_each(counts_again);
    let (one, other) = (servers.client(SHORT).await, servers.client(SHORT).await);
    let held = fixed(&one, Duration::from_secs(1)).acquire().await.unwrap();
    for server in &mut servers.servers {
        server.restart(Data::Lost);
    }
    let restarted = Instant::now();
    let next = fixed(&other, Duration::from_secs(1)).acquire_timeout(PATIENCE).await.unwrap();
    assert!(restarted.elapsed() > Duration::from_secs(1), "{:?}", restarted.elapsed());
    assert!(!held.is_valid());
    next.release().await.unwrap();
}

/// The same where their data is known to survive, as it does here.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_keep_their_data_count_at_once() {
    let durable = || Server::options().args(&["--appendonly", "yes", "--appendfsync", "always"]).start();
    let mut servers = Servers::of((0..3).map(|_| durable()).collect());
    let (one, other) = (servers.client(KEPT).await, servers.client(KEPT).await);
    let held = one.lock(NAME).unwrap().acquire().await.unwrap();
    for server in &mut servers.servers {
        server.stop();
        server.start_again();
    }
    assert_eq!(servers.fields(), 3, "its data has survived");
    let lock = other.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.is_ok_and(|held| held.is_none()), "it is held");
    // Its client has found them again.
    one.lock("another").unwrap().acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    assert!(held.is_valid());
    servers.is_handed_on(held, &lock).await;
}

/// What an attempt of another client has at such a server for a moment says nothing about the hold.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_restarted_takes_no_hold_away() {
    const OTHER: &str = "11111111-2222-8333-8444-555555555555:1";
    let mut servers = Servers::start(5).behind_proxies();
    let counts = |server: &Server| eventually(PATIENCE, "it counts", || uptime(server) > 4);
    servers.servers.iter().for_each(counts);
    let client = servers.ready_client("lease=3s&longest_lease=3s").await;
    for number in [3, 4] {
        servers.servers[number].pause();
    }
    let held = client.lock(NAME).unwrap().acquire().await.unwrap();
    let began = Instant::now();
    eventually(PATIENCE, "the request is void", || began.elapsed() > Duration::from_millis(400));
    for number in [3, 4] {
        servers.servers[number].resume();
    }
    servers.ways[0].refuse(true);
    servers.servers[0].restart(Data::Lost);
    let attempt = [&servers.servers[0], &servers.servers[3], &servers.servers[4]];
    for server in attempt {
        server.cmd(&["HSET", NAME, OTHER, "1"]);
        server.cmd(&["PEXPIRE", NAME, "60000"]);
    }
    servers.ways[0].refuse(false);
    // At once, because a server has restarted, and again after each tenth of the lease.
    let asked = || servers.servers[0].info("commandstats", "cmdstat_evalsha:calls");
    eventually(PATIENCE, "the holder has asked there", || asked() >= 3 || !held.is_valid());
    for server in attempt {
        server.cmd(&["HDEL", NAME, OTHER]);
    }
    let began = Instant::now();
    eventually(PATIENCE, "two leases are over", || {
        assert!(held.is_valid(), "lost as {:?}", held.loss());
        began.elapsed() > Duration::from_secs(6)
    });
    held.release().await.unwrap();
    servers.nothing_is_left();
}
