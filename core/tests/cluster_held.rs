//! Very many locks of one process on a cluster, beside as many on one server. In a process to itself: it looks at the
//! CPU time of that.

use std::time::Duration;

use libdlock::Client;
use libdlock_testkit::{Cluster, Server};

use crate::common::held::{acquire_all, cpu_time};

const LOCKS: usize = 10_000;
const LEASE: Duration = Duration::from_secs(10);

/// What it takes to keep the locks through two leases: the CPU time of this process and of the servers, beyond what they take
/// when nothing is held.
async fn keep(url: &str, servers: &[Server]) -> (Duration, Duration) {
    let client = Client::connect(&format!("{url}?lease={}ms", LEASE.as_millis())).await.unwrap();
    let through_two_leases = async || {
        let used =
            || (cpu_time(std::process::id()), servers.iter().map(|server| cpu_time(server.pid())).sum::<Duration>());
        let before = used();
        tokio::time::sleep(LEASE * 2).await;
        let after = used();
        (after.0 - before.0, after.1 - before.1)
    };
    let idle = through_two_leases().await;
    let held = acquire_all(&client, LOCKS).await;
    // The first renewals spread them.
    tokio::time::sleep(LEASE / 2).await;
    let busy = through_two_leases().await;
    let stats = client.stats().lock;
    assert_eq!((stats.held, stats.lost, stats.renewal_failures), (LOCKS as u64, 0, 0));
    assert!(held.iter().all(|held| held.is_valid()), "none is lost");
    client.close().await;
    (busy.0.saturating_sub(idle.0), busy.1.saturating_sub(idle.1))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
#[ignore = "long: 10,000 locks through two leases, twice"]
async fn ten_thousand_locks_over_all_slots_are_renewed_in_time() {
    libdlock_testkit::own_process!();
    let (server, cluster) = (Server::start(), Cluster::start());
    let (alone, one) = keep(&server.url(), std::slice::from_ref(&server)).await;
    let (spread, nodes) = keep(&cluster.url(), &cluster.nodes).await;
    let ratio = |spread: Duration, alone: Duration| spread.as_secs_f64() / alone.as_secs_f64();
    println!(
        "in {:?}: one server {one:?} and its client {alone:?}; three nodes {nodes:?} and their client {spread:?}: {:.2} and \
         {:.2} times as much",
        LEASE * 2,
        ratio(nodes, one),
        ratio(spread, alone)
    );
}
