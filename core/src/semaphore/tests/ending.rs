//! Callers that go away, and clients that close: nothing is left of them.

use super::super::{AcquireOptions, HolderId};
use super::*;
use crate::contended::place::dropped_after;
use crate::error::ErrorKind;
use crate::lease::{Lease, LossReason};

#[tokio::test]
async fn an_acquire_dropped_at_any_point_leaves_nothing() {
    for place in Place::both() {
        let pool = &place.pools(1, 3).await[0];
        pool.acquire().await.unwrap().release().await.unwrap();
        let mut finished = 0;
        for polls in 0..200 {
            finished += u32::from(dropped_after(polls, pool.acquire_many(2)).await);
            finished += u32::from(dropped_after(polls, pool.try_acquire_many(2)).await);
        }
        assert!(finished > 0, "no acquire came to its end");
        nothing_is_left(pool).await;
    }
}

#[tokio::test]
async fn a_wait_dropped_at_any_point_leaves_nothing() {
    for place in Place::both() {
        let pools = place.pools(2, 3).await;
        for polls in 0..60 {
            let held = pools[0].acquire_many(2).await.unwrap();
            let waiting = pools[1].acquire_many(2);
            let releasing = async {
                for _ in 0..polls / 2 {
                    tokio::task::yield_now().await;
                }
                held.release().await.unwrap();
            };
            tokio::join!(dropped_after(polls, waiting), releasing);
        }
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn a_release_that_is_dropped_goes_on() {
    for place in Place::both() {
        let pool = &place.pools(1, 3).await[0];
        for polls in 0..20 {
            let held = pool.acquire_many(3).await.unwrap();
            // Before the first poll it is the drop of the hold that releases.
            dropped_after(polls, held.release()).await;
            nothing_is_left(pool).await;
        }
    }
}

#[tokio::test]
async fn dropped_permits_are_given_back() {
    for place in Place::both() {
        let pool = &place.pools(1, 3).await[0];
        let holder = HolderId::fresh();
        let (kept, dropped) = (pool.acquire_as(holder, 1, Default::default()).await.unwrap(), pool.acquire().await);
        drop(dropped);
        shows(pool, "what was dropped is back", |seen| seen.available == 2).await;
        assert!(kept.is_valid());
        drop(kept);
        nothing_is_left(pool).await;
        assert_eq!(pool.hold_count(holder), 0);
    }
}

#[tokio::test]
async fn a_client_that_closes_leaves_the_queue_to_others() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await, place.client().await];
        let pools = clients.each_ref().map(|client| client.semaphore("pool", 2).unwrap());
        let held = pools[0].acquire().await.unwrap();
        let many = waits(&pools[1], 2);
        queued(&pools[0], 1).await;
        let behind = waits(&pools[2], 1);
        queued(&pools[0], 2).await;
        clients[1].close().await;
        assert_eq!(soon("the refusal", many).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        granted(behind).await.release().await.unwrap();
        held.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
        assert_eq!(pools[1].acquire().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(pools[1].inspect().await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn a_close_with_a_release_gives_all_permits_back() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await];
        let pools = clients.each_ref().map(|client| client.semaphore("pool", 4).unwrap());
        let held = [pools[0].acquire().await.unwrap(), pools[0].acquire_many(3).await.unwrap()];
        let own = waits(&pools[0], 1);
        waiting(&pools[0], 1).await;
        queued(&pools[1], 1).await;
        let other = waits(&pools[1], 4);
        queued(&pools[1], 2).await;
        soon("the closing", clients[0].close_releasing()).await.unwrap();
        assert_eq!(soon("the refusal", own).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        granted(other).await.release().await.unwrap();
        for held in held {
            assert!(!held.is_valid());
            assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Closed));
        }
        nothing_is_left(&pools[1]).await;
    }
}

#[tokio::test]
async fn what_a_closed_client_held_comes_back_with_its_lease() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await];
        let pools = clients.each_ref().map(|client| client.semaphore("pool", 2).unwrap());
        let lease = AcquireOptions::default().lease(Lease::Fixed(Duration::from_millis(300)));
        let held = pools[0].acquire_as(HolderId::fresh(), 1, lease).await.unwrap();
        clients[0].close().await;
        assert!(!held.is_valid());
        assert_eq!(pools[1].inspect().await.unwrap().available, 1);
        granted(waits(&pools[1], 2)).await.release().await.unwrap();
        nothing_is_left(&pools[1]).await;
    }
}

#[tokio::test]
async fn an_abandoned_holder_loses_all_its_holds() {
    for place in Place::both() {
        let client = place.client().await;
        let pool = client.semaphore("pool", 3).unwrap();
        let holder = HolderId::fresh();
        let mut grants = Vec::new();
        for _ in 0..2 {
            grants.push(pool.acquire_as(holder, 1, Default::default()).await.unwrap().into_grant());
        }
        let other = pool.acquire().await.unwrap();
        client.abandon(holder);
        assert!(grants.iter().all(|grant| grant.loss() == Some(LossReason::Closed)));
        assert!(other.is_valid());
        assert_eq!((pool.hold_count(holder), pool.inspect().await.unwrap().available), (0, 0));
        other.release().await.unwrap();
    }
}
