//! What one holder may have of both sides.

use super::*;
use crate::error::ErrorKind;
use crate::lease::{Grant, Lease};
use crate::wait::Wait;

const HOW: AcquireOptions = AcquireOptions { wait: Wait::Forever, lease: None };

#[tokio::test]
async fn a_writer_may_read_as_well() {
    for place in Place::both() {
        let locks = place.prices(2).await;
        let (lock, me) = (&locks[0], HolderId::fresh());
        let writes = lock.write().acquire_as(me, HOW).await.unwrap();
        let reads = lock.read().acquire_as(me, HOW).await.unwrap();
        assert!(reads.token() > writes.token());
        let seen = lock.inspect().await.unwrap();
        assert_eq!((seen.writer.as_deref(), seen.readers), (Some(writes.owner()), 1));
        assert!(locks[1].read().try_acquire().await.unwrap().is_none());
        assert!(lock.read().try_acquire().await.unwrap().is_none(), "another holder of this process");
        reads.release().await.unwrap();
        assert!(writes.is_valid() && locks[1].read().try_acquire().await.unwrap().is_none());
        writes.release().await.unwrap();
        nothing_is_left(lock).await;
    }
}

/// Nobody is in front of it: neither processes that wait, nor callers of its own.
#[tokio::test]
async fn a_writer_reads_past_all_who_wait() {
    for place in Place::both() {
        let locks = place.prices(2).await;
        let (lock, me) = (&locks[0], HolderId::fresh());
        let writes = lock.write().acquire_as(me, HOW).await.unwrap();
        let other = waits(&locks[1].write());
        queued(lock, 1).await;
        let others = [other, waits(&lock.write())];
        queued(lock, 2).await;
        let reads = soon("the read side", lock.read().acquire_as(me, HOW)).await.unwrap();
        writes.release().await.unwrap();
        assert!(reads.is_valid() && others.iter().all(|other| !other.is_finished()));
        reads.release().await.unwrap();
        for other in others {
            granted(other).await.release().await.unwrap();
        }
        nothing_is_left(lock).await;
    }
}

/// Redisson lets them wait for the lease; with a clock that stands still that would be for ever.
#[tokio::test]
async fn a_downgrade_wakes_the_readers_that_wait() {
    for place in Place::both() {
        let locks = place.prices(4).await;
        let writes = locks[0].write().acquire().await.unwrap();
        let readers = [waits(&locks[1].read()), waits(&locks[2].read())];
        queued(&locks[0], 2).await;
        let writer = waits(&locks[3].write());
        queued(&locks[0], 3).await;
        let asked = std::time::Instant::now();
        let reads = writes.downgrade().await.unwrap();
        assert_eq!(reads.side(), Side::Read);
        for reader in readers {
            granted(reader).await.release().await.unwrap();
        }
        assert!(asked.elapsed() < TOLD, "{:?}", asked.elapsed());
        assert!(!writer.is_finished() && reads.is_valid());
        reads.release().await.unwrap();
        granted(writer).await.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

/// It was taken away, its holder has not heard of it, and somebody else writes: who goes on as a reader does not wait for that.
#[tokio::test]
async fn a_downgrade_of_a_hold_that_is_gone_does_not_wait() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let locks = place.prices(2).await;
    let me = HolderId::fresh();
    for by_holder in [false, true] {
        let writes = locks[0].write().acquire_as(me, HOW).await.unwrap();
        let of_first = server.keys().into_iter().filter(|key| key.contains("rwlock_timeout") || key == "prices");
        for key in of_first.collect::<Vec<_>>() {
            server.cmd(&["DEL", &key]);
        }
        let other = locks[1].write().acquire().await.unwrap();
        let error = match by_holder {
            true => soon("the refusal", locks[0].write().downgrade_as(me, None)).await.unwrap_err(),
            false => soon("the refusal", writes.downgrade()).await.unwrap_err(),
        };
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
        assert!(other.is_valid());
        other.release().await.unwrap();
        drop(locks[0].write().release_as(me).await);
    }
    nothing_is_left(&locks[0]).await;
}

/// It was taken away, and somebody has written since. Only the server knows that, and an inner release does not ask it.
#[tokio::test]
async fn an_inner_downgrade_finds_that_the_hold_is_gone() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let locks = place.prices(2).await;
    let me = HolderId::fresh();
    for by_holder in [false, true] {
        let outer = locks[0].write().acquire_as(me, HOW).await.unwrap();
        let inner = locks[0].write().acquire_as(me, HOW).await.unwrap();
        for key in server.keys().into_iter().filter(|key| key.contains("rwlock_timeout") || key == "prices") {
            server.cmd(&["DEL", &key]);
        }
        let other = locks[1].write().acquire().await.unwrap();
        other.release().await.unwrap();
        let error = match by_holder {
            true => soon("the refusal", locks[0].write().downgrade_as(me, None)).await.unwrap_err(),
            false => soon("the refusal", inner.downgrade()).await.unwrap_err(),
        };
        // Lost, where a renewal has found it before.
        assert!(matches!(error.kind(), ErrorKind::NotHeld | ErrorKind::Lost), "{error}");
        drop(outer);
        nothing_is_left(&locks[0]).await;
        while locks[0].write().hold_count(me) > 0 {
            drop(locks[0].write().release_as(me).await);
        }
    }
    let outer = locks[0].write().acquire_as(me, HOW).await.unwrap();
    let reads = locks[0].write().acquire_as(me, HOW).await.unwrap().downgrade().await.unwrap();
    assert!(outer.is_valid() && reads.is_valid(), "it goes on writing, too");
    outer.release().await.unwrap();
    reads.release().await.unwrap();
    nothing_is_left(&locks[0]).await;
}

#[tokio::test]
async fn a_downgraded_hold_is_renewed() {
    let (client, clock) = still_client().await;
    let lock = client.rw_lock("prices").unwrap();
    let reads = lock.write().acquire().await.unwrap().downgrade().await.unwrap();
    for _ in 0..60 {
        clock.advance(Duration::from_secs(1));
        settle().await;
    }
    assert!(reads.is_valid());
    let seen = lock.inspect().await.unwrap();
    assert_eq!((seen.writer, seen.readers), (None, 1));
    let same = reads.downgrade().await.unwrap();
    assert!(same.is_valid(), "it reads already");
    same.release().await.unwrap();
    nothing_is_left(&lock).await;
}

#[tokio::test]
async fn a_reader_that_wants_to_write_is_refused_at_once() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        let me = HolderId::fresh();
        let reads = lock.read().acquire_as(me, HOW).await.unwrap();
        for wait in [Wait::Forever, Wait::Try, Wait::For(SOON)] {
            let error = soon("a refusal", lock.write().acquire_as(me, HOW.wait(wait))).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Deadlock, "{error}");
            assert!(error.message().contains("release the read side first"), "{error}");
        }
        assert!(reads.is_valid());
        // Also when it wrote before.
        reads.release().await.unwrap();
        let reads = lock.write().acquire_as(me, HOW).await.unwrap().downgrade().await.unwrap();
        assert_eq!(lock.write().acquire_as(me, HOW).await.unwrap_err().kind(), ErrorKind::Deadlock);
        reads.release().await.unwrap();
        lock.write().acquire_as(me, HOW).await.unwrap().release().await.unwrap();
        nothing_is_left(lock).await;
    }
}

#[tokio::test]
async fn each_side_is_entered_again_and_counted() {
    for place in Place::both() {
        let locks = place.prices(2).await;
        let (lock, me) = (&locks[0], HolderId::fresh());
        for side in [lock.read(), lock.write()] {
            for count in 1..=3 {
                side.acquire_as(me, HOW).await.unwrap().into_grant();
                assert_eq!(side.hold_count(me), count);
            }
            let waiter = waits(&locks[1].write());
            queued(lock, 1).await;
            // A reader that stood behind the writer would wait for itself.
            soon("a re-entry", side.acquire_as(me, HOW)).await.unwrap().release().await.unwrap();
            for left in [2, 1, 0] {
                assert!(!waiter.is_finished());
                side.release_as(me).await.unwrap();
                assert_eq!(side.hold_count(me), left);
            }
            assert_eq!(side.release_as(me).await.unwrap_err().kind(), ErrorKind::NotHeld);
            granted(waiter).await.release().await.unwrap();
        }
        nothing_is_left(lock).await;
    }
}

#[tokio::test]
async fn a_side_that_is_not_reentrant_refuses_its_holder() {
    let client = Place::memory().client().await;
    let lock = client.rw_lock_with("prices", RwLockOptions::default().reentrant(false)).unwrap();
    let me = HolderId::fresh();
    for side in [lock.read(), lock.write()] {
        let held = side.acquire_as(me, HOW).await.unwrap();
        assert_eq!(side.acquire_as(me, HOW).await.unwrap_err().kind(), ErrorKind::Deadlock);
        held.release().await.unwrap();
    }
    let writes = lock.write().acquire_as(me, HOW).await.unwrap();
    lock.read().acquire_as(me, HOW).await.unwrap().release().await.unwrap();
    writes.release().await.unwrap();
}

#[tokio::test]
async fn a_re_entry_adds_no_lease_to_what_is_left() {
    for place in Place::both() {
        let lock = &place.prices(1).await[0];
        let me = HolderId::fresh();
        let how = HOW.lease(Lease::Fixed(Duration::from_secs(30)));
        let held = lock.write().acquire_as(me, how).await.unwrap();
        let again = lock.write().acquire_as(me, how).await.unwrap();
        let left = lock.inspect().await.unwrap().ttl.unwrap();
        assert!(left <= Duration::from_secs(30), "Redisson's would last 60 s: {left:?}");
        for held in [held, again] {
            held.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_loss_of_either_side_is_told_once() {
    let (client, clock) = still_client().await;
    let lock = client.rw_lock("prices").unwrap();
    let me = HolderId::fresh();
    let fixed = HOW.lease(Lease::Fixed(Duration::from_secs(1)));
    for (lost, next) in [(lock.read(), lock.write()), (lock.write(), lock.read()), (lock.write(), lock.write())] {
        let held = lost.acquire_as(me, fixed).await.unwrap();
        clock.advance(Duration::from_secs(2));
        assert!(!held.is_valid());
        assert_eq!(next.acquire_as(me, fixed).await.unwrap_err().kind(), ErrorKind::Lost);
        let again = next.acquire_as(me, fixed).await.unwrap();
        assert_eq!(held.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
        assert!(again.is_valid(), "a release of what was lost ends nothing else");
        again.release().await.unwrap();
    }
    assert_eq!(lock.read().grant_of(me).filter(Grant::is_valid).map(|grant| grant.token()), None);
    nothing_is_left(&lock).await;
}

/// Holders that never say a word again are not remembered for ever.
#[tokio::test]
async fn few_of_many_losses_are_remembered() {
    let (client, clock) = still_client().await;
    let lock = client.rw_lock("prices").unwrap();
    let how = HOW.lease(Lease::Fixed(Duration::from_secs(1)));
    let mut holders = Vec::new();
    for _ in 0..300 {
        let holder = HolderId::fresh();
        lock.write().acquire_as(holder, how).await.unwrap().into_grant();
        clock.advance(Duration::from_secs(2));
        holders.push(holder);
    }
    let known = holders.iter().filter(|holder| lock.write().grant_of(**holder).is_some()).count();
    assert!((64..=129).contains(&known), "{known}");
    assert!(lock.write().grant_of(holders[299]).is_some() && lock.write().grant_of(holders[0]).is_none());
}
