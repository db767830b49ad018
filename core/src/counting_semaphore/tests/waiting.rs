//! Who comes next, and when a waiter is told.

use std::time::Instant;

use super::*;

#[tokio::test]
async fn an_acquire_of_many_waits_until_all_are_there() {
    for place in Place::both() {
        let slots = place.slots(2, 0).await;
        let waiter = waits(&slots[1], 3);
        queued(&slots[0], 1).await;
        slots[0].release().await.unwrap();
        assert!(!waiter.is_finished());
        assert_eq!(slots[0].available().await.unwrap(), 1);
        let released = Instant::now();
        slots[0].release_many(2).await.unwrap();
        granted(waiter).await;
        assert!(released.elapsed() < TOLD, "{:?}", released.elapsed());
        all_are_back(&slots[0], 0).await;
        let CountingSemaphoreStats { acquired, contended, waiting, .. } = counts(&slots[1]);
        assert_eq!((acquired, contended, waiting), (1, 1, 0));
    }
}

#[tokio::test]
async fn a_release_wakes_all_that_fit_and_no_more() {
    for place in Place::both() {
        let slots = place.slots(5, 0).await;
        let mut waiters = Vec::new();
        for (at, wants) in [1, 2, 1, 2].into_iter().enumerate() {
            waiters.push(waits(&slots[at + 1], wants));
            queued(&slots[0], at as u64 + 1).await;
        }
        let last = waiters.pop().unwrap();
        let released = Instant::now();
        slots[0].release_many(5).await.unwrap();
        for waiter in waiters {
            granted(waiter).await;
        }
        assert!(released.elapsed() < TOLD, "{:?}", released.elapsed());
        queued(&slots[0], 1).await;
        assert!(!last.is_finished());
        assert_eq!(slots[0].available().await.unwrap(), 1);
        slots[1].release().await.unwrap();
        granted(last).await;
        all_are_back(&slots[0], 0).await;
    }
}

#[tokio::test]
async fn a_newcomer_does_not_pass_those_that_wait() {
    for place in Place::both() {
        let slots = place.slots(3, 1).await;
        let many = waits(&slots[1], 2);
        queued(&slots[0], 1).await;
        let newcomer = waits(&slots[2], 1);
        queued(&slots[0], 2).await;
        assert_eq!(slots[0].available().await.unwrap(), 1, "the newcomer would fit");
        slots[0].release().await.unwrap();
        granted(many).await;
        assert!(!newcomer.is_finished());
        slots[1].release().await.unwrap();
        granted(newcomer).await;
        all_are_back(&slots[0], 0).await;
    }
}

#[tokio::test]
async fn a_non_blocking_attempt_jumps_a_head_twice_at_most() {
    for place in Place::both() {
        let slots = place.slots(3, 1).await;
        let many = waits(&slots[1], 2);
        queued(&slots[0], 1).await;
        for _ in 0..2 {
            assert!(slots[2].try_acquire().await.unwrap());
            slots[2].release().await.unwrap();
        }
        assert!(!slots[2].try_acquire().await.unwrap());
        assert_eq!(slots[0].available().await.unwrap(), 1, "it is there, for the head");
        slots[0].release().await.unwrap();
        granted(many).await;
    }
}

#[tokio::test]
async fn a_waiter_that_leaves_lets_through_those_behind_it() {
    for place in Place::both() {
        let slots = place.slots(4, 2).await;
        let many = waits(&slots[1], 3);
        queued(&slots[0], 1).await;
        let others = [waits(&slots[2], 1), waits(&slots[3], 1)];
        queued(&slots[0], 3).await;
        let left = Instant::now();
        many.abort();
        for other in others {
            granted(other).await;
        }
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        all_are_back(&slots[0], 0).await;
        assert_eq!(counts(&slots[1]).cancelled, 1);
    }
}

/// The contender learns of both at once: it keeps its place, and asks for another number.
#[tokio::test]
async fn a_caller_right_after_one_that_gave_up_is_asked_for() {
    for place in Place::both() {
        let slots = place.slots(3, 2).await;
        let many = waits(&slots[1], 3);
        queued(&slots[0], 1).await;
        let behind = waits(&slots[2], 1);
        queued(&slots[0], 2).await;
        let left = Instant::now();
        many.abort();
        granted(waits(&slots[1], 1)).await;
        granted(behind).await;
        assert!(left.elapsed() < TOLD, "{:?}", left.elapsed());
        all_are_back(&slots[0], 0).await;
    }
}

#[tokio::test]
async fn a_wait_that_is_over_says_what_is_available() {
    for place in Place::both() {
        let slots = place.slots(1, 1).await;
        let wait = Wait::For(Duration::from_millis(100));
        let error = slots[0].acquire_within(2, wait).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.message().starts_with("only 1 permits are available; waited"), "{error}");
        assert_eq!((error.holder(), error.remaining()), (None, None));
        all_are_back(&slots[0], 1).await;
        assert_eq!(counts(&slots[0]).wait_timeouts, 1);
    }
}

/// Redisson takes and brings permits by the same key, and tells of it on the same channel.
#[tokio::test]
async fn a_release_of_redisson_wakes() {
    let place = Place::server();
    let (server, slots) = (place.server.as_ref().unwrap(), place.slots(1, 0).await);
    let waiter = waits(&slots[0], 2);
    queued(&slots[0], 1).await;
    head_listens(server).await;
    server.cmd(&["INCRBY", "slots", "2"]);
    let told = Instant::now();
    server.cmd(&["PUBLISH", "redisson_sc:{slots}", "2"]);
    granted(waiter).await;
    assert!(told.elapsed() < TOLD, "{:?}", told.elapsed());
    all_are_back(&slots[0], 0).await;
}

/// Redisson would wait for the next release.
#[tokio::test]
async fn permits_that_nobody_told_of_are_found_by_a_poll() {
    let place = Place::server();
    let (server, slots) = (place.server.as_ref().unwrap(), place.slots(1, 0).await);
    let waiter = waits(&slots[0], 1);
    queued(&slots[0], 1).await;
    settle().await;
    let brought = Instant::now();
    server.cmd(&["INCR", "slots"]);
    granted(waiter).await;
    assert!(brought.elapsed() < Duration::from_millis(1_200) + TOLD, "{:?}", brought.elapsed());
}

/// Whoever deletes it takes the permits of all; whoever waits goes on waiting.
#[tokio::test]
async fn a_waiter_outlasts_a_semaphore_that_is_deleted() {
    let place = Place::server();
    let (server, slots) = (place.server.as_ref().unwrap(), place.slots(2, 1).await);
    let waiter = waits(&slots[1], 2);
    queued(&slots[0], 1).await;
    server.cmd(&["DEL", "slots"]);
    tokio::time::sleep(Duration::from_millis(1_300)).await; // a poll, which must not end the wait
    assert!(!waiter.is_finished());
    assert!(slots[0].try_set_permits(2).await.unwrap());
    granted(waiter).await;
}

#[tokio::test]
async fn one_release_serves_many_callers_of_a_process() {
    const CALLERS: u32 = 20;
    for place in Place::both() {
        let slots = place.slots(2, 0).await;
        let callers: Vec<_> = (0..CALLERS).map(|_| waits(&slots[1], 1)).collect();
        waiting(&slots[1], CALLERS.into()).await;
        queued(&slots[0], 1).await;
        slots[0].release_many(CALLERS).await.unwrap();
        for caller in callers {
            granted(caller).await;
        }
        all_are_back(&slots[0], 0).await;
    }
}
