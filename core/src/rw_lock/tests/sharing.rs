//! Readers of one process have one hold on the server together.

use super::*;
use crate::lease::{HoldState, Lease, LossReason};

const SECOND: Duration = Duration::from_secs(1);

/// Every hold is as young as can be.
async fn still_lock() -> (Client, RwLock, crate::ManualClock) {
    let (client, clock) = still_client().await;
    let lock = client.rw_lock("prices").unwrap();
    (client, lock, clock)
}

#[tokio::test]
async fn a_reader_joins_a_young_hold_and_no_old_one() {
    let (_client, lock, clock) = still_lock().await;
    let first = lock.read().acquire().await.unwrap();
    clock.advance(Duration::from_millis(9));
    let second = lock.read().acquire().await.unwrap();
    assert_eq!((second.token(), second.owner()), (first.token(), first.owner()));
    assert_eq!(lock.inspect().await.unwrap().readers, 1);
    clock.advance(Duration::from_millis(1));
    let third = lock.read().acquire().await.unwrap();
    assert!(third.token() > second.token());
    assert_eq!(lock.inspect().await.unwrap().readers, 2);
    // The new hold is young.
    let fourth = lock.read().try_acquire().await.unwrap().unwrap();
    assert_eq!(fourth.token(), third.token());
    assert_eq!(counts(&lock).held, 2);
    for held in [first, second, third, fourth] {
        held.release().await.unwrap();
    }
    nothing_is_left(&lock).await;
}

#[tokio::test]
async fn a_shared_hold_is_released_with_its_last_reader() {
    for place in Place::both() {
        let client = place.client().await;
        let lock = client.rw_lock_with("prices", RwLockOptions::default().shared_age(10 * SECOND)).unwrap();
        let held = [lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap()];
        let last = lock.read().acquire().await.unwrap();
        let watched = held.each_ref().map(|held| crate::lease::Grant::clone(held));
        for held in held {
            held.release().await.unwrap();
            assert!(last.is_valid());
            assert_eq!(lock.inspect().await.unwrap().readers, 1);
        }
        for grant in watched {
            assert_eq!((grant.state(), soon("the end", grant.lost()).await), (HoldState::Released, None));
        }
        drop(last);
        nothing_is_left(&lock).await;
        let again = lock.read().acquire().await.unwrap();
        assert_eq!(lock.inspect().await.unwrap().readers, 1, "what is over is not joined");
        again.release().await.unwrap();
    }
}

#[tokio::test]
async fn readers_that_wait_together_get_one_hold() {
    for place in Place::both() {
        let locks = place.prices(2).await;
        let writes = locks[0].write().acquire().await.unwrap();
        let waiters: Vec<_> = (0..5).map(|_| waits(&locks[1].read())).collect();
        waiting(&locks[1], 5).await;
        queued(&locks[0], 1).await;
        writes.release().await.unwrap();
        let mut held = Vec::new();
        for waiter in waiters {
            held.push(granted(waiter).await);
        }
        assert!(held.iter().all(|other| other.token() == held[0].token()));
        assert_eq!(locks[0].inspect().await.unwrap().readers, 1);
        drop(held);
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn readers_with_other_leases_have_holds_of_their_own() {
    let (client, lock, _clock) = still_lock().await;
    let longer = client.rw_lock_with("prices", RwLockOptions::default().watchdog_lease(60 * SECOND)).unwrap();
    let never = client.rw_lock_with("prices", RwLockOptions::default().shared_age(Duration::ZERO)).unwrap();
    let fixed = AcquireOptions::default().lease(Lease::Fixed(5 * SECOND));
    let held = [
        lock.read().acquire().await.unwrap(),
        lock.read().acquire_with(fixed).await.unwrap(),
        lock.read().acquire_with(fixed).await.unwrap(),
        longer.read().acquire().await.unwrap(),
        never.read().acquire().await.unwrap(),
    ];
    assert_eq!(lock.inspect().await.unwrap().readers, 5);
    drop(held);
    nothing_is_left(&lock).await;
}

/// A stream of readers must not keep a writer of their own process waiting for longer than the hold is young.
#[tokio::test]
async fn nobody_joins_past_a_writer_that_waits_here() {
    let (_client, lock, _clock) = still_lock().await;
    let reads = lock.read().acquire().await.unwrap();
    let writer = waits(&lock.write());
    waiting(&lock, 1).await;
    queued(&lock, 1).await;
    let behind = waits(&lock.read());
    waiting(&lock, 2).await;
    settle().await;
    assert!(!behind.is_finished());
    reads.release().await.unwrap();
    let writes = granted(writer).await;
    settle().await;
    assert!(!behind.is_finished());
    writes.release().await.unwrap();
    granted(behind).await.release().await.unwrap();
    nothing_is_left(&lock).await;
}

#[tokio::test]
async fn all_who_share_a_hold_lose_it_together() {
    let place = Place::server();
    let lock = place.prices(1).await.pop().unwrap();
    let long = RwLockOptions::default().shared_age(10 * SECOND).watchdog_lease(SECOND);
    let lock = Client::rw_lock_with(&place.client().await, lock.name(), long).unwrap();
    let held = [lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap()];
    assert_eq!(held[0].token(), held[1].token());
    place.server.as_ref().unwrap().cmd(&["DEL", "prices"]);
    for held in held {
        assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Deleted));
        assert!(!held.is_valid());
        assert_eq!(held.release().await.unwrap_err().kind(), crate::ErrorKind::NotHeld);
    }
    assert_eq!(counts(&lock).lost, 1, "one hold of the server");
    let next = lock.read().acquire().await.unwrap();
    assert!(next.is_valid(), "what is lost is not joined");
    next.release().await.unwrap();
}

/// Its release frees what may be left on the server, which makes no release of the loss.
#[tokio::test]
async fn a_reader_that_shared_an_expired_hold_hears_why() {
    let (_client, lock, clock) = still_lock().await;
    let held = [lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap()];
    clock.advance(3600 * SECOND);
    for held in held {
        let seen = crate::lease::Grant::clone(&held);
        let error = held.release().await.unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::NotHeld);
        assert!(error.message().contains("its lease ran out"), "{error}");
        assert_eq!((seen.loss(), seen.state()), (Some(LossReason::Expired), HoldState::Lost(LossReason::Expired)));
        assert_eq!(soon("the end", seen.lost()).await, Some(LossReason::Expired));
    }
    nothing_is_left(&lock).await;
}

#[tokio::test]
async fn an_abandoned_reader_leaves_the_hold_to_the_others() {
    for place in Place::both() {
        let client = place.client().await;
        let lock = client.rw_lock_with("prices", RwLockOptions::default().shared_age(10 * SECOND)).unwrap();
        let (goes, stays) = (HolderId::fresh(), HolderId::fresh());
        let how = AcquireOptions::default();
        let gone = lock.read().acquire_as(goes, how).await.unwrap();
        let held = lock.read().acquire_as(stays, how).await.unwrap();
        client.abandon(goes);
        assert_eq!(gone.loss(), Some(LossReason::Closed));
        assert!(held.is_valid() && lock.inspect().await.unwrap().readers == 1);
        drop(gone);
        assert!(held.is_valid());
        held.release().await.unwrap();
        nothing_is_left(&lock).await;
    }
}

#[tokio::test]
async fn an_extension_prolongs_for_all_who_share_the_hold() {
    let (_client, lock, clock) = still_lock().await;
    let held = [lock.read().acquire().await.unwrap(), lock.read().acquire().await.unwrap()];
    held[0].extend(60 * SECOND).await.unwrap();
    assert!(held.iter().all(|held| held.remaining() > 50 * SECOND));
    let [first, second] = held;
    first.release().await.unwrap();
    clock.advance(45 * SECOND);
    settle().await;
    assert!(second.is_valid());
    second.release().await.unwrap();
    nothing_is_left(&lock).await;
}

/// An attempt that jumps the queue brings a hold for those of its process that wait: their place is not needed any more.
#[tokio::test]
async fn readers_that_join_a_jumping_attempt_leave_the_queue() {
    for place in Place::both() {
        // Longer than the bound below: a place that nobody gave up would be left at the next poll.
        let client = Client::connect(&format!("{}?poll_interval=10s", place.url)).await.unwrap();
        let (ours, others) = (client.rw_lock("prices").unwrap(), place.prices(2).await);
        let held = others[0].read().acquire().await.unwrap();
        let writer = waits(&others[1].write());
        queued(&ours, 1).await;
        let reader = waits(&ours.read());
        queued(&ours, 2).await;
        let jumped = ours.read().try_acquire().await.unwrap().unwrap();
        let joined = granted(reader).await;
        assert_eq!(joined.token(), jumped.token());
        tokio::time::timeout(SECOND, queued(&ours, 1)).await.expect("the place in the queue is left");
        for held in [held, jumped, joined] {
            held.release().await.unwrap();
        }
        granted(writer).await.release().await.unwrap();
        nothing_is_left(&ours).await;
    }
}
