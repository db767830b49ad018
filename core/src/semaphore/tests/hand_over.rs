//! Permits that go from caller to caller of one process, without the server.

use super::super::{AcquireOptions, HolderId, Lease};
use super::*;

/// Options with which a hand-over is bounded by nothing but what the test sets.
const AT_ANY_AGE: &str = "cohort_age=10s&poll_interval=10s";

/// Less than any poll of a waiter at the front under those options: what happens in this time was told.
const TOLD: Duration = Duration::from_secs(1);

impl Place {
    async fn pool_with(&self, options: &str, permits: u32) -> Semaphore {
        let client = Client::connect(&format!("{}?{AT_ANY_AGE}&{options}", self.url)).await.unwrap();
        client.semaphore("pool", permits).unwrap()
    }
}

#[tokio::test]
async fn the_next_caller_of_a_process_gets_the_same_permits() {
    for place in Place::both() {
        let pool = place.pool_with("", 3).await;
        let first = pool.acquire_many(3).await.unwrap();
        let ids = first.ids();
        let second = waits(&pool, 3);
        queued(&pool, 1).await;
        first.release().await.unwrap();
        let second = granted(second).await;
        assert_eq!((second.ids(), second.count(), second.is_valid()), (ids, 3, true));
        assert_eq!((counts(&pool).handed_over_local, counts(&pool).released), (1, 1));
        // Nobody of this process waits any more: its place in the queue is given up.
        tokio::time::timeout(TOLD, queued(&pool, 0)).await.expect("no place is left in the queue");
        second.release().await.unwrap();
        nothing_is_left(&pool).await;
    }
}

#[tokio::test]
async fn each_hold_of_permits_handed_on_is_one_of_its_own() {
    for place in Place::both() {
        let (pool, holder) = (place.pool_with("", 1).await, HolderId::fresh());
        let first = pool.acquire_as(holder, 1, AcquireOptions::default()).await.unwrap().into_grant();
        let again = pool.clone();
        let second = tokio::spawn(async move { again.acquire_as(holder, 1, AcquireOptions::default()).await.unwrap() });
        queued(&pool, 1).await;
        pool.release_which(holder, Some(first.token())).await.unwrap();
        let second = soon("the second acquire is granted", second).await.unwrap().into_grant();
        assert_ne!(second.token(), first.token());
        assert_eq!((first.is_valid(), first.lost().await), (false, None));
        assert!(pool.release_which(holder, Some(first.token())).await.is_err());
        assert!(second.is_valid());
        pool.release_as(holder).await.unwrap();
        nothing_is_left(&pool).await;
    }
}

#[tokio::test]
async fn permits_are_handed_on_as_often_as_cohort_max_says() {
    for place in Place::both() {
        for (options, local) in [("cohort_max=3", 2), ("cohort_max=1", 0), ("strict_fifo=true", 0)] {
            let pool = place.pool_with(options, 1).await;
            let first = pool.acquire().await.unwrap();
            let callers: Vec<_> = (0..3).map(|_| waits(&pool, 1)).collect();
            waiting(&pool, 3).await;
            queued(&pool, 1).await;
            first.release().await.unwrap();
            for caller in callers {
                granted(caller).await.release().await.unwrap();
            }
            assert_eq!(counts(&pool).handed_over_local, local, "{options}");
            nothing_is_left(&pool).await;
        }
    }
}

#[tokio::test]
async fn permits_older_than_cohort_age_go_to_the_server() {
    let (client, clock) = still_client().await;
    let pool = client.semaphore("pool", 1).unwrap();
    let first = pool.acquire().await.unwrap();
    let (second, third) = (waits(&pool, 1), waits(&pool, 1));
    queued(&pool, 1).await;
    first.release().await.unwrap();
    let second = granted(second).await;
    clock.advance(Duration::from_millis(2));
    second.release().await.unwrap();
    granted(third).await.release().await.unwrap();
    assert_eq!(counts(&pool).handed_over_local, 1);
    nothing_is_left(&pool).await;
}

#[tokio::test]
async fn permits_with_a_lease_of_their_own_are_not_handed_on() {
    for place in Place::both() {
        let (pool, holder) = (place.pool_with("", 1).await, HolderId::fresh());
        let fixed = AcquireOptions::default().lease(Lease::Fixed(Duration::from_secs(20)));
        let first = pool.acquire_as(holder, 1, fixed).await.unwrap();
        let second = waits(&pool, 1);
        queued(&pool, 1).await;
        first.release().await.unwrap();
        granted(second).await.release().await.unwrap();
        assert_eq!(counts(&pool).handed_over_local, 0);
        nothing_is_left(&pool).await;
    }
}

/// The server keeps room for what the queue says: it is told when the next caller wants less.
#[tokio::test]
async fn the_queue_knows_what_the_caller_behind_a_hand_over_wants() {
    for place in Place::both() {
        let (pool, other) = (place.pool_with("", 3).await, place.pool_with("", 3).await);
        let (two, one) = (pool.acquire_many(2).await.unwrap(), other.acquire().await.unwrap());
        let next_two = waits(&pool, 2);
        waiting(&pool, 1).await;
        let next_one = waits(&pool, 1);
        waiting(&pool, 2).await;
        queued(&pool, 1).await;
        two.release().await.unwrap();
        let two = granted(next_two).await;
        assert_eq!(counts(&pool).handed_over_local, 1);
        one.release().await.unwrap();
        let asked = std::time::Instant::now();
        granted(next_one).await.release().await.unwrap();
        assert!(asked.elapsed() < TOLD, "{:?}", asked.elapsed());
        two.release().await.unwrap();
        nothing_is_left(&pool).await;
    }
}

#[tokio::test]
async fn a_caller_that_gives_up_passes_its_permits_to_the_next() {
    for place in Place::both() {
        let pool = place.pool_with("", 1).await;
        for _ in 0..20 {
            let held = pool.acquire().await.unwrap();
            let (quitter, next) = (waits(&pool, 1), waits(&pool, 1));
            waiting(&pool, 2).await;
            quitter.abort();
            held.release().await.unwrap();
            granted(next).await.release().await.unwrap();
            nothing_is_left(&pool).await;
        }
    }
}
