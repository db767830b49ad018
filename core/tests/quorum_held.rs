//! A client that holds many locks on several servers, which fail meanwhile.

use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, PATIENCE, Servers};
use libdlock::{Client, Held};
use libdlock_testkit::server::Data;
use libdlock_testkit::{Server, Side, eventually, within};

/// So many at a time: this is about holding them.
async fn acquire_all(client: &Client, number: usize) -> Vec<Held> {
    let mut all = Vec::with_capacity(number);
    for from in (0..number).step_by(100) {
        let tries: Vec<_> = (from..number.min(from + 100))
            .map(|name| {
                let lock = client.lock(&format!("held-{name}")).unwrap();
                tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await })
            })
            .collect();
        for tried in tries {
            all.push(tried.await.unwrap().unwrap());
        }
    }
    all
}

/// How many of them it has.
fn fields(server: &Server) -> usize {
    server.keys().iter().filter(|key| key.starts_with("held-")).count()
}

/// The way there and back takes 60 ms, and taking a hold again is two of these.
#[tokio::test(flavor = "multi_thread")]
async fn a_far_server_that_lost_all_holds_has_them_soon_again() {
    const HOLDS: usize = 200;
    let mut servers = Servers::start(3).behind_proxies();
    let client = servers.client(&format!("{KEPT}&lease=6s&response_timeout=1s")).await;
    let held = acquire_all(&client, HOLDS).await;
    eventually(PATIENCE, "it has them", || fields(&servers.servers[2]) == HOLDS);
    servers.ways[2].delay(Side::Replies, Duration::from_millis(60));
    servers.servers[2].restart(Data::Lost);
    let restarted = Instant::now();
    let again = within(Duration::from_secs(10), || fields(&servers.servers[2]) == HOLDS);

    assert!(
        again && restarted.elapsed() < Duration::from_secs(2),
        "{} of {HOLDS} after {:?}",
        fields(&servers.servers[2]),
        restarted.elapsed()
    );
    let stats = client.stats().lock;
    assert_eq!((stats.held, stats.lost), (HOLDS as u64, 0));
    drop(held);
}

/// One server of three has restarted and does not count yet, and another one is far away: the hold needs that.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_is_renewed_at_the_far_server_that_it_needs() {
    let mut servers = Servers::start(3).behind_proxies();
    let client = servers.client("lease=3s&longest_lease=3s&response_timeout=1s").await;
    let held = client.lock("held-1").unwrap().acquire_timeout(PATIENCE).await.unwrap();
    servers.ways[2].delay(Side::Replies, Duration::from_millis(100));
    servers.servers[1].restart(Data::Lost);
    let restarted = Instant::now();
    while restarted.elapsed() < Duration::from_millis(4_500) {
        assert!(held.is_valid(), "lost after {:?}", restarted.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    held.release().await.unwrap();
    servers.nothing_is_left();
}

/// It is renewed together with others that nothing is wrong with, while one server stands still.
#[tokio::test(flavor = "multi_thread")]
async fn a_hold_that_waits_for_a_server_holds_up_no_other() {
    let servers = Servers::start(3);
    let client = servers.client(&format!("{KEPT}&lease=3s&response_timeout=2s&operation_timeout=6s")).await;
    let mut held = acquire_all(&client, 50).await;
    let taken = held.pop().unwrap();
    let name = "held-49";
    eventually(PATIENCE, "they are everywhere", || servers.servers.iter().all(|server| fields(server) == 50));
    servers.servers[2].pause();
    servers.servers[0].cmd(&["DEL", name]);
    servers.servers[0].cmd(&["HSET", name, "11111111-2222-4333-8444-555555555555:1", "1"]);
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(5) {
        let lost = held.iter().filter(|held| !held.is_valid()).count();
        assert_eq!(lost, 0, "lost after {:?}", begun.elapsed());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!taken.is_valid());
    servers.servers[2].resume();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_far_server_is_asked_who_holds_a_lock() {
    let servers = Servers::start(3).behind_proxies();
    let client = servers.client(KEPT).await;
    let held = acquire_all(&client, 1).await.remove(0);
    eventually(PATIENCE, "it is everywhere", || servers.servers.iter().all(|server| fields(server) == 1));
    servers.ways[2].delay(Side::Replies, Duration::from_millis(100));
    servers.servers[1].cmd(&["DEL", "held-0"]);
    let seen = client.lock("held-0").unwrap().inspect().await.unwrap();
    assert_eq!(seen.holder.as_deref(), Some(held.owner()));
}

/// One server stands still and another has lost everything.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: 10,000 holds through several renewals"]
async fn ten_thousand_holds_outlive_a_hung_and_an_emptied_server() {
    const HOLDS: usize = 10_000;
    let mut servers = Servers::start(5);
    let client = servers.client(&format!("{KEPT}&lease=10s&response_timeout=1s")).await;
    let held = acquire_all(&client, HOLDS).await;
    servers.servers[4].pause();
    servers.servers[3].restart(Data::Lost);
    let restarted = Instant::now();
    eventually(PATIENCE, "the emptied server has them", || fields(&servers.servers[3]) == HOLDS);
    while restarted.elapsed() < Duration::from_secs(25) {
        let lost = held.iter().filter(|held| !held.is_valid()).count();
        assert_eq!(lost, 0, "lost after {:?}", restarted.elapsed());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let stats = client.stats().lock;
    assert_eq!((stats.held, stats.lost), (HOLDS as u64, 0));
    servers.servers[4].resume();
}
