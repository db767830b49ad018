//! Who excludes whom, and the tokens.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::error::ErrorKind;
use crate::stats::LockStats;

#[tokio::test]
async fn readers_hold_together_and_a_writer_alone() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let readers = [locks[0].read().acquire().await.unwrap(), locks[1].read().acquire().await.unwrap()];
        let seen = locks[2].inspect().await.unwrap();
        assert_eq!((seen.writer, seen.readers, seen.queued), (None, 2, 0));
        assert!(locks[2].write().try_acquire().await.unwrap().is_none());
        for held in readers {
            held.release().await.unwrap();
        }
        let writes = locks[2].write().acquire().await.unwrap();
        let seen = locks[2].inspect().await.unwrap();
        assert_eq!((seen.writer.as_deref(), seen.readers, seen.ours), (Some(writes.owner()), 0, true));
        assert!(!locks[0].inspect().await.unwrap().ours);
        for lock in &locks {
            assert!(lock.read().try_acquire().await.unwrap().is_none());
            assert!(lock.write().try_acquire().await.unwrap().is_none());
        }
        writes.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn no_writer_ever_meets_another_holder() {
    for place in Place::both() {
        let locks = place.prices(3).await;
        let inside = Arc::new(AtomicI64::new(0));
        let working = |n: usize| {
            let (lock, inside) = (locks[n % locks.len()].clone(), inside.clone());
            tokio::spawn(async move {
                for round in 0..10 {
                    let writes = (n + round).is_multiple_of(3);
                    let (side, weight) = if writes { (lock.write(), 1_000) } else { (lock.read(), 1) };
                    let held = side.acquire().await.unwrap();
                    let before = inside.fetch_add(weight, Ordering::SeqCst);
                    assert!(if writes { before == 0 } else { before < 1_000 }, "{before} beside {side:?}");
                    tokio::task::yield_now().await;
                    inside.fetch_sub(weight, Ordering::SeqCst);
                    held.release().await.unwrap();
                }
            })
        };
        for holder in (0..12).map(working).collect::<Vec<_>>() {
            soon("a holder has had its turns", holder).await.unwrap();
        }
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn each_grant_of_the_server_has_a_larger_token() {
    for place in Place::both() {
        let locks = place.prices(2).await;
        let mut last = 0;
        for round in 0..4 {
            let lock = &locks[round % 2];
            let reads = lock.read().acquire().await.unwrap();
            let others = locks[(round + 1) % 2].read().acquire().await.unwrap();
            assert!(reads.token() > last && others.token() > reads.token());
            reads.release().await.unwrap();
            last = others.token();
            others.release().await.unwrap();
            let writes = lock.write().acquire().await.unwrap();
            assert!(writes.token() > last);
            assert_eq!(lock.inspect().await.unwrap().token, Some(writes.token()));
            last = writes.token();
            writes.release().await.unwrap();
        }
    }
}

/// The resource sees tokens increase, whatever protects it.
#[tokio::test]
async fn tokens_go_on_from_those_of_the_lock_of_that_name() {
    let place = Place::server();
    let (server, lock) = (place.server.as_ref().unwrap(), &place.prices(1).await[0]);
    let mutex = place.client().await.lock("prices").unwrap();
    // Ahead of the clock, as after it was set back.
    server.cmd(&["SET", "redisson_lock_token:{prices}", "9000000000000000"]);
    let held = mutex.acquire().await.unwrap();
    assert_eq!(held.token(), 9_000_000_000_000_001);
    held.release().await.unwrap();
    let held = lock.write().acquire().await.unwrap();
    assert_eq!(held.token(), 9_000_000_000_000_002);
    held.release().await.unwrap();
}

#[tokio::test]
async fn a_wait_that_is_over_says_who_is_in_the_way() {
    const WAIT: Duration = Duration::from_millis(60);
    for place in Place::both() {
        let locks = place.prices(3).await;
        let readers = [locks[0].read().acquire().await.unwrap(), locks[1].read().acquire().await.unwrap()];
        let error = locks[2].write().acquire_timeout(WAIT).await.unwrap_err();
        assert_eq!((error.kind(), error.holder()), (ErrorKind::Busy, None), "of two none is the one");
        assert!(error.message().starts_with("held by 2 readers for at most another"), "{error}");
        for held in readers {
            held.release().await.unwrap();
        }
        let writes = locks[0].write().acquire().await.unwrap();
        for side in [locks[2].read(), locks[2].write(), locks[0].read()] {
            let error = side.acquire_timeout(WAIT).await.unwrap_err();
            assert_eq!((error.kind(), error.holder()), (ErrorKind::Busy, Some(writes.owner())), "{error}");
            assert!(error.remaining().is_some());
        }
        writes.release().await.unwrap();
        nothing_is_left(&locks[0]).await;
    }
}

#[tokio::test]
async fn what_was_done_is_counted() {
    for place in Place::both() {
        let client = place.client().await;
        let lock = client.rw_lock("prices").unwrap();
        let writes = lock.write().acquire().await.unwrap();
        let timed_out = lock.read().acquire_timeout(Duration::from_millis(20)).await;
        assert_eq!(timed_out.unwrap_err().kind(), ErrorKind::Busy);
        queued(&lock, 0).await;
        let waiters = [waits(&lock.read()), waits(&lock.read())];
        waiting(&lock, 2).await;
        queued(&lock, 1).await;
        let given_up = waits(&lock.write());
        waiting(&lock, 3).await;
        given_up.abort();
        waiting(&lock, 2).await;
        writes.release().await.unwrap();
        let mut reads = Vec::new();
        for waiter in waiters {
            reads.push(granted(waiter).await);
        }
        let counted = client.stats().rw_lock;
        assert_eq!((counted.acquired, counted.released, counted.held), (3, 1, 1), "{counted:?}");
        assert_eq!(
            (counted.contended, counted.handed_over_remote, counted.handed_over_local),
            (2, 1, 1),
            "{counted:?}"
        );
        assert_eq!((counted.wait_timeouts, counted.cancelled, counted.lost), (1, 1, 0), "{counted:?}");
        for held in reads {
            held.release().await.unwrap();
        }
        assert_eq!((client.stats().rw_lock.released, client.stats().rw_lock.held), (3, 0));
        assert_eq!(client.stats().lock, LockStats::default(), "nothing of it is the locks'");
    }
}

#[tokio::test]
async fn options_out_of_range_are_refused_before_any_request() {
    let client = Place::memory().client().await;
    let second = Duration::from_secs(1);
    for options in [
        RwLockOptions::default().shared_age(11 * second),
        RwLockOptions::default().watchdog_lease(Duration::from_millis(99)),
        RwLockOptions::default().watchdog_lease(second).lease(crate::lease::Lease::Fixed(second)),
    ] {
        let error = client.rw_lock_with("prices", options).map(drop).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("prices")), "{error}");
    }
    assert_eq!(client.rw_lock("").map(drop).unwrap_err().kind(), ErrorKind::InvalidName);
}
