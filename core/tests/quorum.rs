//! Locks on several independent servers, of which a majority grants them: what goes on without a fault, or with too many.

use std::time::{Duration, Instant};

use crate::common::quorum::{KEPT, NAME, PATIENCE, SHORT, Servers};
use libdlock::lease::Lease;
use libdlock::lock::LockOptions;
use libdlock::{Client, ErrorKind, Rate};
use libdlock_testkit::{eventually, lateness};

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_at_five_servers_goes_from_client_to_client() {
    let servers = Servers::start(5);
    let (one, other) = (servers.client(KEPT).await, servers.client(KEPT).await);
    let held = one.lock(NAME).unwrap().acquire().await.unwrap();
    assert!(servers.fields() >= 3);
    let lock = other.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
    let first = held.token();
    held.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    assert!(next.token() > first);
    next.release().await.unwrap();
    eventually(PATIENCE, "nothing is left", || servers.fields() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_wakes_a_waiter_before_its_timer() {
    let servers = Servers::start(3);
    let url = servers.url(&format!("{KEPT}&poll_interval=2s"));
    let (one, other) = (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
    for _ in 0..5 {
        let held = one.lock(NAME).unwrap().acquire().await.unwrap();
        let lock = other.lock(NAME).unwrap();
        let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
        eventually(PATIENCE, "the waiter listens", || {
            let counts = servers
                .servers
                .iter()
                .map(|server| server.cmd(&["PUBSUB", "NUMSUB", "redisson_lock__channel:{jobs}"]).array()[1].int());
            counts.sum::<i64>() == 3
        });
        let released = Instant::now();
        held.release().await.unwrap();
        waiting.await.unwrap().unwrap().release().await.unwrap();
        // Less than half of the timer.
        assert!(released.elapsed() < Duration::from_secs(1) + lateness(), "{:?}", released.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_nothing_is_granted() {
    let mut servers = Servers::start(5);
    let client = servers.client(KEPT).await;
    for server in &mut servers.servers[..3] {
        server.stop();
    }
    let refused = client.lock(NAME).unwrap().try_acquire().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection);
    assert!(refused.message().contains("3 of 5 servers have to agree"), "{refused}");
    eventually(PATIENCE, "the minority is released", || {
        servers.servers[3..].iter().all(|server| !server.keys().contains(&NAME.to_owned()))
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minority_grant_is_undone() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    let foreign = "11111111-2222-4333-8444-555555555555:1";
    for server in &servers.servers[..2] {
        server.cmd(&["HSET", NAME, foreign, "1"]);
        server.cmd(&["PEXPIRE", NAME, "60000"]);
    }
    let refused = client.lock(NAME).unwrap().try_acquire().await.unwrap();
    assert!(refused.is_none());
    eventually(PATIENCE, "the minority is released", || servers.fields() == 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_wait_goes_on_while_too_few_servers_count() {
    let servers = Servers::start(3);
    let client = servers.client(SHORT).await;
    let lock = client.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.is_err());
    let held = tokio::time::timeout(PATIENCE, lock.acquire()).await.unwrap().unwrap();
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_wait_ends_when_too_many_servers_are_down() {
    let mut servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    servers.servers[0].stop();
    servers.servers[1].stop();
    let began = Instant::now();
    let acquiring = client.lock(NAME).unwrap();
    let refused = tokio::time::timeout(PATIENCE, acquiring.acquire()).await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection, "{refused}");
    // `operation_timeout`.
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_client_frees_its_holds_everywhere() {
    let servers = Servers::start(5);
    // Now and then a renewal is under way, because a server was connected only then.
    for _ in 0..20 {
        let client = servers.client(KEPT).await;
        let held = client.lock(NAME).unwrap().acquire().await.unwrap();
        client.close_releasing().await.unwrap();
        assert_eq!(servers.fields(), 0, "{held:?}");
    }
}

#[tokio::test]
async fn only_locks_can_be_had_of_several_servers() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    let second = Duration::from_secs(1);
    let refused = [
        client.semaphore("permits", 3).err(),
        client.rw_lock("book").err(),
        client.latch("start").err(),
        client.id_generator("ids").err(),
        client.bloom_filter("seen", 100, 0.01).err(),
        client.rate_limiter("calls", Rate::new(5, second)).err(),
        client.counting_semaphore("permits").err(),
        client.lock_all(["a", "b"]).err(),
    ];
    for refused in refused {
        let refused = refused.expect("a refusal");
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
        assert!(refused.message().contains("agree on who holds a lock, and on nothing else"), "{refused}");
    }
}

#[tokio::test]
async fn a_lease_beyond_the_longest_lease_is_refused() {
    let servers = Servers::start(3);
    let client = servers.client(KEPT).await;
    let lock = client.lock_with(NAME, LockOptions::default().lease(Lease::Fixed(Duration::from_secs(61)))).unwrap();
    let refused = lock.try_acquire().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert!(refused.message().contains("lease 61s is longer than longest_lease"), "{refused}");
    assert_eq!(servers.fields(), 0);
}
