//! What a lock does, seen from outside, on `memory://` with a clock that the test moves.

use std::time::Duration;

use crate::common::{client, settle};
use libdlock::embed::{abandon_all, into_grant};
use libdlock::error::ErrorFamily;
use libdlock::lease::{HoldState, HolderId, Lease, LossReason};
use libdlock::lock::{AcquireOptions, LockOptions};
use libdlock::{Client, Config, ErrorKind, Lock, Rate, Wait};

const SECOND: Duration = Duration::from_secs(1);

fn fixed(client: &Client, name: &str, lease: Duration) -> Lock {
    let options = LockOptions::default().lease(Lease::Fixed(lease));
    client.lock_with(name, options).unwrap()
}

#[tokio::test]
async fn tokens_grow_from_hold_to_hold() {
    let (client, _clock) = client().await;
    let lock = client.lock("k").unwrap();
    let mut last = 0;
    for _ in 0..100 {
        let held = lock.acquire().await.unwrap();
        assert!(held.token() > last);
        last = held.token();
        held.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_second_holder_is_told_who_has_it_and_for_how_long() {
    let (client, _clock) = client().await;
    let lock = client.lock("k").unwrap();
    let held = lock.acquire().await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    let other = client.lock("k").unwrap();
    let how = AcquireOptions::default().wait(Wait::Try);
    let error = other.acquire_as(HolderId::fresh(), how).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.message().contains(&held.token().to_string()), "{error}");
    assert_eq!((error.holder(), error.is_retryable()), (Some(held.owner()), true));
    assert!(error.remaining().is_some_and(|left| left > Duration::from_secs(20)), "{error}");
    held.release().await.unwrap();
    assert!(lock.try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn a_refused_value_carries_what_is_allowed() {
    let (client, _clock) = client().await;
    let short = LockOptions::default().lease(Lease::Fixed(Duration::from_millis(5)));
    for (error, allowed) in [
        (client.lock_with("k", short).map(drop).unwrap_err(), "100 ms to 24 h"),
        (client.rate_limiter("k", Rate::new(5, Duration::ZERO)).map(drop).unwrap_err(), "1 us to 100 years"),
        (client.lock("").map(drop).unwrap_err(), "1 to 512 bytes"),
        (Client::connect("memory://?cohort_max=no").await.map(drop).unwrap_err(), "whole numbers from "),
        (Client::connect("redis://h?tls=yes").await.map(drop).unwrap_err(), "connect_timeout, "),
    ] {
        assert!(error.allowed().is_some_and(|said| said.contains(allowed)), "{error}: {:?}", error.allowed());
        assert!(error.message().ends_with(error.allowed().unwrap()), "{error}");
        assert_eq!((error.kind().family(), error.is_retryable()), (Some(ErrorFamily::Usage), false), "{error}");
    }
}

#[tokio::test]
async fn two_clients_of_one_store_exclude_and_wake_each_other() {
    let first = Client::connect("memory://exclude").await.unwrap();
    let second = Client::connect("memory://exclude").await.unwrap();
    let held = first.lock("k").unwrap().acquire().await.unwrap();
    let theirs = second.lock("k").unwrap();
    let error = theirs.acquire_timeout(Duration::from_millis(30)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.message().contains(held.owner()), "{error}");
    assert_eq!((error.holder(), error.is_retryable()), (Some(held.owner()), true));
    let left = error.remaining().unwrap();
    assert!(left > Duration::from_secs(20) && left <= Duration::from_secs(30), "{left:?}");
    let waiting = tokio::spawn(async move { theirs.acquire().await.unwrap().token() });
    let token = held.token();
    held.release().await.unwrap();
    assert!(waiting.await.unwrap() > token);
}

#[tokio::test]
async fn a_holder_may_come_again_and_each_acquire_wants_its_release() {
    let (client, _clock) = client().await;
    let lock = client.lock("k").unwrap();
    let me = HolderId::fresh();
    let first = into_grant(lock.acquire_as(me, AcquireOptions::default()).await.unwrap());
    for depth in 2..=10_000 {
        let again = into_grant(lock.acquire_as(me, AcquireOptions::default()).await.unwrap());
        assert_eq!((again.token(), lock.hold_count(me)), (first.token(), depth));
    }
    for depth in (0..10_000).rev() {
        lock.release_as(me).await.unwrap();
        assert_eq!(lock.hold_count(me), depth);
    }
    assert_eq!(lock.release_as(me).await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert!(lock.inspect().await.unwrap().holder.is_none());
}

#[tokio::test]
async fn without_reentry_a_second_acquire_is_a_deadlock_at_once() {
    let (client, _clock) = client().await;
    let lock = client.lock_with("k", LockOptions::default().reentrant(false)).unwrap();
    let me = HolderId::fresh();
    let _held = lock.acquire_as(me, AcquireOptions::default()).await.unwrap();
    assert_eq!(lock.acquire_as(me, AcquireOptions::default()).await.unwrap_err().kind(), ErrorKind::Deadlock);
    assert_eq!(lock.hold_count(me), 1);
}

#[tokio::test]
async fn a_given_lease_ends_and_says_so_25_ms_before() {
    let (client, clock) = client().await;
    let lock = fixed(&client, "k", SECOND);
    let held = lock.acquire().await.unwrap();
    settle().await;
    // 1 s less the margin of 10 ms + 1 %.
    clock.advance(Duration::from_millis(954));
    settle().await;
    assert_eq!(held.state(), HoldState::Held);
    clock.advance(Duration::from_millis(1));
    assert_eq!(held.lost().await, Some(LossReason::Expired));
    assert!(held.is_valid(), "announced before the end");
    clock.advance(Duration::from_millis(25));
    assert!(!held.is_valid());
    assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
}

#[tokio::test]
async fn the_watchdog_renews_at_a_third_for_as_long_as_it_takes() {
    let (client, clock) = client().await;
    let held = client.lock("k").unwrap().acquire().await.unwrap();
    settle().await;
    for _ in 0..100 {
        clock.advance(Duration::from_secs(10));
        settle().await;
        assert_eq!(held.state(), HoldState::Held);
        assert!(held.remaining() > Duration::from_millis(26_900));
    }
    held.release().await.unwrap();
}

#[tokio::test]
async fn ones_own_force_release_ends_ones_own_hold_at_once() {
    let (client, _clock) = client().await;
    let lock = client.lock("k").unwrap();
    let fixed = fixed(&client, "k", SECOND);
    for lock_of_it in [&lock, &fixed] {
        let held = lock_of_it.acquire().await.unwrap();
        assert!(lock.force_release().await.unwrap());
        assert_eq!(held.state(), HoldState::Lost(LossReason::Deleted));
        assert!(!held.is_valid() && held.lost().await == Some(LossReason::Deleted));
        assert!(!lock.force_release().await.unwrap());
        let next = lock.try_acquire().await.unwrap().expect("it is free");
        assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
        next.release().await.unwrap();
    }
}

#[tokio::test]
async fn an_acquire_after_a_loss_is_refused_until_it_was_released() {
    let (client, clock) = client().await;
    let lock = fixed(&client, "k", SECOND);
    let me = HolderId::fresh();
    let lost = into_grant(lock.acquire_as(me, AcquireOptions::default()).await.unwrap());
    clock.advance(2 * SECOND);
    assert_eq!(lost.lost().await, Some(LossReason::Expired));
    assert_eq!(lock.acquire_as(me, AcquireOptions::default()).await.unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(lock.hold_count(me), 0);
    assert_eq!(lock.release_as(me).await.unwrap_err().kind(), ErrorKind::NotHeld);
    let again = lock.acquire_as(me, AcquireOptions::default()).await.unwrap();
    assert!(again.token() > lost.token());
}

#[tokio::test]
async fn extend_prolongs_and_never_shortens() {
    let (client, clock) = client().await;
    let lock = fixed(&client, "k", SECOND);
    let held = lock.acquire().await.unwrap();
    held.extend(10 * SECOND).await.unwrap();
    clock.advance(5 * SECOND);
    settle().await;
    let before = held.remaining();
    held.extend(SECOND).await.unwrap();
    assert_eq!(held.remaining(), before);
    assert_eq!(held.state(), HoldState::Held);
    for refused in [Duration::ZERO, Duration::from_millis(99), Duration::from_secs(86_401)] {
        assert_eq!(held.extend(refused).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
}

#[tokio::test]
async fn waiters_are_served_in_order_and_a_dropped_one_leaves_no_gap() {
    let (client, _clock) = client().await;
    let lock = client.lock("k").unwrap();
    let held = lock.acquire().await.unwrap();
    let (served, mut order) = tokio::sync::mpsc::unbounded_channel();
    let mut waiters = Vec::new();
    for number in 0..5 {
        let (lock, served) = (lock.clone(), served.clone());
        waiters.push(tokio::spawn(async move {
            let held = lock.acquire().await.unwrap();
            served.send(number).unwrap();
            held.release().await.unwrap();
        }));
        settle().await;
    }
    waiters[1].abort();
    settle().await;
    held.release().await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 4 {
        seen.push(order.recv().await.unwrap());
    }
    assert_eq!(seen, [0, 2, 3, 4]);
}

#[tokio::test]
async fn a_future_dropped_at_any_point_leaves_nothing() {
    let (client, _clock) = client().await;
    let lock = client.lock("k").unwrap();
    for polls in 0..6 {
        let mut acquiring = Box::pin(lock.acquire());
        for _ in 0..polls {
            tokio::select! {
                biased;
                held = &mut acquiring => {
                    drop(held);
                    break;
                }
                () = tokio::task::yield_now() => {}
            }
        }
        drop(acquiring);
        let next = lock.acquire_timeout(SECOND).await.expect("an abandoned acquire still holds the lock");
        next.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_holder_that_gave_up_and_comes_again_really_holds() {
    let first = Client::connect("memory://again").await.unwrap();
    let second = Client::connect("memory://again").await.unwrap();
    let (lock, theirs) = (first.lock("k").unwrap(), second.lock("k").unwrap());
    let me = HolderId::fresh();
    for round in 0..500 {
        let mut given_up = Box::pin(lock.acquire_as(me, AcquireOptions::default()));
        for _ in 0..round % 5 {
            tokio::select! {
                biased;
                held = &mut given_up => {
                    drop(held);
                    break;
                }
                () = tokio::task::yield_now() => {}
            }
        }
        drop(given_up);
        let held = lock.acquire_as(me, AcquireOptions::default()).await.unwrap();
        settle().await;
        assert_eq!(held.state(), HoldState::Held);
        assert!(theirs.try_acquire().await.unwrap().is_none(), "held by two in round {round}");
        held.release().await.unwrap();
    }
}

#[tokio::test]
async fn an_extension_outlives_the_watchdogs_renewals_and_they_go_on() {
    let (client, clock) = client().await;
    let lock = client.lock("k").unwrap();
    let held = lock.acquire().await.unwrap();
    held.extend(Duration::from_secs(120)).await.unwrap();
    for _ in 0..12 {
        clock.advance(Duration::from_secs(10));
        settle().await;
    }
    assert_eq!(held.state(), HoldState::Held);
    assert!(lock.inspect().await.unwrap().ttl.unwrap() > Duration::from_secs(15));
    lock.force_release().await.unwrap();
    clock.advance(Duration::from_secs(10));
    assert_eq!(held.lost().await, Some(LossReason::Deleted), "noticed within a third of the watchdog's lease");
}

#[tokio::test]
async fn a_hold_can_be_handed_over_once_with_its_token() {
    let first = Client::connect("memory://handover").await.unwrap();
    let second = Client::connect("memory://handover").await.unwrap();
    let held = first.lock("k").unwrap().acquire().await.unwrap();
    let token = held.token();
    let text = held.detach().await.unwrap();
    let theirs = second.lock("k").unwrap();
    assert!(theirs.try_acquire().await.unwrap().is_none(), "detached is not free");
    let taken = theirs.attach_as(HolderId::fresh(), &text).await.unwrap();
    assert_eq!(taken.token(), token);
    assert!(theirs.inspect().await.unwrap().ours);
    let error = theirs.attach_as(HolderId::fresh(), &text).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotHeld);
    taken.release().await.unwrap();
    for bad in ["", "dlock1;w;30000;1;a;other", "nonsense"] {
        let error = theirs.attach_as(HolderId::fresh(), bad).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{bad}");
    }
    let error = theirs.attach_as(HolderId::fresh(), "dlock2;w;30000;1;a;k").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "a later version wrote it");
}

#[tokio::test]
async fn close_tells_holders_and_waiters_and_may_be_repeated() {
    let (client, _clock) = client().await;
    let lock = client.lock("k").unwrap();
    let held = lock.acquire().await.unwrap();
    let waiting = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await.unwrap_err().kind() }
    });
    settle().await;
    client.close().await;
    client.close().await;
    assert_eq!(waiting.await.unwrap(), ErrorKind::Closed);
    assert_eq!(held.lost().await, Some(LossReason::Closed));
    assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(lock.acquire().await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(client.lock("k").unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn close_releasing_frees_first() {
    let first = Client::connect("memory://closing").await.unwrap();
    let second = Client::connect("memory://closing").await.unwrap();
    let lock = first.lock("k").unwrap();
    let _held = lock.acquire().await.unwrap();
    let waiters: Vec<_> = (0..20)
        .map(|_| {
            let lock = lock.clone();
            tokio::spawn(async move { lock.acquire().await.unwrap_err().kind() })
        })
        .collect();
    settle().await;
    first.close_releasing().await.unwrap();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap(), ErrorKind::Closed, "a waiter of the closing client got what was released");
    }
    assert!(second.lock("k").unwrap().try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn a_releasing_close_tells_the_holder_that_its_hold_is_lost() {
    let first = Client::connect("memory://closing-under-a-holder").await.unwrap();
    let second = Client::connect("memory://closing-under-a-holder").await.unwrap();
    let held = first.lock("k").unwrap().acquire().await.unwrap();
    let other = tokio::spawn(async move { second.lock("k").unwrap().acquire().await.unwrap() });
    settle().await;
    first.close_releasing().await.unwrap();
    let _other = other.await.unwrap();
    assert_eq!(held.lost().await, Some(LossReason::Closed), "another holder may work beside it");
    assert!(!held.is_valid());
    assert_eq!(first.stats().lock.released, 1);
    assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_holder_that_went_away_keeps_the_lock_for_its_lease() {
    let (client, clock) = client().await;
    let lock = client.lock("k").unwrap();
    let gone = HolderId::fresh();
    let grant = into_grant(lock.acquire_as(gone, AcquireOptions::default()).await.unwrap());
    abandon_all(&client, gone);
    assert_eq!(grant.loss(), Some(LossReason::Closed));
    assert!(lock.try_acquire().await.unwrap().is_none());
    clock.advance(Duration::from_millis(30_001));
    assert!(lock.try_acquire().await.unwrap().is_some());
}

#[tokio::test]
async fn a_lock_has_its_given_name_and_its_errors_name_the_key() {
    let mut config = Config::from_url("memory://").unwrap();
    config.set("key_prefix", "shop:").unwrap();
    let client = Client::connect_with(config).await.unwrap();
    let lock = client.lock("stock").unwrap();
    assert_eq!(lock.name(), "stock");
    let _held = lock.acquire().await.unwrap();
    let error = lock.acquire_timeout(Duration::from_millis(1)).await.unwrap_err();
    assert_eq!(error.name(), Some("shop:stock"));
    let error = lock
        .acquire_as(HolderId::fresh(), AcquireOptions::default().wait(Wait::Try).lease(Lease::Fixed(Duration::ZERO)));
    assert_eq!(error.await.unwrap_err().name(), Some("shop:stock"));
}

#[tokio::test]
async fn a_hold_is_waited_for_to_be_over_no_longer_than_one_likes() {
    let (client, clock) = client().await;
    let lock = fixed(&client, "k", SECOND);
    let held = lock.acquire().await.unwrap();
    for wait in [Wait::Try, Wait::For(Duration::ZERO)] {
        assert_eq!(held.lost_within(wait).await.unwrap_err().kind(), ErrorKind::Busy);
    }
    let waiting = tokio::spawn({
        let grant = held.clone();
        async move { grant.lost_within(Wait::For(SECOND / 2)).await }
    });
    settle().await;
    clock.advance(SECOND / 2);
    assert_eq!(waiting.await.unwrap().unwrap_err().kind(), ErrorKind::Busy);
    clock.advance(SECOND / 2);
    assert_eq!(held.lost_within(Wait::Forever).await.unwrap(), Some(LossReason::Expired));
    assert_eq!(held.lost_within(Wait::Try).await.unwrap(), Some(LossReason::Expired));
    let other = client.lock("other").unwrap().acquire().await.unwrap();
    let waiting = tokio::spawn({
        let grant = other.clone();
        async move { grant.lost_within(Wait::For(48 * 3600 * SECOND)).await }
    });
    settle().await;
    other.release().await.unwrap();
    let ended = tokio::time::timeout(5 * SECOND, waiting).await.expect("a release ends the wait").unwrap();
    assert_eq!(ended.unwrap(), None, "a wait may be as long as one likes");
}
