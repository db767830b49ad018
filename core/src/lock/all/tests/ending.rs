//! How a hold of a set ends.

use std::time::Duration;

use super::*;
use crate::contended::place::still_client;
use crate::error::ErrorKind;
use crate::lease::{AcquireOptions, HolderId, Lease, LossReason};
use crate::wait::Wait;

#[tokio::test]
async fn a_lost_member_ends_the_whole_and_is_named() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let held = set(&one).acquire().await.unwrap();
        assert_eq!(held.lost_within(Wait::Try).await.unwrap_err().kind(), ErrorKind::Busy);
        lock(&other, "b").force_release().await.unwrap();
        let lost = soon("it is lost", held.lost()).await.unwrap();
        assert_eq!((lost.name.as_str(), lost.reason), ("b", LossReason::Deleted));
        assert!(!held.is_valid());
        assert_eq!(held.loss(), Some(lost));
        assert!(is_held(&other, "a").await, "the others are the holder's until it releases");
        assert_eq!(held.extend(Duration::from_secs(60)).await.unwrap_err().kind(), ErrorKind::NotHeld);
        let error = held.release().await.unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::NotHeld, Some("b")), "{error}");
        nothing_is_left(&other, &NAMES).await;
    }
}

#[tokio::test]
async fn what_is_left_of_a_lost_set_has_to_be_released_first() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let (set, me, how) = (set(&one), HolderId::fresh(), AcquireOptions::default());
        let held = set.acquire_as(me, how).await.unwrap();
        lock(&other, "a").force_release().await.unwrap();
        soon("it is lost", held.lost()).await.unwrap();
        // Also when the holder has been told of the loss before.
        for _ in 0..2 {
            let error = set.acquire_as(me, how).await.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::Lost, Some("a")), "{error}");
            let advice = "Release first what this holder still holds: b, c";
            assert!(error.message().contains(advice), "{error}");
        }
        assert!(is_held(&other, "c").await, "an error releases nothing");
        held.release().await.unwrap_err();
        set.acquire_as(me, how).await.unwrap().release().await.unwrap();
        nothing_is_left(&other, &NAMES).await;
    }
}

#[tokio::test]
async fn a_release_is_no_loss() {
    for place in Place::both() {
        let client = place.client().await;
        let held = set(&client).acquire().await.unwrap();
        let watched: Vec<_> = held.grants().map(|(_, grant)| grant.clone()).collect();
        held.release().await.unwrap();
        for grant in watched {
            assert_eq!(grant.lost().await, None);
        }
        assert_eq!(client.stats().lock.released, 3);
    }
}

#[tokio::test]
async fn the_members_are_the_locks_holds_in_statistics() {
    let client = Place::memory().client().await;
    let held = set(&client).acquire().await.unwrap();
    let stats = client.stats().lock;
    assert_eq!((stats.acquired, stats.held), (3, 3));
    drop(held);
    nothing_is_left(&client, &NAMES).await;
    assert_eq!(client.stats().lock.released, 3);
}

#[tokio::test]
async fn a_set_is_valid_as_long_as_each_of_its_locks() {
    let (client, clock) = still_client().await;
    let set = set(&client);
    let me = HolderId::fresh();
    let how = AcquireOptions::default().lease(Lease::Fixed(Duration::from_secs(5)));
    let held = set.acquire_as(me, how).await.unwrap();
    let longer = lock(&client, "a");
    longer.extend_as(me, Duration::from_secs(60)).await.unwrap();
    assert!(held.remaining() < Duration::from_secs(5), "that of the others");
    clock.advance(Duration::from_secs(6));
    assert!(!held.is_valid());
    assert_eq!(held.loss().map(|lost| lost.name), Some("b".to_owned()));
    assert_eq!(set.hold_count(me), 0);
    assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert!(longer.try_acquire().await.unwrap().is_some(), "what was not lost is released");
}

#[tokio::test]
async fn closing_ends_the_hold_and_its_waiters() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let held = set(&one).acquire().await.unwrap();
        let waiting = tokio::spawn({
            let set = set(&other);
            async move { set.acquire().await }
        });
        queued(&other, "a", 1).await;
        other.close().await;
        let error = soon("the waiter is told", waiting).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Closed);
        one.close_releasing().await.unwrap();
        assert_eq!(held.lost().await.map(|lost| lost.reason), Some(LossReason::Closed));
        let third = place.client().await;
        set(&third).try_acquire().await.unwrap().expect("it was released").release().await.unwrap();
    }
}

#[tokio::test]
async fn a_release_wakes_a_waiter_of_each_lock() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let held = set(&one).acquire().await.unwrap();
        let mut waiters = Vec::new();
        for name in NAMES {
            for client in [&one, &other] {
                let lock = lock(client, name);
                waiters.push(tokio::spawn(async move { lock.acquire().await.unwrap().release().await }));
            }
            queued(&other, name, 1).await;
        }
        let released = std::time::Instant::now();
        held.release().await.unwrap();
        for waiter in waiters {
            soon("it has had its lock", waiter).await.unwrap().unwrap();
        }
        assert!(released.elapsed() < Duration::from_millis(500), "they were told: {:?}", released.elapsed());
        nothing_is_left(&one, &NAMES).await;
    }
}
