//! Grants that count only if replicas have them (option `replicas`), where the deployment is against them: servers that hide who
//! they are, that change sides during the count, that refuse a part of it, or that answer nonsense.

use std::time::{Duration, Instant};

use libdlock::ErrorKind;
use libdlock_faults::replicas::{TIMEOUT, each_replica, next_wait, requiring};
use libdlock_faults::{SOON, bounded, client, is_held, with_options};
use libdlock_testkit::{Proxy, Replicated, Server, eventually};
use tokio::task::JoinSet;

/// Without run ids the grant and the count may be of two servers, whose replicas know nothing of each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hides_who_it_is_counts_nothing() {
    let hiding = || Server::options().rights(vec!["-info".to_owned()]);
    // The second one tells in the second case: the rights of a user may differ.
    for of_present in [hiding(), Server::options()] {
        let (former, present) = (Replicated::with(1, hiding()), Replicated::with(1, of_present));
        let proxy = Proxy::start(former.primary.address());
        let client = requiring(1, &proxy.url()).await;
        each_replica(&former, Server::pause);
        proxy.point_at(present.primary.address());
        let told = bounded(SOON, "told", client.lock("job").unwrap().acquire()).await;
        let error = told.map(drop).expect_err("the former server has granted it, and the present one was asked");
        assert_eq!(error.kind(), ErrorKind::NoPermission, "{error}");
        assert!(error.message().contains("the user needs +info"), "{error}");
        assert!(error.message().contains("the grant was released, nothing is held"), "{error}");
        assert!(!is_held(&former.primary, "job") && !is_held(&present.primary, "job"));
    }
}

/// As in a planned failover. The server ends the WAIT with an error of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_demoted_during_the_count_ends_no_timed_wait() {
    let (servers, other) = (Replicated::start(1), Server::start());
    let proxy = Proxy::start(servers.primary.address());
    let client = client(&with_options(&proxy.url(), "replicas=1&replica_timeout=5s&lease=60s&poll_interval=30s")).await;
    let (lock, once) = (client.lock("job").unwrap(), client.lock("job-once").unwrap());
    each_replica(&servers, Server::pause);
    let wait = next_wait(&proxy);
    let caller = tokio::spawn(async move { lock.acquire_timeout(SOON * 2).await });
    tokio::task::block_in_place(|| wait.expect(SOON));
    let once = tokio::spawn(async move { once.try_acquire().await });
    let blocked = || servers.primary.info("clients", "blocked_clients");
    eventually(SOON, "both are counted", || blocked() == 2);
    assert_eq!(servers.primary.cmd(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]).text(), "OK");
    eventually(SOON, "it ends them", || blocked() == 0);
    assert_eq!(servers.primary.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
    each_replica(&servers, Server::resume);
    let error = bounded(SOON, "told", once).await.unwrap().expect_err("it does not wait");
    assert!(error.is_retryable() && error.message().contains("ended the WAIT before its time"), "{error}");
    bounded(SOON * 2, "acquired", caller).await.unwrap().unwrap().release().await.unwrap();
}

/// Of one request for four, two are granted, and the others join the queue. All of it counts as refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_for_several_keeps_no_place() {
    let servers = Replicated::start(1);
    let (client, plain) = (requiring(1, &servers.primary.url()).await, client(&servers.primary.url()).await);
    let pool = || client.semaphore("pool", 2).unwrap();
    pool().acquire().await.unwrap().release().await.unwrap();
    each_replica(&servers, Server::pause);
    let first = pool();
    let first = tokio::spawn(async move { first.try_acquire().await.map(drop) });
    eventually(SOON, "it is counted", || servers.primary.info("clients", "blocked_clients") == 1);
    // They stand in line until it is told, and are asked for together then.
    let mut waiters = JoinSet::new();
    for _ in 0..4 {
        let pool = pool();
        waiters.spawn(async move { pool.acquire_timeout(SOON * 2).await.map(drop) });
    }
    eventually(SOON, "all wait", || client.stats().semaphore.waiting == 4);
    let places = || servers.primary.cmd(&["ZCARD", "dlock_semaphore_queue:{pool}"]).int();
    assert_eq!(places(), 0);
    bounded(SOON, "told", first).await.unwrap().expect_err("the replica is stopped");
    eventually(SOON, "the others join the queue", || places() == 1);
    for told in bounded(SOON, "told", waiters.join_all()).await {
        told.expect_err("the replica is stopped");
    }
    eventually(TIMEOUT, "nobody needs the place", || places() == 0);
    let begun = Instant::now();
    let both = bounded(SOON, "free", plain.semaphore("pool", 2).unwrap().acquire_many(2)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    both.release().await.unwrap();
}
