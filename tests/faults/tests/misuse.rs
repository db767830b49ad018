//! Calls by callers that do not hold the lock, calls after the end, and re-entry.

use std::time::{Duration, Instant};

use libdlock::lease::{HolderId, Lease};
use libdlock::lock::LockOptions;
use libdlock::{ErrorKind, Lock, Wait};
use libdlock_faults::{SOON, acquire, bounded, client, is_held, kind, with_options};
use libdlock_testkit::{Server, lateness};
use tokio::task::JoinSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_release_says_not_held() {
    let server = Server::start();
    let lock = client(&server.url()).await.lock("job").expect("a name");
    let me = HolderId::fresh();
    acquire(&lock, me, Wait::Try, None).await.expect("acquire");
    lock.release_as(me).await.expect("release");
    assert_eq!(kind(lock.release_as(me).await), ErrorKind::NotHeld);
    assert_eq!(kind(lock.extend_as(me, Duration::from_secs(1)).await), ErrorKind::NotHeld);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_by_another_holder_says_not_held_and_takes_nothing() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    let (me, other) = (HolderId::fresh(), HolderId::fresh());
    let grant = acquire(&lock, me, Wait::Try, None).await.expect("acquire");
    let elsewhere = libdlock_faults::client(&server.url()).await.lock("job").expect("a name");
    assert_eq!(kind(lock.release_as(other).await), ErrorKind::NotHeld);
    assert_eq!(kind(elsewhere.release_as(me).await), ErrorKind::NotHeld, "holder ids mean nothing in another client");
    assert!(grant.is_valid() && is_held(&server, "job"));
    lock.release_as(me).await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_after_the_lease_ran_out_says_so_and_takes_nothing() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    let (me, other) = (HolderId::fresh(), HolderId::fresh());
    let short = Lease::Fixed(Duration::from_millis(200));
    let grant = acquire(&lock, me, Wait::Try, Some(short)).await.expect("acquire");
    bounded(SOON, "it runs out", grant.lost()).await;
    let next = bounded(SOON, "the next", acquire(&lock, other, Wait::Forever, None)).await.expect("acquire");
    let refused = kind(lock.release_as(me).await);
    assert!(matches!(refused, ErrorKind::NotHeld | ErrorKind::Lost), "{refused:?}");
    assert!(next.is_valid());
    assert_eq!(server.cmd(&["HEXISTS", "job", next.owner()]).int(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_after_close_says_closed() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    let me = HolderId::fresh();
    let grant = acquire(&lock, me, Wait::Try, None).await.expect("acquire");
    client.close().await;
    client.close().await;
    assert!(client.is_closed());
    assert_eq!(kind(acquire(&lock, HolderId::fresh(), Wait::Try, None).await), ErrorKind::Closed);
    assert_eq!(kind(lock.release_as(me).await), ErrorKind::Closed);
    assert_eq!(kind(lock.extend_as(me, Duration::from_secs(1)).await), ErrorKind::Closed);
    assert_eq!(kind(lock.inspect().await), ErrorKind::Closed);
    assert_eq!(kind(lock.force_release().await), ErrorKind::Closed);
    assert_eq!(kind(client.lock("other").map(drop)), ErrorKind::Closed);
    assert!(!grant.is_valid(), "nobody renews it any more");
    assert!(is_held(&server, "job"), "closing does not talk to the server: the lease runs out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_brings_a_thousand_waiters_back_within_100_ms() {
    let server = Server::start();
    let holder = client(&server.url()).await;
    let held = holder.lock("job").expect("a name").acquire().await.expect("acquire");
    let closing = client(&server.url()).await;
    let lock = closing.lock("job").expect("a name");
    let mut waiters = JoinSet::new();
    for _ in 0..1_000 {
        let lock = lock.clone();
        waiters.spawn(async move { (kind(lock.acquire().await.map(drop)), Instant::now()) });
    }
    libdlock_faults::wait_until_waiting(&server, "job");
    let start = Instant::now();
    closing.close().await;
    while let Some(waiter) = bounded(SOON, "all come back", waiters.join_next()).await {
        let (kind, at) = waiter.expect("no panic");
        assert_eq!(kind, ErrorKind::Closed);
        assert!(at - start <= Duration::from_millis(100) + lateness(), "{:?}", at - start);
    }
    held.release().await.expect("the other client is not touched");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_with_release_gives_everything_back() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let locks: Vec<Lock> = (0..10).map(|n| client.lock(&format!("job-{n}")).expect("a name")).collect();
    for lock in &locks {
        acquire(lock, HolderId::fresh(), Wait::Try, None).await.expect("acquire");
    }
    client.close_releasing().await.expect("close");
    assert!(locks.iter().all(|lock| !is_held(&server, lock.name())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn re_entry_ten_thousand_deep_costs_no_round_trip() {
    const DEPTH: u32 = 10_000;
    let server = Server::start();
    let lock = client(&server.url()).await.lock("job").expect("a name");
    let me = HolderId::fresh();
    let first = acquire(&lock, me, Wait::Forever, None).await.expect("acquire");
    let scripts =
        || server.info("commandstats", "cmdstat_evalsha:calls") + server.info("commandstats", "cmdstat_eval:calls");
    let before = scripts();
    for depth in 2..=DEPTH {
        let again = acquire(&lock, me, Wait::Forever, None).await.expect("re-enter");
        assert_eq!(again.token(), first.token());
        assert_eq!(lock.hold_count(me), depth);
    }
    for depth in (1..DEPTH).rev() {
        lock.release_as(me).await.expect("release one level");
        assert_eq!(lock.hold_count(me), depth);
    }
    // One look at the hold when the inbox is confirmed, by its hash and then with its text.
    assert!(scripts() <= before + 2, "re-entry is counted in the process");
    assert!(is_held(&server, "job") && first.is_valid());
    lock.release_as(me).await.expect("the last release");
    assert!(!is_held(&server, "job"));
    assert_eq!(kind(lock.release_as(me).await), ErrorKind::NotHeld);
}

async fn refuses_re_entry(lock: Lock) {
    let me = HolderId::fresh();
    acquire(&lock, me, Wait::Forever, None).await.expect("acquire");
    let again = acquire(&lock, me, Wait::Forever, None);
    let refused = bounded(Duration::from_secs(1), "at once, rather than a hang", again).await;
    assert_eq!(kind(refused), ErrorKind::Deadlock);
    assert_eq!(kind(acquire(&lock, me, Wait::Try, None).await), ErrorKind::Deadlock);
    assert_eq!(lock.hold_count(me), 1);
    lock.release_as(me).await.expect("release");
    assert_eq!(lock.hold_count(me), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_acquire_without_reentry_is_a_deadlock_at_once() {
    let server = Server::start();
    let by_lock = LockOptions::default().reentrant(false);
    refuses_re_entry(client(&server.url()).await.lock_with("job", by_lock).expect("a name")).await;
    let by_client = client(&with_options(&server.url(), "reentrant=false")).await;
    refuses_re_entry(by_client.lock("job").expect("a name")).await;
}

/// A count would go on alike in two copies of a process, as after a snapshot was restored twice: both would name one attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_attempts_name_does_not_follow_from_the_one_before() {
    let server = Server::start();
    let lock = client(&server.url()).await.lock("job").expect("a name");
    let mut last: Option<u64> = None;
    for _ in 0..10 {
        let held = lock.acquire().await.expect("acquire");
        let (id, n) = held.owner().rsplit_once(':').expect("an owner");
        assert_eq!(id.len(), 36);
        let n: u64 = n.parse().expect("decimal");
        // One in 2^32 that it is this near by chance.
        assert!(last.is_none_or(|last| n.abs_diff(last) > 1 << 31), "{n} after {last:?}");
        last = Some(n);
        // For so long they may follow one another.
        tokio::time::sleep(Duration::from_millis(2)).await;
        held.release().await.expect("release");
    }
}
