//! The lease that the watchdog renews can be set for each lock. On `memory://` with a clock that the test moves.

use std::time::Duration;

use crate::common::{client, settle};
use libdlock::lease::{HolderId, Lease, LossReason};
use libdlock::lock::{AcquireOptions, LockOptions};
use libdlock::{Client, ErrorKind, Lock, Wait};

const SECOND: Duration = Duration::from_secs(1);
const SHORT: Duration = Duration::from_secs(2);
const LONG: Duration = Duration::from_secs(20);

fn lock(client: &Client, name: &str, watchdog_lease: Duration) -> Lock {
    client.lock_with(name, LockOptions::default().watchdog_lease(watchdog_lease)).unwrap()
}

async fn ttl(lock: &Lock) -> Duration {
    lock.inspect().await.unwrap().ttl.expect("held")
}

#[tokio::test]
async fn each_lock_is_renewed_every_third_of_its_own_lease() {
    let (client, clock) = client().await;
    let (short, long) = (lock(&client, "short", SHORT), lock(&client, "long", LONG));
    let held = (short.acquire().await.unwrap(), long.acquire().await.unwrap());
    assert_eq!((ttl(&short).await, ttl(&long).await), (SHORT, LONG));
    let margins = (Duration::from_millis(10 + 200), Duration::from_millis(10 + 2_000));
    assert_eq!((held.0.remaining(), held.1.remaining()), (SHORT - margins.0, LONG - margins.1));
    for round in 1..=9 {
        clock.advance(Duration::from_millis(700));
        settle().await;
        let passed = Duration::from_millis(700) * round;
        assert_eq!((ttl(&short).await, ttl(&long).await), (SHORT, LONG - passed), "round {round}");
    }
    clock.advance(Duration::from_millis(700));
    settle().await;
    assert_eq!((ttl(&short).await, ttl(&long).await), (SHORT, LONG));
}

#[tokio::test]
async fn each_lock_is_lost_after_its_own_lease() {
    let (client, clock) = client().await;
    let (short, long) = (lock(&client, "short", SHORT), lock(&client, "long", LONG));
    let held = (short.acquire().await.unwrap(), long.acquire().await.unwrap());
    // As a process that was stopped.
    clock.advance(3 * SECOND);
    settle().await;
    assert_eq!((held.0.loss(), held.1.loss()), (Some(LossReason::Expired), None));
    assert!(held.1.is_valid());
    clock.advance(LONG);
    settle().await;
    assert_eq!(held.1.loss(), Some(LossReason::Expired));
}

#[tokio::test]
async fn a_reentry_with_a_longer_watchdog_lease_prevails() {
    let (client, clock) = client().await;
    let (short, long, me) = (lock(&client, "k", SHORT), lock(&client, "k", LONG), HolderId::fresh());
    let held = short.acquire_as(me, AcquireOptions::default()).await.unwrap();
    let _again = long.acquire_as(me, AcquireOptions::default()).await.unwrap();
    assert_eq!((held.lease(), ttl(&short).await), (LONG, LONG));
    assert_eq!(held.remaining(), LONG - LONG / 10 - Duration::from_millis(10), "the margin of a renewed lease");
    // Also when the inner scope has ended, and whatever a shorter one asks for.
    long.release_as(me).await.unwrap();
    let _third = short.acquire_as(me, AcquireOptions::default()).await.unwrap();
    clock.advance(6 * SECOND);
    settle().await;
    assert_eq!(ttl(&short).await, LONG - 6 * SECOND, "renewed at a third of the longer one");
    clock.advance(SECOND);
    settle().await;
    assert_eq!((held.loss(), ttl(&short).await), (None, LONG));
}

#[tokio::test]
async fn a_waiter_gets_its_own_watchdog_lease_not_the_holders() {
    let (client, _clock) = client().await;
    let (short, long) = (lock(&client, "k", SHORT), lock(&client, "k", LONG));
    for (first, second, lease) in [(&short, &long, LONG), (&long, &short, SHORT)] {
        let held = first.acquire().await.unwrap();
        let waiter = second.clone();
        let waiting = tokio::spawn(async move { waiter.acquire().await.unwrap() });
        while client.stats().lock.waiting == 0 {
            tokio::task::yield_now().await;
        }
        held.release().await.unwrap();
        let next = waiting.await.unwrap();
        assert_eq!((next.lease(), ttl(first).await), (lease, lease));
        next.release().await.unwrap();
    }
}

/// A hold that is renewed is not one whose lease was given, even if an `extend` has made both as long.
#[tokio::test]
async fn an_extended_hold_is_not_handed_to_one_with_a_fixed_lease() {
    let (client, clock) = client().await;
    let lock = client.lock("k").unwrap();
    let first = lock.acquire().await.unwrap();
    let wait = |lease: Lease| {
        let (lock, how) = (lock.clone(), AcquireOptions::default().lease(lease));
        tokio::spawn(async move { lock.acquire_as(HolderId::fresh(), how).await.unwrap() })
    };
    let mut waiting = Vec::new();
    for lease in [Lease::Watchdog, Lease::Fixed(60 * SECOND)] {
        waiting.push(wait(lease));
        while client.stats().lock.waiting < waiting.len() as u64 {
            tokio::task::yield_now().await;
        }
    }
    first.release().await.unwrap();
    let mut waiting = waiting.into_iter();
    let second = waiting.next().unwrap().await.unwrap();
    second.extend(60 * SECOND).await.unwrap();
    second.release().await.unwrap();
    let third = waiting.next().unwrap().await.unwrap();
    for _ in 0..61 {
        clock.advance(SECOND);
        settle().await;
    }
    assert_eq!(third.loss(), Some(LossReason::Expired));
}

#[tokio::test]
async fn an_attached_hold_is_renewed_with_its_locks_lease() {
    let (client, clock) = client().await;
    let (short, long) = (lock(&client, "k", SHORT), lock(&client, "k", LONG));
    let text = long.acquire().await.unwrap().detach().await.unwrap();
    let held = short.attach_as(HolderId::fresh(), &text).await.unwrap();
    // What the text brought is used up, and not cut.
    assert_eq!(held.remaining(), LONG - LONG / 10 - Duration::from_millis(10), "the margin of a renewed lease");
    for _ in 0..30 {
        clock.advance(Duration::from_millis(700));
        settle().await;
    }
    assert_eq!((held.loss(), ttl(&short).await), (None, SHORT));
}

#[tokio::test]
async fn attach_through_a_longer_watchdog_lease_takes_it_at_once() {
    let (client, clock) = client().await;
    let (short, long) = (lock(&client, "k", SHORT), lock(&client, "k", LONG));
    let text = short.acquire().await.unwrap().detach().await.unwrap();
    clock.advance(SECOND);
    let held = long.attach_as(HolderId::fresh(), &text).await.unwrap();
    assert_eq!((held.lease(), ttl(&long).await), (LONG, LONG));
    assert_eq!(held.remaining(), LONG - LONG / 10 - Duration::from_millis(10), "the margin of a renewed lease");
    clock.advance(6 * SECOND);
    settle().await;
    assert_eq!((held.loss(), ttl(&long).await), (None, LONG - 6 * SECOND));
    clock.advance(SECOND);
    settle().await;
    assert_eq!((held.loss(), ttl(&long).await), (None, LONG), "renewed at a third of it");
}

#[tokio::test]
async fn attach_of_a_fixed_lease_ignores_the_watchdog_lease() {
    let (client, clock) = client().await;
    let how = AcquireOptions::default().lease(Lease::Fixed(SHORT));
    let held = lock(&client, "k", LONG).acquire_as(HolderId::fresh(), how).await.unwrap();
    let text = held.detach().await.unwrap();
    let long = lock(&client, "k", LONG);
    let held = long.attach_as(HolderId::fresh(), &text).await.unwrap();
    assert_eq!((held.lease(), ttl(&long).await), (SHORT, SHORT));
    clock.advance(SHORT);
    settle().await;
    assert_eq!(held.loss(), Some(LossReason::Expired));
}

#[tokio::test]
async fn an_extend_to_less_than_the_watchdog_lease_delays_no_renewal() {
    let (client, clock) = client().await;
    let lock = lock(&client, "k", LONG);
    let held = lock.acquire().await.unwrap();
    for _ in 0..30 {
        clock.advance(SECOND);
        held.extend(Duration::from_millis(100)).await.unwrap();
        settle().await;
    }
    assert_eq!(held.loss(), None);
}

#[tokio::test]
async fn an_acquire_may_still_ask_for_a_lease_that_is_not_renewed() {
    let (client, clock) = client().await;
    let lock = lock(&client, "k", SHORT);
    let how = AcquireOptions::default().wait(Wait::Try).lease(Lease::Fixed(5 * SECOND));
    let held = lock.acquire_as(HolderId::fresh(), how).await.unwrap();
    clock.advance(4 * SECOND);
    settle().await;
    assert_eq!((held.loss(), ttl(&lock).await), (None, SECOND));
}

#[tokio::test]
async fn the_options_of_a_lock_are_those_of_the_vectors() {
    let (client, _clock) = client().await;
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../api/options.json")).unwrap();
    let with = |name: &str, millis: u64| {
        let lease = Duration::from_millis(millis);
        client.lock_with(
            "k",
            match name {
                "lease" => LockOptions::default().lease(Lease::Fixed(lease)),
                "watchdog_lease" => LockOptions::default().watchdog_lease(lease),
                _ => panic!("no duration: {name}"),
            },
        )
    };
    let rows = vectors["lock"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["lease", "watchdog_lease", "reentrant"]);
    for row in rows.iter().filter(|row| row["type"] == "duration") {
        let (name, min, max) =
            (row["name"].as_str().unwrap(), row["min"].as_u64().unwrap(), row["max"].as_u64().unwrap());
        assert!(with(name, min).is_ok() && with(name, max).is_ok(), "{name}");
        for beyond in [min - 1, max + 1] {
            let error = with(name, beyond).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument);
            assert!(error.message().contains(&name.replace('_', " ")), "{error}");
        }
    }
}

#[tokio::test]
async fn a_fixed_lease_and_a_watchdog_lease_exclude_each_other() {
    let (client, _clock) = client().await;
    let both = LockOptions::default().lease(Lease::Fixed(LONG)).watchdog_lease(SHORT);
    let error = client.lock_with("k", both).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("2s") && error.message().contains("20s"), "{error}");
}
