//! Callers that go away, and clients that close: nothing is left of them.

use super::*;
use crate::contended::place::dropped_after;
use crate::error::ErrorKind;
use crate::lease::LossReason;

#[tokio::test]
async fn an_acquire_dropped_at_any_point_leaves_nothing() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        let mut finished = 0;
        for polls in 0..150 {
            for side in [lock.read(), lock.write()] {
                finished += u32::from(dropped_after(polls, side.acquire()).await);
                finished += u32::from(dropped_after(polls, side.try_acquire()).await);
            }
        }
        assert!(finished > 0, "no acquire came to its end");
        nothing_is_left(lock).await;
    }
}

#[tokio::test]
async fn a_wait_dropped_at_any_point_leaves_nothing() {
    for place in Place::both() {
        let locks = place.prices(2).await;
        for polls in 0..60 {
            let held = locks[0].write().acquire().await.unwrap();
            let (read, write) = (locks[1].read(), locks[1].write());
            let waiting = async {
                tokio::join!(
                    dropped_after(polls, read.acquire()),
                    dropped_after(polls + 1, read.acquire()),
                    dropped_after(polls + 2, write.acquire())
                )
            };
            let releasing = async {
                for _ in 0..polls / 2 {
                    tokio::task::yield_now().await;
                }
                held.release().await.unwrap();
            };
            tokio::join!(waiting, releasing);
        }
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn a_downgrade_dropped_at_any_point_leaves_nothing() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        // On a busy machine the answer takes more than a few polls: the last one waits for it.
        const TO_ITS_END: usize = 100_000;
        let mut finished = false;
        for polls in (0..40).chain([TO_ITS_END]) {
            let writes = lock.write().acquire().await.unwrap();
            finished = dropped_after(polls, writes.downgrade()).await;
            nothing_is_left(lock).await;
        }
        assert!(finished, "the last one came to no end");
    }
}

#[tokio::test]
async fn a_release_that_is_dropped_goes_on() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        for polls in 0..20 {
            for side in [lock.read(), lock.write()] {
                let held = side.acquire().await.unwrap();
                // Before the first poll it is the drop of the hold that releases.
                dropped_after(polls, held.release()).await;
                nothing_is_left(lock).await;
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_closes_leaves_the_queue_to_others() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await, place.client().await];
        let locks = clients.each_ref().map(|client| client.rw_lock("prices").unwrap());
        let reads = locks[0].read().acquire().await.unwrap();
        let writer = waits(&locks[1].write());
        queued(&locks[0], 1).await;
        let reader = waits(&locks[2].read());
        queued(&locks[0], 2).await;
        clients[1].close().await;
        assert_eq!(soon("the refusal", writer).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        granted(reader).await.release().await.unwrap();
        reads.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
        assert_eq!(locks[1].read().acquire().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(locks[1].inspect().await.unwrap_err().kind(), ErrorKind::Closed);
    }
}

#[tokio::test]
async fn a_close_with_a_release_ends_all_holds() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await];
        let long = RwLockOptions::default().shared_age(SOON);
        let locks = clients.each_ref().map(|client| client.rw_lock_with("prices", long).unwrap());
        let me = HolderId::fresh();
        let held = [
            locks[0].write().acquire_as(me, AcquireOptions::default()).await.unwrap().downgrade().await.unwrap(),
            locks[0].read().acquire().await.unwrap(),
            locks[0].read().acquire().await.unwrap(),
        ];
        assert_eq!((held[1].token() == held[2].token(), locks[0].inspect().await.unwrap().readers), (true, 2));
        let writer = waits(&locks[1].write());
        queued(&locks[1], 1).await;
        let own = waits(&locks[0].write());
        waiting(&locks[0], 1).await;
        soon("the closing", clients[0].close_releasing()).await.unwrap();
        assert_eq!(soon("the refusal", own).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        granted(writer).await.release().await.unwrap();
        for held in held {
            assert!(!held.is_valid());
            assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Closed));
        }
        nothing_is_left(&locks[1]).await;
    }
}

#[tokio::test]
async fn an_abandoned_holder_loses_both_sides() {
    for place in Place::both() {
        let client = place.client().await;
        let lock = client.rw_lock("prices").unwrap();
        let me = HolderId::fresh();
        let writes = lock.write().acquire_as(me, AcquireOptions::default()).await.unwrap();
        let reads = lock.read().acquire_as(me, AcquireOptions::default()).await.unwrap();
        client.abandon(me);
        for held in [writes, reads] {
            assert_eq!(held.loss(), Some(LossReason::Closed));
        }
        assert_eq!((lock.read().hold_count(me), lock.write().hold_count(me)), (0, 0));
        assert!(lock.inspect().await.unwrap().writer.is_some(), "the lease runs out by itself");
    }
}

#[tokio::test]
async fn holds_end_with_the_last_user_of_their_lock() {
    let place = Place::memory();
    let client = place.client().await;
    let lock = client.rw_lock("prices").unwrap();
    let me = HolderId::fresh();
    let grant = lock.read().acquire_as(me, AcquireOptions::default()).await.unwrap().into_grant();
    drop(lock);
    assert_eq!(soon("the loss", grant.lost()).await, Some(LossReason::Closed));
}
