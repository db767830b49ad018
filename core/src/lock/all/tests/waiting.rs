//! Waiting for a set: the order, what is given back, and what happens to it meanwhile.

use std::time::Duration;

use tokio::task::JoinHandle;

use super::*;
use crate::error::{ErrorKind, Result};
use crate::lease::{AcquireOptions, HolderId, Lease};

/// Less than the shortest poll of a waiter: a set that comes in this time was told.
const TOLD: Duration = Duration::from_millis(500);

fn waits(set: &LockAll) -> JoinHandle<Result<HeldAll>> {
    let set = set.clone();
    tokio::spawn(async move { set.acquire().await })
}

async fn granted(waiter: JoinHandle<Result<HeldAll>>) -> HeldAll {
    soon("a waiter is granted", waiter).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_waiter_holds_what_comes_before_the_busy_one() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let busy = lock(&other, "b").acquire().await.unwrap();
        let waiter = waits(&set(&one));
        queued(&other, "b", 1).await;
        assert!(is_held(&other, "a").await, "it comes before");
        assert!(!is_held(&other, "c").await, "it comes behind");
        let released = std::time::Instant::now();
        busy.release().await.unwrap();
        let held = granted(waiter).await;
        assert!(released.elapsed() < TOLD, "it was told: {:?}", released.elapsed());
        assert_eq!(names(&held), NAMES);
        held.release().await.unwrap();
        nothing_is_left(&one, &NAMES).await;
    }
}

#[tokio::test]
async fn a_wait_that_is_over_gives_everything_back() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let busy = lock(&other, "c").acquire().await.unwrap();
        let error = set(&one).acquire_timeout(Duration::from_millis(80)).await.unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::Busy, Some("c")), "{error}");
        nothing_is_left(&other, &["a", "b"]).await;
        queued(&other, "c", 0).await;
        busy.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_dropped_wait_leaves_nothing_behind() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        for polls in 0..40 {
            let busy = if polls % 2 == 0 { Some(lock(&other, "b").acquire().await.unwrap()) } else { None };
            let set = set(&one);
            crate::contended::place::dropped_after(polls, set.acquire()).await;
            drop(busy);
            nothing_is_left(&other, &NAMES).await;
        }
    }
}

/// The contender of `b` learns of both at once, and keeps the place in the queue. What the set had is free.
#[tokio::test]
async fn callers_right_after_a_set_that_gave_up_are_served() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let busy = lock(&other, "b").acquire().await.unwrap();
        let waiter = waits(&set(&one));
        queued(&other, "b", 1).await;
        waiter.abort();
        let next = ["a", "b"].map(|name| {
            let lock = lock(&one, name);
            tokio::spawn(async move { lock.acquire().await })
        });
        let released = std::time::Instant::now();
        busy.release().await.unwrap();
        for next in next {
            soon("it is granted", next).await.unwrap().unwrap().release().await.unwrap();
        }
        assert!(released.elapsed() < TOLD, "{:?}", released.elapsed());
        nothing_is_left(&one, &NAMES).await;
    }
}

/// In the order of their names each would have what the other waits for.
#[tokio::test]
async fn sets_in_opposite_order_do_not_block_each_other() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let (forth, back) = (one.lock_all(["a", "b"]).unwrap(), other.lock_all(["b", "a"]).unwrap());
        let take = |set: LockAll| async move {
            for _ in 0..50 {
                set.acquire().await.unwrap().release().await.unwrap();
            }
        };
        let both = async { tokio::join!(take(forth.clone()), take(forth), take(back.clone()), take(back)) };
        soon("all have had it", both).await;
        nothing_is_left(&one, &["a", "b"]).await;
    }
}

#[tokio::test]
async fn what_is_lost_while_waiting_is_taken_anew() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let busy = lock(&other, "c").acquire().await.unwrap();
        let waiter = waits(&set(&one));
        queued(&other, "c", 1).await;
        let before = lock(&other, "a").inspect().await.unwrap().token;
        lock(&other, "a").force_release().await.unwrap();
        soon("it takes what it has lost", async {
            while !is_held(&other, "a").await {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        busy.release().await.unwrap();
        let held = granted(waiter).await;
        assert!(held.token("a") > before, "a new grant");
        assert!(held.is_valid() && held.loss().is_none());
        held.release().await.unwrap();
        nothing_is_left(&one, &NAMES).await;
    }
}

#[tokio::test]
async fn a_fixed_lease_is_kept_while_a_later_lock_is_waited_for() {
    let lease = Duration::from_millis(300);
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let busy = lock(&other, "c").acquire().await.unwrap();
        let set = set(&one);
        let waiter = tokio::spawn(async move {
            let how = AcquireOptions::default().lease(Lease::Fixed(lease));
            set.acquire_as(HolderId::fresh(), how).await
        });
        queued(&other, "c", 1).await;
        let token = lock(&other, "a").inspect().await.unwrap().token;
        // Longer than the lease by far.
        tokio::time::sleep(lease * 4).await;
        busy.release().await.unwrap();
        let held = granted(waiter).await;
        assert_eq!(held.token("a"), token, "it was held all the time");
        assert!(held.remaining() > lease / 2, "all of the lease is left: {:?}", held.remaining());
        assert_eq!(soon("it ends with its lease", held.lost()).await.map(|lost| lost.reason.as_str()), Some("expired"));
        drop(held);
        nothing_is_left(&one, &NAMES).await;
    }
}

/// A set that waits can stand in a queue, so it has no reason to jump one.
#[tokio::test]
async fn a_set_that_waits_takes_nothing_that_others_wait_for() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let third = place.client().await;
        let busy = lock(&third, "b").acquire().await.unwrap();
        let single = lock(&other, "b");
        let first = tokio::spawn(async move { single.acquire().await });
        queued(&third, "b", 1).await;
        let waiter = waits(&set(&one));
        queued(&third, "b", 2).await;
        busy.release().await.unwrap();
        let first = soon("the first in the queue has it", first).await.unwrap().unwrap();
        assert!(!waiter.is_finished());
        first.release().await.unwrap();
        granted(waiter).await.release().await.unwrap();
    }
}

/// The head is alive and has not come yet.
#[tokio::test]
async fn a_set_jumps_a_queue_only_if_it_does_not_wait() {
    let place = Place::server();
    let (client, server) = (place.client().await, place.server.as_ref().unwrap());
    let head = "11111111-2222-8333-8444-555555555555";
    let mut inbox = server.connect();
    inbox.cmd(&["SUBSCRIBE", &format!("dlock_inbox:{head}")]).unwrap();
    let now = server.cmd(&["TIME"]).array()[0].text().to_owned() + "000";
    server.cmd(&["ZADD", "dlock_queue:{b}", "1", head]);
    server.cmd(&["HSET", "dlock_seen:{b}", head, &now]);
    let error = set(&client).acquire_timeout(Duration::from_millis(60)).await.unwrap_err();
    assert_eq!((error.kind(), error.name()), (ErrorKind::Busy, Some("b")), "{error}");
    let barged = || server.cmd(&["HGET", "dlock_seen:{b}", "barged"]);
    assert!(barged().is_nil(), "it has not jumped");
    nothing_is_left(&client, &["a", "c"]).await;
    queued(&client, "b", 1).await;
    for jumps in 1..=2 {
        let held = set(&client).try_acquire().await.unwrap().expect("nobody holds it");
        assert_eq!(barged().text(), jumps.to_string());
        held.release().await.unwrap();
    }
    assert!(set(&client).try_acquire().await.unwrap().is_none(), "at most twice per head");
    nothing_is_left(&client, &["a", "c"]).await;
}
