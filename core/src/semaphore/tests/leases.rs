//! What is held is leased: renewal, extension, loss.

use super::super::{AcquireOptions, HolderId};
use super::*;
use crate::error::ErrorKind;
use crate::lease::{HoldState, Lease, LossReason};
use crate::semaphore::SemaphoreOptions;

const SECOND: Duration = Duration::from_secs(1);

fn fixed(lease: Duration) -> AcquireOptions {
    AcquireOptions::default().lease(Lease::Fixed(lease))
}

#[tokio::test]
async fn permits_come_back_when_a_lease_runs_out() {
    let (client, clock) = still_client().await;
    let pool = client.semaphore("pool", 2).unwrap();
    let held = pool.acquire_as(HolderId::fresh(), 2, fixed(10 * SECOND)).await.unwrap();
    clock.advance(9 * SECOND);
    assert!(pool.try_acquire().await.unwrap().is_none());
    clock.advance(2 * SECOND);
    assert!(!held.is_valid());
    assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Expired));
    assert_eq!(pool.inspect().await.unwrap().available, 2);
    let next = pool.try_acquire_many(2).await.unwrap().unwrap();
    let error = held.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotHeld);
    assert!(next.is_valid() && pool.inspect().await.unwrap().available == 0, "nothing of anybody else's was touched");
    assert_eq!(counts(&pool).lost, 1);
    next.release().await.unwrap();
    nothing_is_left(&pool).await;
}

/// The one that reclaims is not the only one that it makes room for.
#[tokio::test]
async fn a_lease_that_runs_out_lets_waiters_through() {
    for place in Place::both() {
        let pools = place.pools(3, 2).await;
        let asked = std::time::Instant::now();
        let held = pools[0].acquire_as(HolderId::fresh(), 2, fixed(SECOND / 2)).await.unwrap();
        let waiters = [waits(&pools[1], 1), waits(&pools[2], 1)];
        queued(&pools[0], 2).await;
        for waiter in waiters {
            let got = granted(waiter).await;
            assert!(!held.is_valid());
            assert!((SECOND / 2..SECOND).contains(&asked.elapsed()), "{:?}", asked.elapsed());
            got.release().await.unwrap();
        }
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn the_watchdog_keeps_permits_over_many_leases() {
    let (client, clock) = still_client().await;
    let pool = client.semaphore("pool", 3).unwrap();
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(pool.acquire().await.unwrap());
    }
    for _ in 0..100 {
        clock.advance(SECOND);
        settle().await;
    }
    assert!(held.iter().all(|held| held.is_valid() && held.state() == HoldState::Held));
    assert_eq!(pool.inspect().await.unwrap().available, 0);
    assert!(counts(&pool).renewals >= 3 * 20, "{:?}", counts(&pool).renewals);
    for held in held {
        held.release().await.unwrap();
    }
    nothing_is_left(&pool).await;
}

#[tokio::test]
async fn an_extension_prolongs_and_never_shortens() {
    for place in Place::both() {
        let pool = &place.pools(1, 3).await[0];
        let held = pool.acquire_as(HolderId::fresh(), 2, fixed(10 * SECOND)).await.unwrap();
        held.extend(60 * SECOND).await.unwrap();
        assert!(held.remaining() > 50 * SECOND);
        held.extend(20 * SECOND).await.unwrap();
        assert!(held.remaining() > 50 * SECOND);
        for lease in [Duration::ZERO, Duration::from_millis(99), 25 * 3600 * SECOND] {
            assert_eq!(held.extend(lease).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        held.release().await.unwrap();
    }
}

#[tokio::test]
async fn an_extension_finds_out_that_it_is_lost() {
    let place = Place::server();
    let pool = &place.pools(1, 3).await[0];
    let held = pool.acquire_as(HolderId::fresh(), 2, fixed(10 * SECOND)).await.unwrap();
    place.server.as_ref().unwrap().cmd(&["DEL", "{pool}:timeout"]);
    assert_eq!(held.extend(20 * SECOND).await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert!(!held.is_valid());
}

#[tokio::test]
async fn each_hold_of_a_holder_needs_its_own_release() {
    for place in Place::both() {
        let pool = &place.pools(1, 6).await[0];
        let holder = HolderId::fresh();
        for permits in 1..=3 {
            pool.acquire_as(holder, permits, AcquireOptions::default()).await.unwrap().into_grant();
        }
        for (held, available) in [(3, 0), (2, 3), (1, 5)] {
            assert_eq!((pool.hold_count(holder), pool.inspect().await.unwrap().available), (held, available));
            pool.release_as(holder).await.unwrap();
        }
        assert_eq!(pool.hold_count(holder), 0);
        assert_eq!(pool.release_as(holder).await.unwrap_err().kind(), ErrorKind::NotHeld);
        assert_eq!(pool.release_as(HolderId::fresh()).await.unwrap_err().kind(), ErrorKind::NotHeld);
        nothing_is_left(pool).await;
    }
}

#[tokio::test]
async fn a_number_of_permits_names_the_latest_holds() {
    for place in Place::both() {
        let pool = &place.pools(1, 20).await[0];
        let holder = HolderId::fresh();
        assert_eq!(pool.holds_of(holder, 1).unwrap_err().kind(), ErrorKind::NotHeld);
        for permits in [1, 4, 2, 1, 1, 3] {
            pool.acquire_as(holder, permits, AcquireOptions::default()).await.unwrap().into_grant();
        }
        for (permits, holds) in [(3, 1), (4, 2), (5, 3), (7, 4), (11, 5), (12, 6)] {
            assert_eq!(pool.holds_of(holder, permits).unwrap(), holds);
        }
        for (permits, allowed) in [(0, "1 to 2147483647"), (6, "3 or 4 or 5 or 7 or more")] {
            let error = pool.holds_of(holder, permits).unwrap_err();
            assert_eq!((error.kind(), error.allowed()), (ErrorKind::InvalidArgument, Some(allowed)));
        }
        let error = pool.holds_of(HolderId::fresh(), 3).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotHeld);
        assert_eq!(error.message(), pool.release_as(HolderId::fresh()).await.unwrap_err().message());
        for _ in 0..6 {
            pool.release_as(holder).await.unwrap();
        }
        nothing_is_left(pool).await;
    }
}

/// An extension that says so is not the release: that must not end the hold before.
#[tokio::test]
async fn a_lost_hold_takes_its_own_release() {
    let (client, clock) = still_client().await;
    let pool = client.semaphore("pool", 3).unwrap();
    let holder = HolderId::fresh();
    pool.acquire_as(holder, 1, fixed(60 * SECOND)).await.unwrap().into_grant();
    pool.acquire_as(holder, 1, fixed(10 * SECOND)).await.unwrap().into_grant();
    clock.advance(11 * SECOND);
    assert_eq!(pool.extend_as(holder, SECOND).await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(pool.holds_of(holder, 2).unwrap(), 2);
    assert_eq!(pool.release_as(holder).await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(pool.hold_count(holder), 1);
    pool.release_as(holder).await.unwrap();
    nothing_is_left(&pool).await;
}

#[tokio::test]
async fn deleted_keys_are_a_loss_that_the_renewal_finds() {
    for keys in [&["pool", "{pool}:timeout"][..], &["{pool}:timeout"]] {
        let place = Place::server();
        let options = SemaphoreOptions::new(2).watchdog_lease(SECOND);
        let pool = place.client().await.semaphore_with("pool", options).unwrap();
        let held = pool.acquire().await.unwrap();
        place.server.as_ref().unwrap().cmd(&[&["DEL"][..], keys].concat());
        assert_eq!(soon("the loss", held.lost()).await, Some(LossReason::Deleted));
        assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
    }
}

/// What goes on without them is made anew by the next acquire, and no permit of before returns to it.
#[tokio::test]
async fn a_deleted_semaphore_is_made_anew_without_excess() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let pools = place.pools(2, 2).await;
    let old = pools[0].acquire_many(2).await.unwrap();
    server.cmd(&["DEL", "pool", "{pool}:timeout"]);
    let new = pools[1].acquire().await.unwrap();
    assert_eq!(old.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(pools[1].inspect().await.unwrap().available, 1);
    server.cmd(&["DEL", "pool"]);
    assert!(pools[1].try_acquire_many(2).await.unwrap().is_none(), "the one that is taken still counts");
    assert!(new.is_valid());
    new.release().await.unwrap();
    nothing_is_left(&pools[0]).await;
}

/// Also when many others have lost theirs since: its release ends nothing else.
#[tokio::test]
async fn a_holder_of_more_releases_first_what_it_has_lost() {
    let (client, clock) = still_client().await;
    let (pool, holder) = (client.semaphore("pool", 1_000).unwrap(), HolderId::fresh());
    let kept = pool.acquire_as(holder, 1, AcquireOptions::default()).await.unwrap().into_grant();
    let lost = pool.acquire_as(holder, 1, fixed(SECOND)).await.unwrap().into_grant();
    for round in 0..5 {
        for _ in 0..200 {
            pool.acquire_as(HolderId::fresh(), 1, fixed(SECOND)).await.unwrap().into_grant();
        }
        clock.advance(2 * SECOND);
        settle().await;
        assert!(kept.is_valid() && lost.loss().is_some(), "round {round}");
        assert!(pool.shared.holds().len() < 500, "of up to 1,000 losses {}", pool.shared.holds().len());
    }
    assert_eq!(pool.release_as(holder).await.unwrap_err().kind(), ErrorKind::NotHeld);
    assert!(kept.is_valid(), "the release of what was lost has ended another hold");
    pool.release_as(holder).await.unwrap();
    nothing_is_left(&pool).await;
}
