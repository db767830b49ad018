//! One process holds very many locks, and the way to the server is slow. None is lost while the way takes less
//! than half a lease.

use std::time::{Duration, Instant};

use libdlock::{Client, Held};
use libdlock_faults::{SOON, bounded, client, with_options};
use libdlock_testkit::{Proxy, Server, Side, eventually, within};
use tokio::task::JoinSet;

const LATENCY: Duration = Duration::from_millis(300);

/// `count` locks held at once; asked for with so many at a time that the server is busy and nobody times out.
async fn hold(client: &Client, count: usize) -> Vec<Held> {
    let mut acquiring = JoinSet::new();
    let mut held = Vec::with_capacity(count);
    for n in 0..count {
        let lock = client.lock(&format!("job-{n}")).expect("a name");
        acquiring.spawn(async move { lock.acquire().await });
        if acquiring.len() == 1_000 {
            held.push(acquiring.join_next().await.expect("one").expect("no panic").expect("acquire"));
        }
    }
    while let Some(acquired) = acquiring.join_next().await {
        held.push(acquired.expect("no panic").expect("acquire"));
    }
    held
}

async fn none_is_lost(count: usize, lease: Duration, leases: u32) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let options = format!("lease={}ms&response_timeout=2s", lease.as_millis());
    let client = client(&with_options(&proxy.url(), &options)).await;
    let held = bounded(SOON * 6, "all are held", hold(&client, count)).await;
    proxy.delay(Side::Replies, LATENCY);
    let slow = Instant::now();
    let mut least = lease;
    let any_lost = || {
        least = least.min(held.iter().map(|held| held.remaining()).min().expect("some"));
        held.iter().any(|held| held.loss().is_some())
    };
    assert!(!within(lease * leases, any_lost), "{} lost", held.iter().filter(|held| held.loss().is_some()).count());
    assert_eq!(client.stats().lock.lost, 0);
    assert!(client.stats().lock.renewals as usize >= count * leases as usize, "renewed three times a lease");
    assert_eq!(server.cmd(&["DBSIZE"]).int(), 2 * count as i64, "each has its key and its token");
    println!("{count} locks for {:?}: the least that was left of a lease of {lease:?} is {least:?}", slow.elapsed());
    proxy.heal();
    give_back(held).await;
    let count_locks = "return #redis.call('KEYS', 'job-*')";
    assert_eq!(server.cmd(&["EVAL", count_locks, "0"]).int(), 0, "all are given back");
}

/// Releases them all, so many at a time.
async fn give_back(held: Vec<Held>) {
    let mut releasing = JoinSet::<libdlock::Result<()>>::new();
    for held in held {
        if releasing.len() == 1_000 {
            releasing.join_next().await.expect("one").expect("no panic").expect("release");
        }
        releasing.spawn(async move { held.release().await });
    }
    while let Some(released) = releasing.join_next().await {
        released.expect("no panic").expect("release");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_thousand_held_locks_survive_a_way_of_300_ms() {
    none_is_lost(3_000, Duration::from_secs(3), 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "long: make check-long"]
async fn fifty_thousand_held_locks_survive_a_way_of_300_ms() {
    none_is_lost(50_000, Duration::from_secs(10), 3).await;
}

/// What a slow way may not do: with half a lease of it, a renewal that is sent after a third comes too late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_way_of_a_whole_lease_loses_them_all() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "lease=300ms&response_timeout=2s")).await;
    let held = hold(&client, 100).await;
    proxy.delay(Side::Replies, LATENCY);
    eventually(SOON, "all are lost", || held.iter().all(|held| held.loss().is_some()));
}
