//! The lock's key holds data that libdlock did not write.

use std::time::Duration;

use libdlock::{Client, ErrorKind};
use libdlock_faults::{SOON, bounded, client, kind, slack};
use libdlock_testkit::{Reply, Server};

/// Every operation says WrongType, and the key is what it was.
async fn is_left_alone(server: &Server, client: &Client, name: &str, dump: &Reply) {
    let lock = client.lock(name).expect("a name");
    assert_eq!(kind(lock.acquire().await.map(drop)), ErrorKind::WrongType);
    assert_eq!(kind(lock.try_acquire().await.map(drop)), ErrorKind::WrongType);
    assert_eq!(kind(lock.acquire_timeout(Duration::from_secs(5)).await.map(drop)), ErrorKind::WrongType);
    assert_eq!(kind(lock.inspect().await), ErrorKind::WrongType);
    assert_eq!(kind(lock.force_release().await), ErrorKind::WrongType);
    assert_eq!(server.cmd(&["DUMP", name]), *dump, "the data was touched");
    assert_eq!(server.cmd(&["PTTL", name]).int(), -1, "the data was touched");
    assert_eq!(server.keys().len(), 1, "something was left beside it");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_type_under_the_name_is_wrong_type_and_left_alone() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let writes: [&[&str]; 4] =
        [&["SET", "job", "x"], &["RPUSH", "job", "x"], &["SADD", "job", "x"], &["ZADD", "job", "1", "x"]];
    for write in writes {
        server.cmd(write);
        let dump = server.cmd(&["DUMP", "job"]);
        is_left_alone(&server, &client, "job", &dump).await;
        server.cmd(&["DEL", "job"]);
    }
    client.lock("job").expect("a name").acquire().await.expect("it is free").release().await.expect("release");
}

/// A key that turns into something else while it is held as a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_overwritten_hold_is_lost_at_the_next_renewal() {
    let server = Server::start();
    let client = client(&libdlock_faults::with_options(&server.url(), "lease=1s")).await;
    let held = client.lock("job").expect("a name").acquire().await.expect("acquire");
    server.cmd(&["SET", "job", "x"]);
    let reason = bounded(Duration::from_secs(1) / 3 + slack(), "told at the next renewal", held.lost()).await;
    assert_eq!(reason.map(|r| r.as_str()), Some("taken"));
    held.release().await.expect_err("there is nothing to release");
    assert_eq!(server.cmd(&["GET", "job"]).text(), "x");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_foreign_holder_without_a_lease_is_reported_never_robbed() {
    const OWNER: &str = "6e3814a1-e847-452b-a982-45baf93a1df2:1";
    let server = Server::start();
    let client = client(&libdlock_faults::with_options(&server.url(), "poll_interval=50ms")).await;
    server.cmd(&["HSET", "job", OWNER, "1"]);
    let lock = client.lock("job").expect("a name");

    let error = lock.acquire_timeout(Duration::from_millis(500)).await.map(drop).expect_err("it is held");
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.message().contains(OWNER), "it names the holder: {error}");
    let seen = lock.inspect().await.expect("inspect");
    assert_eq!((seen.holder.as_deref(), seen.ours, seen.ttl), (Some(OWNER), false, None));
    assert_eq!(server.cmd(&["HGETALL", "job"]).array().len(), 2);
    assert_eq!(server.cmd(&["PTTL", "job"]).int(), -1);

    // the foreign holder lets go without a word: the poll finds it
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    libdlock_faults::wait_until_waiting(&server, "job");
    server.cmd(&["DEL", "job"]);
    let held = bounded(SOON, "acquired", waiter).await.expect("no panic").expect("acquire");
    held.release().await.expect("release");
}

/// It counts how often attempts that do not wait have jumped the head; what is no such number lets none of them jump.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_of_jumps_that_is_none_lets_nobody_jump() {
    const HEAD: &str = "11111111-2222-8333-8444-555555555555";
    let server = Server::start();
    let client = client(&server.url()).await;
    let mut inbox = server.connect();
    inbox.cmd(&["SUBSCRIBE", &format!("dlock_inbox:{HEAD}")]).expect("the head listens");
    let slots = client.counting_semaphore("slots").expect("a name");
    assert!(slots.try_set_permits(1).await.expect("set"));
    for text in ["x", "", "1.5", "-1", "1e0", "0x1"] {
        for (kind, name) in [("", "job"), ("semaphore_", "pool"), ("rw_", "prices"), ("counting_", "slots")] {
            let [queue, seen] = ["queue", "seen"].map(|part| format!("dlock_{kind}{part}:{{{name}}}"));
            let now = server.cmd(&["TIME"]).array()[0].text().to_owned() + "000";
            server.cmd(&["ZADD", &queue, "1", HEAD]);
            // In front of readers a writer, which wants more than there is for them.
            let wants = if kind == "rw_" { "1000000000" } else { "1" };
            server.cmd(&["HSET", &seen, HEAD, &now, &format!("want:{HEAD}"), wants, "barged", text]);
        }
        let tried = [
            client.lock("job").expect("a name").try_acquire().await.map(|held| held.is_some()),
            client.lock_all(["job", "other"]).expect("names").try_acquire().await.map(|held| held.is_some()),
            client.semaphore("pool", 1).expect("a name").try_acquire().await.map(|held| held.is_some()),
            client.rw_lock("prices").expect("a name").write().try_acquire().await.map(|held| held.is_some()),
            client.rw_lock("prices").expect("a name").read().try_acquire().await.map(|held| held.is_some()),
            slots.try_acquire().await,
        ];
        for (at, tried) in tried.into_iter().enumerate() {
            assert_eq!(tried.map_err(|error| error.to_string()), Ok(false), "{text:?}, number {at}");
        }
        for key in
            ["job", "other", "pool:timeout", "prices", "redisson_lock_token:{job}", "redisson_lock_token:{other}"]
        {
            assert_eq!(server.cmd(&["EXISTS", key]).int(), 0, "{key} is untouched");
        }
    }
}
