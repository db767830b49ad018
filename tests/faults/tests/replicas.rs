//! Grants that count only if replicas have them (option `replicas`): replicas that answer, hang, are cut off, are too few.

use std::time::{Duration, Instant};

use libdlock::{Client, ErrorKind};
use libdlock_faults::replicas::{TICK, TIMEOUT, assert_short, each_replica, requiring};
use libdlock_faults::{SOON, bounded, client, is_held, kind, slack, with_options};
use libdlock_testkit::{Replicated, Server, Side, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_is_given_out_once_its_replicas_have_it() {
    const LATE: Duration = Duration::from_millis(150);
    let servers = Replicated::start(2);
    let client = requiring(2, &servers.primary.url()).await;
    servers.replicas.iter().for_each(|replica| replica.stream.delay(Side::Replies, LATE));
    let begun = Instant::now();
    let held = bounded(SOON, "acquired", client.lock("job").unwrap().acquire()).await.unwrap();
    assert!(begun.elapsed() >= LATE, "{:?}", begun.elapsed());
    each_replica(&servers, |replica| assert!(is_held(replica, "job"), "both have it"));
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_hangs_delays_only_those_who_need_it() {
    let servers = Replicated::start(2);
    let url = servers.primary.url();
    let (one, both, none) = (requiring(1, &url).await, requiring(2, &url).await, client(&url).await);
    servers.replicas[0].server.pause();
    for _ in 0..20 {
        let begun = Instant::now();
        let held = bounded(SOON, "acquired", one.lock("job").unwrap().acquire()).await.unwrap();
        assert!(begun.elapsed() < slack(), "{:?}", begun.elapsed());
        held.release().await.unwrap();
    }
    let begun = Instant::now();
    let error = bounded(SOON, "told", both.lock("job").unwrap().acquire()).await.expect_err("one hangs");
    let took = begun.elapsed();
    assert!(took >= TIMEOUT && took < TIMEOUT + TICK + slack(), "{took:?}");
    assert_short(&error, "job", "1 replica", 2, &servers.primary);
    none.lock("job").unwrap().try_acquire().await.unwrap().expect("free").release().await.unwrap();
    servers.replicas[0].server.resume();
    eventually(SOON, "it has caught up", || servers.acknowledged(TIMEOUT) == 2);
    bounded(SOON, "acquired", both.lock("job").unwrap().acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_grant_counts_while_all_replicas_are_stopped() {
    let servers = Replicated::start(2);
    let client = requiring(1, &servers.primary.url()).await;
    each_replica(&servers, Server::pause);
    let lock = client.lock("job").unwrap();
    let error = bounded(SOON, "told", lock.try_acquire()).await.expect_err("both are stopped");
    assert_short(&error, "job", "no replica", 1, &servers.primary);
    let error = bounded(SOON, "told", lock.acquire_timeout(SOON)).await.expect_err("both are stopped");
    assert_short(&error, "job", "no replica", 1, &servers.primary);
    each_replica(&servers, Server::resume);
    bounded(SOON, "acquired", lock.acquire()).await.unwrap().release().await.unwrap();
}

/// The primary keeps the connection for a minute, and counts no replica that does not answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_behind_a_black_hole_is_not_counted() {
    let servers = Replicated::start(2);
    let url = servers.primary.url();
    let (one, both) = (requiring(1, &url).await, requiring(2, &url).await);
    servers.replicas[1].stream.hold_all();
    let lock = both.lock("job").unwrap();
    let error = bounded(SOON, "told", lock.acquire()).await.expect_err("one is cut off");
    assert_short(&error, "job", "1 replica", 2, &servers.primary);
    let begun = Instant::now();
    let held = bounded(SOON, "acquired", one.lock("job").unwrap().acquire()).await.unwrap();
    assert!(begun.elapsed() < slack(), "{:?}", begun.elapsed());
    assert!(is_held(&servers.replicas[0].server, "job") && !is_held(&servers.replicas[1].server, "job"));
    held.release().await.unwrap();
    servers.replicas[1].stream.heal();
    eventually(SOON, "it has caught up", || servers.acknowledged(TIMEOUT) == 2);
    bounded(SOON, "acquired", lock.acquire()).await.unwrap().release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_replicas_than_there_are_never_have_a_grant() {
    let servers = Replicated::start(2);
    let client = requiring(3, &servers.primary.url()).await;
    let begun = Instant::now();
    let error = bounded(SOON, "told", client.lock("job").unwrap().acquire()).await.expect_err("there are two");
    let took = begun.elapsed();
    assert!(took >= TIMEOUT && took < TIMEOUT + TICK + slack(), "{took:?}");
    assert_short(&error, "job", "2 replicas", 3, &servers.primary);
}

/// Every kind of object that is held, by its own error and key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_too_few_replicas_have_is_released_whatever_it_is() {
    let servers = Replicated::start(1);
    let url = servers.primary.url();
    let (client, plain) = (requiring(1, &url).await, client(&url).await);
    assert!(plain.counting_semaphore("slots").unwrap().try_set_permits(3).await.unwrap());
    plain.semaphore("pool", 3).unwrap().acquire().await.unwrap().release().await.unwrap();
    servers.replicas[0].server.pause();
    let (pool, slots) = (client.semaphore("pool", 3).unwrap(), client.counting_semaphore("slots").unwrap());
    let (page, both) = (client.rw_lock("page").unwrap(), client.lock_all(["{pair}a", "{pair}b"]).unwrap());
    let refused = [
        kind(bounded(SOON, "told", pool.acquire_many(2)).await),
        kind(bounded(SOON, "told", slots.acquire_many(2)).await),
        kind(bounded(SOON, "told", page.read().acquire()).await),
        kind(bounded(SOON, "told", page.write().acquire()).await),
        kind(bounded(SOON, "told", both.acquire()).await),
        kind(bounded(SOON, "told", both.try_acquire()).await),
    ];
    assert_eq!(refused, [ErrorKind::Server; 6]);
    assert_eq!(slots.available().await.unwrap(), 3);
    drop(plain.semaphore("pool", 3).unwrap().try_acquire_many(3).await.unwrap().expect("all are free"));
    for name in ["page", "{pair}a", "{pair}b"] {
        assert!(!is_held(&servers.primary, name), "{name}");
    }
    // What is not held needs no replicas.
    let latch = client.latch("start").unwrap();
    assert!(bounded(TIMEOUT, "set", latch.try_set_count(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_right_to_wait_is_named_if_it_is_missing() {
    let server = Server::options().rights(vec!["-wait".to_owned()]).start();
    let client = requiring(1, &server.url()).await;
    let error = bounded(SOON, "told", client.lock("job").unwrap().acquire()).await.expect_err("forbidden");
    assert_eq!(error.kind(), ErrorKind::NoPermission, "{error}");
    assert!(error.message().contains("~dlock_replicas:* +set +wait"), "{error}");
    assert!(error.message().contains("the grant was released, nothing is held"), "{error}");
    assert!(!is_held(&server, "job"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn senseless_numbers_of_replicas_are_refused() {
    for (query, allowed) in [
        ("replicas=-1", "0 to 16"),
        ("replicas=17", "0 to 16"),
        ("replicas=two", "0 to 16"),
        ("replica_timeout=0", "1 ms to 10 s"),
        ("replica_timeout=11s", "1 ms to 10 s"),
    ] {
        // Nothing listens there, and nothing is dialled.
        let error = Client::connect(&with_options("redis://127.0.0.1:1", query)).await.expect_err(query);
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.message().contains(allowed), "{error}");
    }
    let error = Client::connect("memory://?replicas=1").await.expect_err("memory has no replicas");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    assert!(error.message().contains("memory:// has no replicas"), "{error}");
}
