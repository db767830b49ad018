//! What a user is told when the server, or the way to it, says no. Each on a real server.

use std::net::TcpListener;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use libdlock::lease::HolderId;
use libdlock::lock::AcquireOptions;
use libdlock::{Client, Error, ErrorKind};
use libdlock_testkit::{Proxy, Reply, Server, Side, eventually, lateness, within};

async fn refused(url: &str) -> Error {
    let error = Client::connect(url).await.expect_err("connected");
    assert!(!error.to_string().contains("s3cret"), "{error}");
    error
}

/// What a user of the library needs on the server, as the error about permissions says it.
const RULE: &str = "on >s3cret ~job* ~redisson_lock_token:* ~dlock_queue:* ~dlock_seen:* resetchannels &redisson_lock__channel:* \
     &dlock_inbox:* +@read +@write +@scripting +@pubsub +time +ping";

#[tokio::test]
async fn a_server_that_is_not_there_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = refused(&format!("redis://u:s3cret@{free}")).await;
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.message().contains(&free.to_string()) && error.message().contains("refused"), "{error}");
    assert!(error.is_retryable(), "{error}");
}

#[tokio::test]
async fn a_host_that_cannot_be_a_name_is_not_worth_a_retry() {
    let error = refused("redis://no..host").await;
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, false), "{error}");
    assert!(error.message().contains("check host name"), "{error}");
}

#[tokio::test]
async fn a_server_that_says_nothing_costs_the_connect_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let started = Instant::now();
    let address = silent.local_addr().unwrap();
    let error = refused(&format!("redis://:s3cret@{address}?connect_timeout=300ms")).await;
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.message().contains(&address.to_string()) && error.message().contains("300ms"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(1) + lateness(), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_wrong_password_is_called_that_and_not_repeated() {
    let server = Server::options().password("right").start();
    for url in [format!("redis://:s3cret@{}", server.address()), format!("redis://{}", server.address())] {
        let error = refused(&url).await;
        assert_eq!(error.kind(), ErrorKind::Connection);
        assert!(
            error.message().contains("password") && error.message().contains(&server.address().to_string()),
            "{error}"
        );
        assert!(!error.is_retryable(), "{error}");
    }
    Client::connect(&format!("redis://:right@{}", server.address())).await.unwrap();
}

/// Its callers have waited for a connection that no retry brings.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_became_wrong_is_final_to_waiters() {
    let server = Server::options().password("s3cret").start();
    let url = format!("redis://:s3cret@{}?operation_timeout=500ms", server.address());
    let mut config = libdlock::Config::from_url(&url).unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    config.on_event(std::sync::Arc::new(move |event| drop(tell.send(event.message.clone()))));
    let client = Client::connect_with(config).await.unwrap();
    let lock = client.lock("job").unwrap();
    server.cmd(&["CONFIG", "SET", "requirepass", "another"]);
    server.cmd(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    // What is sent before on the connection that breaks has an unknown outcome.
    while !told.recv().await.unwrap().starts_with("cannot connect for commands") {}
    let tried = lock.try_acquire().await.map(drop).unwrap_err();
    let waited = lock.acquire_timeout(Duration::from_millis(500)).await.unwrap_err();
    for error in [tried, waited] {
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Connection, false), "{error}");
        assert!(error.message().contains("the user or the password"), "{error}");
        assert_eq!((error.op(), error.name()), ("acquire", Some("job")));
    }
}

#[tokio::test]
async fn a_database_that_does_not_exist_is_refused() {
    let server = Server::start();
    let error = refused(&format!("{}/99", server.url().trim_end_matches("/0").trim_end_matches('/'))).await;
    assert!(error.message().contains("DB index") && !error.is_retryable(), "{error}");
}

/// A renamed command is as missing as one that an old server does not have yet.
#[tokio::test]
async fn a_missing_command_is_unsupported_and_named() {
    // One that asks for no password: Valkey asks for it before it says that it lacks the command.
    let server = Server::options().args(&["--rename-command", "HELLO", ""]).start();
    let error = refused(&format!("redis://:s3cret@{}", server.address())).await;
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("(HELLO)") && error.message().contains("Redis 6.2"), "{error}");
    // Another of the script: servers do not say which.
    for (missing, named) in [("EVALSHA", "(EVALSHA)"), ("HSET", "")] {
        let server = Server::options().args(&["--rename-command", missing, ""]).start();
        let client = Client::connect(&server.url()).await.unwrap();
        let lock = client.lock("ROOM").unwrap();
        let started = Instant::now();
        let error = lock.acquire().await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{missing}: {error}");
        assert!(error.message().contains(named) && error.message().contains("Valkey 7.2"), "{missing}: {error}");
        assert!(started.elapsed() < Duration::from_secs(5), "{missing}: {:?}", started.elapsed());
        assert_eq!(server.cmd(&["EXISTS", "ROOM"]).int(), 0, "{missing}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cluster_cannot_do_is_unsupported() {
    let node = || Server::options().args(&["--cluster-enabled", "yes"]).start();
    let (one, other) = (node(), node());
    let error = refused(&format!("redis://{}/1", one.address())).await;
    // Nodes of Valkey 9 may have several databases, and refuse the others as any server does.
    let says = match error.kind() {
        ErrorKind::Unsupported => "option db at 0",
        _ => "DB index is out of range",
    };
    assert!(error.message().contains(says) && !error.is_retryable(), "{error}");

    other.every_slot("ADDSLOTS");
    assert_eq!(one.cmd(&["CLUSTER", "MEET", "127.0.0.1", &other.address().port().to_string()]).text(), "OK");
    let moved = || matches!(one.cmd(&["GET", "jobs"]), Reply::Error(error) if error.starts_with("MOVED"));
    tokio::task::block_in_place(|| eventually(Duration::from_secs(20), "the nodes know one another", moved));
    let client = Client::connect(&format!("{}?operation_timeout=200ms", one.url())).await.unwrap();
    let error = client.lock("jobs").unwrap().try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.message().contains("another node serves this name"), "{error}");
}

#[tokio::test]
async fn another_type_under_the_name_is_left_untouched() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    for (name, command) in [("text", ["SET", "text", "x"]), ("list", ["RPUSH", "list", "x"])] {
        server.cmd(&command);
        let lock = client.lock(name).unwrap();
        assert_eq!(lock.acquire().await.unwrap_err().kind(), ErrorKind::WrongType);
        assert_eq!(lock.inspect().await.unwrap_err().kind(), ErrorKind::WrongType);
        assert_eq!(lock.force_release().await.unwrap_err().kind(), ErrorKind::WrongType);
    }
    assert_eq!(server.cmd(&["GET", "text"]).text(), "x");
    assert_eq!(server.cmd(&["LRANGE", "list", "0", "-1"]).array().len(), 1);
    server.cmd(&["RPUSH", "redisson_lock_token:{job}", "x"]);
    assert_eq!(client.lock("job").unwrap().acquire().await.unwrap_err().kind(), ErrorKind::WrongType);
    assert_eq!(server.cmd(&["EXISTS", "job"]).int(), 0);
}

#[tokio::test]
async fn a_foreign_hold_without_expiry_is_reported_and_never_stolen() {
    let server = Server::start();
    let client = Client::connect(&format!("{}?poll_interval=50ms", server.url())).await.unwrap();
    server.cmd(&["HSET", "job", "6e3814a1-e847-452b-a982-45baf93a1df2:7", "1"]);
    let lock = client.lock("job").unwrap();
    let error = lock.acquire_timeout(Duration::from_millis(300)).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    assert!(error.message().contains("6e3814a1-e847-452b-a982-45baf93a1df2:7"), "{error}");
    let seen = lock.inspect().await.unwrap();
    assert_eq!((seen.ours, seen.ttl, seen.token), (false, None, None));
    assert_eq!(server.cmd(&["HGETALL", "job"]).array().len(), 2);
}

#[tokio::test]
async fn out_of_memory_refuses_acquires_and_no_renewal_or_release() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let held = client.lock("job").unwrap().acquire().await.unwrap();
    let pool = client.semaphore("pool", 3).unwrap();
    let permits = pool.acquire_many(2).await.unwrap();
    server.cmd(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = client.lock("other").unwrap().acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
    assert!(error.message().contains("maxmemory") && error.is_retryable(), "{error}");
    held.extend(Duration::from_secs(60)).await.unwrap();
    held.release().await.unwrap();
    assert_eq!(server.cmd(&["EXISTS", "job", "other"]).int(), 0);

    assert_eq!(pool.acquire().await.unwrap_err().kind(), ErrorKind::OutOfMemory);
    permits.extend(Duration::from_secs(60)).await.unwrap();
    assert!(permits.is_valid() && permits.remaining() > Duration::from_secs(50));
    permits.release().await.unwrap();
    assert_eq!(pool.inspect().await.unwrap().available, 3);
}

/// A primary that was demoted refuses what writes, until the clients have left it for the new one.
#[tokio::test]
async fn what_a_replica_refuses_is_no_loss() {
    let server = Server::start();
    // Longer than the pauses between attempts to connect, of 750 ms at most.
    let client = Client::connect(&format!("{}?operation_timeout=1s", server.url())).await.unwrap();
    let (lock, pool) = (client.lock("job").unwrap(), client.semaphore("pool", 3).unwrap());
    let (held, permits) = (lock.acquire().await.unwrap(), pool.acquire_many(2).await.unwrap());
    server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
    let lease = Duration::from_secs(60);
    for error in [held.extend(lease).await.unwrap_err(), permits.extend(lease).await.unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Server, "{error}");
        assert!(error.message().contains("READONLY") && error.is_retryable(), "{error}");
    }
    assert!(held.is_valid() && permits.is_valid());
    server.cmd(&["REPLICAOF", "NO", "ONE"]);
    held.extend(lease).await.unwrap();
    permits.extend(lease).await.unwrap();
    held.release().await.unwrap();
    permits.release().await.unwrap();
    assert_eq!(pool.inspect().await.unwrap().available, 3);
}

#[tokio::test]
async fn a_user_with_the_rule_that_the_error_names_can_do_everything() {
    let server = Server::options().user(&format!("app {RULE}")).start();
    let client = Client::connect(&format!("redis://app:s3cret@{}", server.address())).await.unwrap();
    let lock = client.lock("job").unwrap();
    let held = lock.acquire().await.unwrap();
    let waiting = tokio::spawn({
        let other =
            Client::connect(&format!("redis://app:s3cret@{}?poll_interval=30s", server.address())).await.unwrap();
        async move { other.lock("job").unwrap().acquire_timeout(Duration::from_secs(5)).await.map(|_| ()) }
    });
    while server.cmd(&["PUBSUB", "CHANNELS", "dlock_inbox:*"]).array().is_empty() {
        tokio::task::yield_now().await;
    }
    held.release().await.unwrap();
    waiting.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_missing_permission_is_named_and_leaves_no_hold() {
    let server = Server::options().user("app on >s3cret ~job* &* +@all").start();
    let client = Client::connect(&format!("redis://app:s3cret@{}", server.address())).await.unwrap();
    let error = client.lock("job").unwrap().acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoPermission, "{error}");
    assert!(error.message().contains("~redisson_lock_token:*") && !error.is_retryable(), "{error}");
    assert_eq!(server.cmd(&["EXISTS", "job"]).int(), 0);
}

#[tokio::test]
async fn a_release_without_the_right_to_publish_is_done_and_says_so() {
    let server = Server::options().user("app on >s3cret ~* resetchannels +@all").start();
    let mut config = libdlock::Config::from_url(&format!("redis://app:s3cret@{}", server.address())).unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    config.on_event(std::sync::Arc::new(move |event| drop(tell.send(event.message.clone()))));
    let client = Client::connect_with(config).await.unwrap();
    let held = client.lock("job").unwrap().acquire().await.unwrap();
    held.release().await.unwrap();
    assert_eq!(server.cmd(&["EXISTS", "job"]).int(), 0);
    // That the inbox is refused, and which rights a lock needs, is told too, before or after.
    let mut others = Vec::new();
    loop {
        let told = tokio::time::timeout(Duration::from_secs(10), told.recv()).await;
        match told.unwrap_or_else(|_| panic!("only this was told: {others:?}")).unwrap() {
            message if message.contains("forbid to tell the waiters") => break,
            other => others.push(other),
        }
    }
}

#[tokio::test]
async fn a_read_only_replica_costs_the_operation_timeout_and_is_named() {
    let server = Server::start();
    let client = Client::connect(&format!("{}?operation_timeout=300ms", server.url())).await.unwrap();
    server.cmd(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let error = client.lock("job").unwrap().try_acquire().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    assert!(error.message().contains("NOREPLICAS") && error.is_retryable(), "{error}");
    // A waiter rides it out.
    let waiting = tokio::spawn({
        let lock = client.lock("job").unwrap();
        async move { lock.acquire_timeout(Duration::from_secs(10)).await.map(|held| held.token()) }
    });
    server.cmd(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    assert!(waiting.await.unwrap().is_ok());
    assert_ne!(server.cmd(&["PING"]), Reply::Nil);
}

#[tokio::test]
async fn a_release_without_a_confirmation_is_not_worth_a_retry() {
    let server = Server::start();
    let client = Client::connect(&format!("{}?operation_timeout=300ms", server.url())).await.unwrap();
    let (lock, holder) = (client.lock("job").unwrap(), HolderId::fresh());
    let _held = lock.acquire_as(holder, AcquireOptions::default()).await.unwrap();
    server.cmd(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    let error = lock.release_as(holder).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    server.cmd(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    let again = lock.release_as(holder).await.unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NotHeld, "{again}");
    assert!(!error.is_retryable(), "the hold was over: {error}");
}

/// While the hold lasts nothing is asked of the server, so that nothing is heard of it either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_ends_during_a_release_is_busy() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = Client::connect(&proxy.url()).await.unwrap();
    let lock = client.lock("jobs").unwrap();
    let held = lock.acquire().await.unwrap();
    // The inbox is confirmed, which has the client look at its hold: from here on nothing is asked.
    tokio::task::block_in_place(|| within(Duration::from_secs(1), || client.stats().lock.renewals > 0));
    let wait = Duration::from_millis(150);
    let mut waiting = Box::pin(lock.acquire_timeout(wait));
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // The wait is over when the release begins, and notices it while that is under way.
    tokio::time::sleep(wait).await;
    proxy.hold(Side::Replies);
    let mut release = Box::pin(held.release());
    assert!(release.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let error = waiting.await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    proxy.heal();
    release.await.unwrap();
}

/// It changes nothing on the server, so nothing is unknown without an answer.
#[tokio::test]
async fn a_look_without_an_answer_is_a_connection_error() {
    let server = Server::start();
    let url = format!("{}?response_timeout=100ms&operation_timeout=300ms", server.url());
    let client = Client::connect(&url).await.unwrap();
    let (lock, sides) = (client.lock("lock").unwrap(), client.rw_lock("sides").unwrap());
    let (permits, counting) = (client.semaphore("permits", 3).unwrap(), client.counting_semaphore("count").unwrap());
    let latch = client.latch("latch").unwrap();
    server.pause();
    let looks = [
        lock.inspect().await.map(drop),
        sides.inspect().await.map(drop),
        permits.inspect().await.map(drop),
        counting.inspect().await.map(drop),
        latch.count().await.map(drop),
    ];
    server.resume();
    for look in looks {
        let error = look.expect_err("the server was stopped");
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.is_retryable() && error.message().contains("operation_timeout"), "{error}");
    }
}
