//! What clients of a cluster tell each other, and which nodes it reaches.

use std::time::{Duration, Instant};

use libdlock::{Client, Lock};
use libdlock_testkit::{Cluster, program};

/// Far longer than a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A waiter that is told takes the lock much sooner, and one that is not looks by itself after about a second.
const TOLD: Duration = Duration::from_millis(500);

const TIMES: usize = 30;

async fn client(cluster: &Cluster) -> Client {
    Client::connect(&cluster.url()).await.unwrap()
}

/// One client holds the lock and another waits, as often as said: how many of them were not told of the release.
async fn untold(from: &Lock, to: &Lock, times: usize) -> usize {
    let mut untold = 0;
    for _ in 0..times {
        let held = from.acquire_timeout(PATIENCE).await.unwrap();
        let next = to.clone();
        let waiting = tokio::spawn(async move { (next.acquire_timeout(PATIENCE).await, Instant::now()) });
        let queued = async {
            while from.inspect().await.unwrap().queued == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(PATIENCE, queued).await.unwrap();
        let released = Instant::now();
        held.release().await.unwrap();
        let (held, at) = waiting.await.unwrap();
        untold += usize::from(at - released > TOLD);
        held.unwrap().release().await.unwrap();
    }
    untold
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_told_to_the_nodes_of_its_slot_alone() {
    let cluster = Cluster::start();
    let (one, other) = (client(&cluster).await, client(&cluster).await);
    for name in ["jobs:1", "jobs:2", "jobs:3", "{orders}:4", "shop:{7}"] {
        let [one, other] = [&one, &other].map(|client| client.lock(name).unwrap());
        // The first time the waiter is told where it listens already.
        assert!(untold(&one, &other, 3).await <= 1, "{name}");
        let before = cluster.sent_on_bus("publish");
        assert!(untold(&one, &other, TIMES).await <= 2, "{name}");
        let sent = cluster.sent_on_bus("publish") - before;
        if program::major_version() >= 7 {
            assert!(sent <= 2, "{name}: {sent} messages to all nodes");
        } else {
            assert!(sent >= TIMES as u64, "{name}: {sent} messages to all nodes");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiters_are_told_where_the_user_may_not_listen_in_slots() {
    let cluster = Cluster::start();
    let (one, other) = (client(&cluster).await, client(&cluster).await);
    for forbidden in ["-ssubscribe", "-spublish"] {
        if program::major_version() >= 7 {
            for node in &cluster.nodes {
                assert_eq!(node.cmd(&["ACL", "SETUSER", "default", forbidden]).text(), "OK");
            }
        }
        let name = format!("jobs{forbidden}");
        let [one, other] = [&one, &other].map(|client| client.lock(&name).unwrap());
        assert!(untold(&one, &other, TIMES).await <= 2, "{forbidden}");
    }
}

/// While a slot is on its way, and after it, each release is told.
#[tokio::test(flavor = "multi_thread")]
async fn waiters_are_told_at_the_node_to_which_their_slot_goes() {
    let cluster = Cluster::start();
    let (one, other) = (client(&cluster).await, client(&cluster).await);
    let [one, other] = [&one, &other].map(|client| client.lock("jobs").unwrap());
    assert!(untold(&one, &other, 3).await <= 1);
    let slot = cluster.slot("jobs");
    let mut owner = cluster.owner_seen_by(0, slot).unwrap();
    for _ in 0..3 {
        let to = (owner + 1) % 3;
        cluster.move_slot(slot, owner, to);
        owner = to;
        assert!(untold(&one, &other, 10).await <= 1);
    }
    let before = cluster.sent_on_bus("publish");
    // The client has found the new node, and listens there.
    let settled = tokio::time::Instant::now() + PATIENCE;
    loop {
        let sent = cluster.sent_on_bus("publish");
        assert!(untold(&one, &other, 5).await <= 1);
        if program::major_version() < 7 || cluster.sent_on_bus("publish") == sent {
            break;
        }
        assert!(tokio::time::Instant::now() < settled, "told to all nodes for ever, from {before} on");
    }
}
