//! How many there are, how many are taken, and who is refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::super::{AcquireOptions, HolderId, Inspection, MAX_ACQUIRED, MAX_PERMITS};
use super::*;
use crate::error::ErrorKind;
use crate::stats::LockStats;
use crate::wait::Wait;

#[tokio::test]
async fn several_hold_at_once_and_never_more_than_the_total() {
    const TOTAL: i64 = 3;
    for place in Place::both() {
        let pools = place.pools(3, TOTAL as u32).await;
        let (held, most) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
        let holding = |n: usize| {
            let (pool, held, most) = (pools[n % pools.len()].clone(), held.clone(), most.clone());
            let permits = 1 + n as i64 % TOTAL;
            tokio::spawn(async move {
                for _ in 0..10 {
                    let permits_held = pool.acquire_many(permits as u32).await.unwrap();
                    most.fetch_max(held.fetch_add(permits, Ordering::SeqCst) + permits, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    held.fetch_sub(permits, Ordering::SeqCst);
                    permits_held.release().await.unwrap();
                }
            })
        };
        for holder in (0..12).map(holding).collect::<Vec<_>>() {
            soon("a holder has had its turns", holder).await.unwrap();
        }
        assert_eq!(most.load(Ordering::SeqCst), TOTAL, "{}", place.url);
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn an_acquire_takes_as_many_as_it_names() {
    for place in Place::both() {
        let pool = &place.pools(1, 10).await[0];
        let held = pool.acquire_many(3).await.unwrap();
        assert_eq!((held.count(), held.ids().len()), (3, 3));
        let whole = Inspection { permits: Some(10), available: 7, queued: 0 };
        assert_eq!(pool.inspect().await.unwrap(), whole);
        let all = pool.try_acquire_many(7).await.unwrap().unwrap();
        assert!(pool.try_acquire().await.unwrap().is_none());
        held.release().await.unwrap();
        all.release().await.unwrap();
        nothing_is_left(pool).await;
    }
}

#[tokio::test]
async fn a_semaphore_that_is_not_there_yet_shows_no_permits() {
    for place in Place::both() {
        let pool = &place.pools(1, 10).await[0];
        let absent = Inspection { permits: None, available: 0, queued: 0 };
        assert_eq!(pool.inspect().await.unwrap(), absent);
        assert!(place.server.is_none_or(|server| server.keys().is_empty()));
    }
}

#[tokio::test]
async fn numbers_that_are_none_are_refused_before_any_request() {
    for place in Place::both() {
        let client = place.client().await;
        for permits in [0, MAX_PERMITS + 1, u32::MAX] {
            let error = client.semaphore("pool", permits).map(drop).unwrap_err();
            assert_eq!((error.kind(), error.allowed()), (ErrorKind::InvalidArgument, Some("1 to 2147483647")));
        }
        let pool = client.semaphore("pool", MAX_PERMITS).unwrap();
        for permits in [0, MAX_ACQUIRED + 1, u32::MAX] {
            let error = pool.acquire_many(permits).await.unwrap_err();
            assert_eq!((error.kind(), error.allowed()), (ErrorKind::InvalidArgument, Some("1 to 10000")));
            let error = pool.try_acquire_many(permits).await.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("pool")));
        }
        for permits in [0, MAX_PERMITS + 1] {
            assert_eq!(pool.set_permits(permits).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        assert_eq!(pool.inspect().await.unwrap().permits, None);
    }
}

#[tokio::test]
async fn more_than_there_are_is_refused_with_the_total() {
    for place in Place::both() {
        let pool = &place.pools(1, 3).await[0];
        let one = pool.acquire().await.unwrap();
        for wait in [Wait::Forever, Wait::For(SOON), Wait::Try] {
            let how = AcquireOptions::default().wait(wait);
            let error = pool.acquire_as(HolderId::fresh(), 4, how).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(error.allowed().is_some_and(|allowed| allowed.starts_with("1 to 3,")), "{error}");
        }
        one.release().await.unwrap();
        nothing_is_left(pool).await;
    }
}

#[tokio::test]
async fn the_most_permits_of_one_acquire_can_be_held() {
    for place in Place::both() {
        let pool = &place.pools(1, MAX_ACQUIRED).await[0];
        let held = pool.acquire_many(MAX_ACQUIRED).await.unwrap();
        assert_eq!((held.ids().len(), pool.inspect().await.unwrap().available), (MAX_ACQUIRED as usize, 0));
        held.extend(Duration::from_secs(3600)).await.unwrap();
        held.release().await.unwrap();
        nothing_is_left(pool).await;
    }
}

#[tokio::test]
async fn raising_the_number_wakes_those_that_fit() {
    for place in Place::both() {
        let pools = place.pools(3, 1).await;
        let held = pools[0].acquire().await.unwrap();
        let first = waits(&pools[1], 1);
        queued(&pools[0], 1).await;
        let second = waits(&pools[2], 1);
        queued(&pools[0], 2).await;
        pools[0].set_permits(3).await.unwrap();
        for held in [granted(first).await, granted(second).await, held] {
            held.release().await.unwrap();
        }
        assert_eq!(pools[0].inspect().await.unwrap(), Inspection { permits: Some(3), available: 3, queued: 0 });
    }
}

#[tokio::test]
async fn lowered_below_what_is_taken_nothing_is_granted() {
    for place in Place::both() {
        let pools = place.pools(2, 3).await;
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(pools[0].acquire().await.unwrap());
        }
        let waiter = waits(&pools[1], 1);
        queued(&pools[0], 1).await;
        for _ in 0..2 {
            // Repeating it changes nothing.
            pools[0].set_permits(1).await.unwrap();
            assert_eq!(pools[0].inspect().await.unwrap().available, -2);
        }
        let last = held.pop().unwrap();
        for (left, held) in [(-1, held.pop().unwrap()), (0, held.pop().unwrap())] {
            assert!(held.is_valid(), "what is taken stays taken");
            held.release().await.unwrap();
            assert_eq!(pools[0].inspect().await.unwrap().available, left);
        }
        assert!(!waiter.is_finished());
        last.release().await.unwrap();
        granted(waiter).await.release().await.unwrap();
        assert_eq!(pools[0].inspect().await.unwrap(), Inspection { permits: Some(1), available: 1, queued: 0 });
    }
}

#[tokio::test]
async fn a_waiter_whose_want_became_impossible_is_refused() {
    for place in Place::both() {
        let pools = place.pools(3, 3).await;
        let held = pools[0].acquire_many(2).await.unwrap();
        let many = waits(&pools[1], 3);
        queued(&pools[0], 1).await;
        let few = waits(&pools[2], 1);
        queued(&pools[0], 2).await;
        // Less than both want, so that only the refusal lets the one behind through.
        let asked = std::time::Instant::now();
        pools[0].set_permits(2).await.unwrap();
        let error = soon("a refusal", many).await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.allowed().is_some_and(|allowed| allowed.starts_with("1 to 2,")), "{error}");
        assert!(asked.elapsed() < Duration::from_millis(500), "told, by no timer");
        queued(&pools[0], 1).await;
        held.release().await.unwrap();
        granted(few).await.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

/// The next caller of the process is asked for at once, and so is the one behind the process.
#[tokio::test]
async fn a_refused_caller_holds_up_nobody_behind_it() {
    for place in Place::both() {
        let clients = [place.client().await, place.client().await];
        let pools = clients.each_ref().map(|client| client.semaphore("pool", 4).unwrap());
        let held = pools[0].acquire_many(3).await.unwrap();
        let impossible = waits(&pools[1], 4);
        waiting(&pools[1], 1).await;
        queued(&pools[0], 1).await;
        let possible = waits(&pools[1], 1);
        waiting(&pools[1], 2).await;
        pools[0].set_permits(3).await.unwrap();
        assert_eq!(soon("a refusal", impossible).await.unwrap().unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert!(!possible.is_finished(), "none is available");
        held.release().await.unwrap();
        granted(possible).await.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn what_was_done_is_counted() {
    for place in Place::both() {
        let client = place.client().await;
        let pool = client.semaphore("pool", 2).unwrap();
        let held = pool.acquire_many(2).await.unwrap();
        assert_eq!(pool.acquire_timeout(Duration::from_millis(20)).await.unwrap_err().kind(), ErrorKind::Busy);
        queued(&pool, 0).await;
        let waiter = waits(&pool, 1);
        queued(&pool, 1).await;
        let given_up = waits(&pool, 1);
        waiting(&pool, 2).await;
        given_up.abort();
        waiting(&pool, 1).await;
        held.release().await.unwrap();
        let last = granted(waiter).await;
        let counted = counts(&pool);
        assert_eq!((counted.acquired, counted.released, counted.held), (2, 1, 1), "{counted:?}");
        assert_eq!((counted.contended, counted.handed_over_remote, counted.waiting), (1, 1, 0), "{counted:?}");
        assert_eq!((counted.wait_timeouts, counted.cancelled, counted.lost), (1, 1, 0), "{counted:?}");
        last.release().await.unwrap();
        assert_eq!(client.stats().lock, LockStats::default(), "nothing of it is the locks'");
    }
}
