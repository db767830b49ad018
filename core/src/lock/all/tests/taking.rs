//! Taking without waiting, names, and what it costs.

use super::*;
use crate::error::ErrorKind;
use crate::lease::{AcquireOptions, HolderId, Lease};
use crate::lock::{LockOptions, MAX_LOCKS};
use crate::wait::Wait;
use std::time::Duration;

const TRY: AcquireOptions = AcquireOptions { wait: Wait::Try, lease: None };

#[tokio::test]
async fn a_free_set_is_taken_and_excludes_its_members() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let before = lock(&one, "b").acquire().await.unwrap();
        let earlier = before.token();
        before.release().await.unwrap();
        let held = set(&one).acquire().await.unwrap();
        assert_eq!(names(&held), NAMES);
        assert!(held.token("b").unwrap() > earlier, "each has the tokens of its lock");
        assert_eq!((held.token("d"), held.is_valid(), held.loss()), (None, true, None));
        for name in NAMES {
            assert!(lock(&other, name).try_acquire().await.unwrap().is_none(), "{name}");
            assert!(lock(&one, name).try_acquire().await.unwrap().is_none(), "{name}, in the same process");
        }
        assert!(other.lock_all(["c", "z"]).unwrap().try_acquire().await.unwrap().is_none());
        assert!(!is_held(&other, "z").await, "all or none");
        held.release().await.unwrap();
        let held = set(&other).try_acquire().await.unwrap().expect("it is free");
        drop(held);
        nothing_is_left(&one, &NAMES).await;
    }
}

#[tokio::test]
async fn a_free_set_is_taken_and_freed_by_one_request_each() {
    let place = Place::server();
    let client = place.client().await;
    let names: Vec<String> = (0..MAX_LOCKS).map(|number| format!("job-{number}")).collect();
    let all = client.lock_all(&names).unwrap();
    all.acquire().await.unwrap().release().await.unwrap(); // the server has the scripts
    let server = place.server.as_ref().unwrap();
    let calls = || -> u64 {
        let stats = server.cmd(&["INFO", "commandstats"]);
        let line = |command: &str| stats.text().lines().find(|line| line.starts_with(command)).map(str::to_owned);
        let line = line("cmdstat_evalsha:").unwrap();
        line.split(['=', ',']).nth(1).unwrap().parse().unwrap()
    };
    let before = calls();
    let held = all.acquire().await.unwrap();
    assert_eq!((calls() - before, held.grants().len()), (1, MAX_LOCKS));
    held.extend(Duration::from_secs(60)).await.unwrap();
    assert_eq!(calls() - before, 2);
    held.release().await.unwrap();
    assert_eq!(calls() - before, 3);
    assert_eq!(server.cmd(&["EXISTS", "job-0"]).int(), 0);
}

#[tokio::test]
async fn one_name_is_a_set_and_two_alike_are_one() {
    for place in Place::both() {
        let client = place.client().await;
        let set = client.lock_all(["b", "a", "b"]).unwrap();
        assert_eq!(set.names().collect::<Vec<_>>(), ["a", "b"]);
        let held = client.lock_all(["a"]).unwrap().acquire().await.unwrap();
        assert!(set.try_acquire().await.unwrap().is_none());
        held.release().await.unwrap();
        set.acquire().await.unwrap().release().await.unwrap();
    }
}

#[tokio::test]
async fn what_is_no_set_of_names_is_refused() {
    let client = Place::memory().client().await;
    let refused = |names: Vec<String>| client.lock_all(names).unwrap_err();
    let error = refused(Vec::new());
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.to_string().contains("1 to 100 different names"), "{error}");
    let many = |number: usize| (0..number).map(|number| number.to_string()).collect::<Vec<_>>();
    assert_eq!(refused(many(MAX_LOCKS + 1)).kind(), ErrorKind::InvalidArgument);
    assert_eq!(refused(vec!["a".to_owned(), String::new()]).kind(), ErrorKind::InvalidName);
    assert!(client.lock_all([many(MAX_LOCKS), many(3)].concat()).is_ok(), "names that are given twice count once");
}

#[tokio::test]
async fn a_busy_member_is_named_and_nothing_is_taken() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        for holder in [&one, &other] {
            let held = lock(holder, "b").acquire().await.unwrap();
            let error = set(&one).acquire_as(HolderId::fresh(), TRY).await.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::Busy, Some("b")), "{error}");
            assert!(error.to_string().contains("held by"), "{error}");
            assert!(!is_held(&one, "a").await && !is_held(&one, "c").await);
            held.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_member_of_another_kind_leaves_all_untouched() {
    let place = Place::server();
    let (client, server) = (place.client().await, place.server.as_ref().unwrap());
    let queue = "dlock_queue:{b}";
    for (key, of_lock) in [("b", true), ("redisson_lock_token:{b}", false), (queue, false)] {
        server.cmd(&["LPUSH", key, "x"]);
        for how in [TRY, AcquireOptions::default()] {
            let error = set(&client).acquire_as(HolderId::fresh(), how).await.unwrap_err();
            assert_eq!((error.kind(), error.name()), (ErrorKind::WrongType, Some("b")), "{key}: {error}");
        }
        let keys: Vec<String> = server.cmd(&["KEYS", "*"]).array().iter().map(|key| key.text().to_owned()).collect();
        assert_eq!(keys, [key], "nothing was taken, and no token was used");
        assert_eq!(of_lock, key == "b");
        server.cmd(&["DEL", key]);
    }
    let memory = Place::memory().client().await;
    let permits = memory.semaphore("b", 1).unwrap().acquire().await.unwrap();
    assert_eq!(set(&memory).try_acquire().await.unwrap_err().kind(), ErrorKind::WrongType);
    drop(permits);
    assert!(!is_held(&memory, "a").await);
}

#[tokio::test]
async fn a_full_server_takes_nothing() {
    let place = Place::server();
    let (client, server) = (place.client().await, place.server.as_ref().unwrap());
    server.cmd(&["CONFIG", "SET", "maxmemory-policy", "noeviction"]);
    server.cmd(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = set(&client).try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    server.cmd(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(server.cmd(&["DBSIZE"]).int(), 0);
}

#[tokio::test]
async fn a_holder_acquires_again_what_it_holds() {
    for place in Place::both() {
        let client = place.client().await;
        let (set, me, how) = (set(&client), HolderId::fresh(), AcquireOptions::default());
        let outer = set.acquire_as(me, how).await.unwrap();
        let inner = set.acquire_as(me, how).await.unwrap();
        assert_eq!((set.hold_count(me), inner.token("a")), (2, outer.token("a")));
        inner.release().await.unwrap();
        assert_eq!(set.hold_count(me), 1);
        assert!(is_held(&client, "c").await);
        // A part of it, and more than it, where the order allows it.
        let part = client.lock_all(["b"]).unwrap().acquire_as(me, how).await.unwrap();
        let more = client.lock_all(["c", "d"]).unwrap().acquire_as(me, how).await.unwrap();
        drop(part);
        more.release().await.unwrap();
        assert_eq!(set.hold_count(me), 1);
        outer.release().await.unwrap();
        assert_eq!(set.release_as(me).await.unwrap_err().kind(), ErrorKind::NotHeld);
        nothing_is_left(&client, &["a", "b", "c", "d"]).await;
    }
}

#[tokio::test]
async fn a_wait_against_the_order_is_refused_at_once() {
    for place in Place::both() {
        let client = place.client().await;
        let (me, how) = (HolderId::fresh(), AcquireOptions::default());
        let held = lock(&client, "b").acquire_as(me, how).await.unwrap();
        let error = set(&client).acquire_as(me, how).await.unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::Deadlock, Some("a")), "{error}");
        assert_eq!(lock(&client, "b").hold_count(me), 1);
        // Without a wait there is no circle.
        let all = set(&client).acquire_as(me, TRY).await.unwrap();
        all.release().await.unwrap();
        assert_eq!(lock(&client, "b").hold_count(me), 1);
        let once = client.lock_all_with(NAMES, LockOptions::default().reentrant(false)).unwrap();
        assert_eq!(once.acquire_as(me, TRY).await.unwrap_err().kind(), ErrorKind::Deadlock);
        held.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_lease_is_that_of_every_member() {
    for place in Place::both() {
        let client = place.client().await;
        let lease = Duration::from_secs(3);
        let how = AcquireOptions::default().lease(Lease::Fixed(lease));
        let held = set(&client).acquire_as(HolderId::fresh(), how).await.unwrap();
        assert!(held.grants().all(|(_, grant)| grant.lease() == lease && grant.remaining() <= lease));
        held.extend(Duration::from_secs(30)).await.unwrap();
        assert!(held.remaining() > Duration::from_secs(25));
        let error = held.extend(Duration::from_millis(1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        held.release().await.unwrap();
    }
}

/// An attempt at one lock drops the dead head of its queue; one at several changes no queue itself.
#[tokio::test]
async fn an_attempt_gets_past_a_dead_head() {
    let place = Place::server();
    let (client, server) = (place.client().await, place.server.as_ref().unwrap());
    let dead = "11111111-2222-8333-8444-555555555555";
    server.cmd(&["ZADD", "dlock_queue:{b}", "1", dead]);
    server.cmd(&["HSET", "dlock_seen:{b}", dead, "1", "barged", "2"]);
    let held = set(&client).try_acquire().await.unwrap().expect("the head is dead");
    assert_eq!(server.cmd(&["EXISTS", "dlock_queue:{b}"]).int(), 0);
    held.release().await.unwrap();
}
