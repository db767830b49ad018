//! Slots of a cluster that go to and fro under holders and waiters.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::Client;
use libdlock_testkit::Cluster;

/// Far beyond what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A waiter that was not told of a release looks by itself after 1.2 s; as much again is for a busy machine.
const LOST_MESSAGE: Duration = Duration::from_millis(2_500);

const CLIENTS: usize = 4;
/// Of each client.
const NAMES: usize = 16;

/// What is known of one lock.
#[derive(Default)]
struct Seen {
    /// Changed by its holder alone, in two steps.
    counter: AtomicU64,
    /// When it was last released, for the next holder.
    released: Mutex<Option<Instant>>,
}

/// What the contenders have come to.
#[derive(Default)]
struct Outcome {
    taken: u64,
    /// From a release to the next grant, while others waited.
    longest: Duration,
}

/// Takes the lock again and again until `done`. Every error ends the test.
async fn contend(client: Client, name: String, seen: Arc<Seen>, done: Arc<AtomicBool>) -> Outcome {
    let (lock, mut outcome) = (client.lock(&name).unwrap(), Outcome::default());
    while !done.load(Ordering::SeqCst) {
        let held = lock.acquire_timeout(PATIENCE).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let released = seen.released.lock().unwrap().take();
        outcome.longest = outcome.longest.max(released.map_or(Duration::ZERO, |at| at.elapsed()));
        let before = seen.counter.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        seen.counter.store(before + 1, Ordering::SeqCst);
        assert!(held.loss().is_none(), "{name}: {:?}", held.loss());
        held.release().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        *seen.released.lock().unwrap() = Some(Instant::now());
        outcome.taken += 1;
    }
    outcome
}

/// 64 contenders for 16 locks, whose slots go round. How many moves there were, and what the contenders have come to.
async fn go_round(time: Duration) -> (usize, Outcome) {
    let cluster = Cluster::start();
    let names: Vec<String> = (0..NAMES).map(|number| format!("jobs:{number}")).collect();
    let seen: Vec<Arc<Seen>> = names.iter().map(|_| Arc::default()).collect();
    let done = Arc::new(AtomicBool::new(false));
    let mut contenders = Vec::new();
    for _ in 0..CLIENTS {
        let client = Client::connect(&cluster.url()).await.unwrap();
        for (name, seen) in names.iter().zip(&seen) {
            contenders.push(tokio::spawn(contend(client.clone(), name.clone(), seen.clone(), done.clone())));
        }
    }
    let slots: Vec<u16> = names.iter().map(|name| cluster.slot(name)).collect();
    let mut owners: Vec<usize> = slots.iter().map(|slot| cluster.owner_seen_by(0, *slot).unwrap()).collect();
    let moving = tokio::task::spawn_blocking(move || {
        let (begun, mut moves) = (Instant::now(), 0);
        while begun.elapsed() < time {
            let at = moves % slots.len();
            let to = (owners[at] + 1) % 3;
            cluster.move_slot(slots[at], owners[at], to);
            owners[at] = to;
            moves += 1;
        }
        (moves, cluster)
    });
    let (moves, cluster) = moving.await.unwrap();
    done.store(true, Ordering::SeqCst);
    let mut all = Outcome::default();
    for contender in contenders {
        let outcome = tokio::time::timeout(PATIENCE, contender).await.expect("it ends").unwrap();
        all.taken += outcome.taken;
        all.longest = all.longest.max(outcome.longest);
    }
    let counted: u64 = seen.iter().map(|seen| seen.counter.load(Ordering::SeqCst)).sum();
    assert_eq!(counted, all.taken, "two held one lock together");
    println!("{moves} moves, {} grants, from a release to the next grant at most {:?}", all.taken, all.longest);
    drop(cluster);
    (moves, all)
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_that_move_lose_no_hold_and_no_waiter() {
    let (moves, outcome) = go_round(Duration::from_secs(6)).await;
    assert!(moves >= NAMES && outcome.taken > 500, "{moves} moves, {} grants", outcome.taken);
    assert!(outcome.longest < LOST_MESSAGE, "{:?}", outcome.longest);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "long: make check-long"]
async fn a_minute_of_moves_delays_no_hand_over() {
    let (_, outcome) = go_round(Duration::from_secs(60)).await;
    assert!(outcome.longest < LOST_MESSAGE, "{:?}", outcome.longest);
}
