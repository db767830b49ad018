//! Grants that count only if replicas have them (option `replicas`) on a cluster, where each primary has replicas of its own.

use std::time::Duration;

use libdlock::{Client, Lock, Result};
use libdlock_faults::replicas::{assert_short, requiring};
use libdlock_faults::{SOON, bounded, client, is_held, with_options};
use libdlock_testkit::{Cluster, eventually};

/// Names that a primary serves, in different slots.
fn names_at(cluster: &Cluster, primary: usize, count: usize) -> Vec<String> {
    let serves = |name: &String| cluster.owner_seen_by(0, cluster.slot(name)) == Some(primary);
    (0..).map(|number| format!("job-{number}")).filter(serves).take(count).collect()
}

async fn acquire_and_release(lock: &Lock) -> Result<()> {
    bounded(SOON * 2, "acquired", lock.acquire_timeout(SOON * 2)).await?.release().await
}

fn lock(client: &Client, name: &str) -> Lock {
    client.lock(name).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_replicas_of_the_nodes_own_primary_count() {
    let cluster = Cluster::options(3).replicas(1).start();
    let client = requiring(1, &cluster.url()).await;
    let names: Vec<String> = (0..3).flat_map(|primary| names_at(&cluster, primary, 1)).collect();
    for name in &names {
        acquire_and_release(&lock(&client, name)).await.unwrap();
    }
    cluster.nodes[3].pause();
    let locks: Vec<_> = names.iter().map(|name| lock(&client, name)).collect();
    let (first, second, third) = tokio::join!(locks[0].acquire(), locks[1].acquire(), locks[2].acquire());
    assert_short(&first.expect_err("its replica is stopped"), &names[0], "no replica", 1, &cluster.nodes[0]);
    for held in [second, third] {
        held.unwrap().release().await.unwrap();
    }
    cluster.nodes[3].resume();
    acquire_and_release(&locks[0]).await.unwrap();
}

/// Two slots begin to move between the grants and their WAIT, which waits for the one before it. There are fewer replicas than the
/// client requires, because Valkey moves no slot from a node whose replica is stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slot_that_begins_to_move_costs_only_its_own_grant() {
    let cluster = Cluster::options(3).replicas(1).start();
    let names = names_at(&cluster, 0, 5);
    let options = "replicas=2&replica_timeout=10s&lease=60s&poll_interval=30s&operation_timeout=1s";
    let (client, plain) = (client(&with_options(&cluster.url(), options)).await, client(&cluster.url()).await);
    let begin = |at: usize| {
        let lock = lock(&client, &names[at]);
        let caller = tokio::spawn(async move { lock.try_acquire().await });
        eventually(SOON, "granted", || is_held(&cluster.nodes[0], &names[at]));
        caller
    };
    let first = begin(0);
    eventually(SOON, "its WAIT blocks", || cluster.nodes[0].info("clients", "blocked_clients") == 1);
    // These are confirmed together: the first of them moves, and one in the middle.
    let [moving, staying, also_moving, also_staying] = [1, 2, 3, 4].map(begin);
    let slots = [1, 3].map(|at: usize| cluster.slot(&names[at]));
    slots.iter().for_each(|slot| cluster.begin_to_move(*slot, 0, 2));
    for moving in [moving, also_moving] {
        let error = bounded(SOON, "told", moving).await.unwrap().expect_err("the slot is on its way");
        assert!(error.is_retryable() && error.message().contains("is handing the slot of this name over"), "{error}");
    }
    for other in [first, staying, also_staying] {
        let error = bounded(SOON * 2, "told", other).await.unwrap().expect_err("there is one replica");
        assert!(error.message().starts_with("1 replica had the grant within 10s"), "{error}");
    }
    // What could not be released on its way is released when the slot has arrived, long before its lease ends.
    tokio::task::block_in_place(|| slots.iter().for_each(|slot| cluster.finish_moving(*slot, 0, 2)));
    for name in &names {
        acquire_and_release(&lock(&plain, name)).await.unwrap();
    }
}

/// The replica that takes the place of a primary has no replica of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_new_primary_without_replicas_grants_nothing() {
    let mut cluster = Cluster::options(3).replicas(1).start();
    let client = requiring(1, &cluster.url()).await;
    let name = names_at(&cluster, 0, 1).remove(0);
    acquire_and_release(&lock(&client, &name)).await.unwrap();
    cluster.nodes[0].stop();
    let slot = cluster.slot_seen_by(1, &name);
    eventually(SOON * 3, "the replica takes over", || cluster.owner_seen_by(1, slot) == Some(3));
    let told = async {
        loop {
            match lock(&client, &name).acquire_timeout(Duration::from_secs(5)).await {
                Err(error) if error.message().starts_with("no replica had the grant") => return,
                Err(error) => assert!(error.is_retryable(), "{error}"),
                Ok(_) => panic!("no replica can have it"),
            }
        }
    };
    bounded(SOON * 3, "told", told).await;
    eventually(SOON, "the grant was released", || !is_held(&cluster.nodes[3], &name));
}
