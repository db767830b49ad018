//! Who comes next: the order between callers and processes, and when a waiter is told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::super::{AcquireOptions, HolderId};
use super::*;
use crate::error::ErrorKind;
use crate::wait::Wait;

/// Less than the shortest poll of a waiter: who gets it in this time was told.
const TOLD: Duration = Duration::from_millis(500);

#[tokio::test]
async fn an_acquire_of_many_waits_until_all_are_there() {
    for place in Place::both() {
        let pools = place.pools(2, 3).await;
        let (one, two) = (pools[0].acquire().await.unwrap(), pools[0].acquire_many(2).await.unwrap());
        let waiter = waits(&pools[1], 3);
        queued(&pools[0], 1).await;
        one.release().await.unwrap();
        assert_eq!(pools[0].inspect().await.unwrap().available, 1);
        assert!(!waiter.is_finished());
        let released = Instant::now();
        two.release().await.unwrap();
        granted(waiter).await.release().await.unwrap();
        assert!(released.elapsed() < TOLD);
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn a_waiter_for_many_is_not_overtaken_for_ever() {
    for place in Place::both() {
        let pools = place.pools(2, 3).await;
        let taken = Arc::new(AtomicU64::new(0));
        let taker = |_| {
            let (pool, taken) = (pools[0].clone(), taken.clone());
            tokio::spawn(async move {
                loop {
                    let held = pool.acquire().await.unwrap();
                    taken.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    held.release().await.unwrap();
                }
            })
        };
        let takers: Vec<_> = (0..6).map(taker).collect();
        soon("they take turns", async {
            while taken.load(Ordering::SeqCst) < 30 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let asked = Instant::now();
        let many = granted(waits(&pools[1], 3)).await;
        assert!(asked.elapsed() < TOLD, "{:?}", asked.elapsed());
        takers.iter().for_each(JoinHandle::abort);
        many.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

/// A process that holds and waits again stands behind: two processes take turns.
#[tokio::test]
async fn a_newcomer_does_not_pass_those_that_wait() {
    for place in Place::both() {
        let pools = place.pools(3, 2).await;
        let held = pools[0].acquire().await.unwrap();
        let many = waits(&pools[1], 2);
        queued(&pools[0], 1).await;
        let newcomer = waits(&pools[2], 1);
        queued(&pools[0], 2).await;
        assert_eq!(pools[0].inspect().await.unwrap().available, 1, "the newcomer would fit");
        held.release().await.unwrap();
        let many = granted(many).await;
        assert!(!newcomer.is_finished());
        many.release().await.unwrap();
        granted(newcomer).await.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn a_non_blocking_attempt_jumps_a_head_twice_at_most() {
    for place in Place::both() {
        let pools = place.pools(3, 2).await;
        let held = pools[0].acquire().await.unwrap();
        let many = waits(&pools[1], 2);
        queued(&pools[0], 1).await;
        for _ in 0..2 {
            pools[2].try_acquire().await.unwrap().unwrap().release().await.unwrap();
        }
        assert!(pools[2].try_acquire().await.unwrap().is_none());
        assert_eq!(pools[0].inspect().await.unwrap().available, 1, "it is there, for the head");
        held.release().await.unwrap();
        granted(many).await.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn a_release_wakes_all_that_fit_and_no_more() {
    for place in Place::both() {
        let pools = place.pools(5, 4).await;
        let held = pools[0].acquire_many(4).await.unwrap();
        let mut waiters = Vec::new();
        for (at, wants) in [1, 2, 1, 2].into_iter().enumerate() {
            waiters.push(waits(&pools[at + 1], wants));
            queued(&pools[0], at as u64 + 1).await;
        }
        let last = waiters.pop().unwrap();
        let released = Instant::now();
        held.release().await.unwrap();
        let mut granted_now = Vec::new();
        for waiter in waiters {
            granted_now.push(granted(waiter).await);
        }
        assert!(released.elapsed() < TOLD, "{:?}", released.elapsed());
        queued(&pools[0], 1).await;
        assert!(!last.is_finished());
        drop(granted_now);
        granted(last).await.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn a_waiter_that_leaves_lets_through_those_behind_it() {
    for place in Place::both() {
        let pools = place.pools(4, 3).await;
        let held = pools[0].acquire().await.unwrap();
        let many = waits(&pools[1], 3);
        queued(&pools[0], 1).await;
        let others = [waits(&pools[2], 1), waits(&pools[3], 1)];
        queued(&pools[0], 3).await;
        let left = Instant::now();
        many.abort();
        for other in others {
            granted(other).await.release().await.unwrap();
        }
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        held.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

#[tokio::test]
async fn callers_of_one_process_are_served_in_order() {
    for place in Place::both() {
        let client = place.client().await;
        let pool = client.semaphore("pool", 3).unwrap();
        let held = pool.acquire_many(3).await.unwrap();
        let mut waiters = Vec::new();
        for (at, wants) in [2, 3, 1].into_iter().enumerate() {
            waiters.push(waits(&pool, wants));
            waiting(&pool, at as u64 + 1).await;
        }
        held.release().await.unwrap();
        let mut waiters = waiters.into_iter();
        let first = granted(waiters.next().unwrap()).await;
        let rest: Vec<_> = waiters.collect();
        assert!(rest.iter().all(|waiter| !waiter.is_finished()), "one is available, for who wants three");
        first.release().await.unwrap();
        for waiter in rest {
            granted(waiter).await.release().await.unwrap();
        }
        nothing_is_left(&pool).await;
    }
}

#[tokio::test]
async fn a_wait_that_is_over_says_what_is_available() {
    for place in Place::both() {
        let pools = place.pools(2, 3).await;
        let held = pools[0].acquire_many(2).await.unwrap();
        let how = AcquireOptions::default().wait(Wait::For(Duration::from_millis(100)));
        let error = pools[1].acquire_as(HolderId::fresh(), 2, how).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.message().starts_with("only 1 of 3 permits are available,"), "{error}");
        assert_eq!((error.holder(), error.remaining()), (None, None), "no holder is the one");
        queued(&pools[0], 0).await;
        held.release().await.unwrap();
        nothing_is_left(&pools[0]).await;
    }
}

/// The server keeps room for what the caller wanted that gave up. With a clock that stands still no timer helps.
#[tokio::test]
async fn a_next_caller_that_wants_fewer_is_asked_for_at_once() {
    let (client, _clock) = still_client().await;
    let pool = client.semaphore("pool", 3).unwrap();
    let held = pool.acquire_many(2).await.unwrap();
    let many = waits(&pool, 3);
    queued(&pool, 1).await;
    let few = waits(&pool, 1);
    waiting(&pool, 2).await;
    settle().await;
    assert!(!few.is_finished(), "in the order of arrival");
    many.abort();
    granted(few).await.release().await.unwrap();
    held.release().await.unwrap();
    nothing_is_left(&pool).await;
}

/// The same with a process behind, which fits only when the room for the old want is given up.
#[tokio::test]
async fn a_next_caller_that_wants_fewer_lets_others_through() {
    for place in Place::both() {
        let pools = place.pools(2, 4).await;
        let held = pools[1].acquire_many(2).await.unwrap();
        let many = waits(&pools[0], 4);
        queued(&pools[1], 1).await;
        let few = waits(&pools[0], 1);
        waiting(&pools[0], 2).await;
        let behind = waits(&pools[1], 1);
        queued(&pools[1], 2).await;
        let left = Instant::now();
        many.abort();
        let (few, behind) = (granted(few).await, granted(behind).await);
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        for held in [few, behind, held] {
            held.release().await.unwrap();
        }
        nothing_is_left(&pools[0]).await;
    }
}

/// The same with a next caller that comes before the contender has learned that the first one left.
#[tokio::test]
async fn a_caller_right_after_one_that_gave_up_is_asked_for() {
    for place in Place::both() {
        let pools = place.pools(3, 4).await;
        let held = pools[0].acquire_many(2).await.unwrap();
        let many = waits(&pools[1], 4);
        queued(&pools[0], 1).await;
        let behind = waits(&pools[2], 1);
        queued(&pools[0], 2).await;
        let left = Instant::now();
        many.abort();
        let few = waits(&pools[1], 1);
        let (few, behind) = (granted(few).await, granted(behind).await);
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        for held in [few, behind, held] {
            held.release().await.unwrap();
        }
        nothing_is_left(&pools[0]).await;
    }
}

/// The room that the queue keeps is for the caller that is first now.
#[tokio::test]
async fn a_next_caller_that_wants_more_is_asked_for_at_once() {
    let place = Place::server();
    let (here, there) = (place.client().await, place.client().await);
    let (pool, others) = (here.semaphore("pool", 3).unwrap(), there.semaphore("pool", 3).unwrap());
    let held = others.acquire_many(3).await.unwrap();
    let few = waits(&pool, 1);
    queued(&pool, 1).await;
    let many = waits(&pool, 2);
    waiting(&pool, 2).await;
    let wants = || {
        let field = format!("want:{}", pool.client().id());
        place.server.as_ref().unwrap().cmd(&["HGET", "dlock_semaphore_seen:{pool}", &field]).text().to_owned()
    };
    assert_eq!(wants(), "1");
    let left = Instant::now();
    few.abort();
    soon("the queue knows what it wants now", async {
        while wants() != "2" {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
    held.release().await.unwrap();
    granted(many).await.release().await.unwrap();
    nothing_is_left(&pool).await;
}

/// The caller in front gives up while its request is on the way: what that brings is not for the next one.
#[tokio::test]
async fn a_grant_for_the_old_want_is_asked_for_anew() {
    for place in Place::both() {
        let client = place.client().await;
        let pool = client.semaphore("pool", 4).unwrap();
        for _ in 0..50 {
            let held = pool.acquire_many(3).await.unwrap();
            let many = waits(&pool, 2);
            waiting(&pool, 1).await;
            let few = waits(&pool, 1);
            waiting(&pool, 2).await;
            held.release().await.unwrap();
            many.abort();
            drop(many);
            let few = granted(few).await;
            assert_eq!(few.count(), 1);
            few.release().await.unwrap();
            nothing_is_left(&pool).await;
        }
    }
}

/// One that asks takes expired permits back, and gets none: those that wait for them are told.
#[tokio::test]
async fn who_takes_permits_back_wakes_those_that_fit() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let pools = place.pools(4, 2).await;
    let _held = pools[0].acquire_many(2).await.unwrap();
    let head = waits(&pools[1], 1);
    queued(&pools[0], 1).await;
    let next = waits(&pools[2], 1);
    queued(&pools[0], 2).await;
    // Earlier than the waiters know of. The head would hear of it on Redisson's channel too.
    for id in server.cmd(&["ZRANGE", "{pool}:timeout", "0", "-1"]).array() {
        server.cmd(&["ZADD", "{pool}:timeout", "XX", "1", id.text()]);
    }
    let asked = Instant::now();
    assert_eq!(pools[3].try_acquire_many(3).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let both = [granted(head).await, granted(next).await];
    assert!(asked.elapsed() < TOLD, "{:?}", asked.elapsed());
    for held in both {
        held.release().await.unwrap();
    }
    nothing_is_left(&pools[0]).await;
}

/// How many scripts the server ran since the last call.
fn scripts(server: &libdlock_testkit::Server) -> u64 {
    let info = server.cmd(&["INFO", "commandstats"]);
    server.cmd(&["CONFIG", "RESETSTAT"]);
    let calls = info.text().lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:calls=")?.split(',').next());
    calls.map_or(0, |calls| calls.parse().unwrap())
}

#[tokio::test]
async fn one_request_is_granted_for_many_callers_of_a_process() {
    const CALLERS: u64 = 12;
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let pools = place.pools(2, CALLERS as u32).await;
    let all = pools[0].acquire_many(CALLERS as u32).await.unwrap();
    let callers: Vec<_> = (0..CALLERS).map(|_| waits(&pools[1], 1)).collect();
    waiting(&pools[1], CALLERS).await;
    queued(&pools[0], 1).await;
    scripts(server);
    all.release().await.unwrap();
    let mut held = Vec::new();
    for caller in callers {
        held.push(granted(caller).await);
    }
    // The release, the request, and a look or a poll that comes at the same time; not one for each caller.
    let asked = scripts(server);
    assert!(asked <= 4, "{asked} scripts");
    assert_eq!(pools[0].inspect().await.unwrap().available, 0);
    for held in held {
        held.release().await.unwrap();
    }
    nothing_is_left(&pools[0]).await;
}

/// The grants of callers that have left meanwhile go back, or to those behind.
#[tokio::test]
async fn callers_that_leave_a_common_request_cost_no_permit() {
    for place in Place::both() {
        let pools = place.pools(2, 6).await;
        for round in 0..20 {
            let all = pools[0].acquire_many(6).await.unwrap();
            let callers: Vec<_> = (0..6).map(|caller| waits(&pools[1], 1 + (round + caller) % 3)).collect();
            waiting(&pools[1], 6).await;
            let leaving = callers.iter().enumerate().filter(|(at, _)| at % 2 == 1);
            let release = all.release();
            leaving.for_each(|(_, caller)| caller.abort());
            release.await.unwrap();
            for caller in callers {
                if let Ok(held) = soon("a caller is granted, or has left", caller).await {
                    held.unwrap().release().await.unwrap();
                }
            }
            nothing_is_left(&pools[0]).await;
        }
    }
}
