//! The runtime that carries a client: shut down, or of the client's own.

use std::thread;
use std::time::{Duration, Instant};

use libdlock::lease::LossReason;
use libdlock::{Client, ErrorKind, Rate, Wait};
use libdlock_testkit::Server;
use tokio::runtime::Runtime;

const SOON: Duration = Duration::from_secs(5);

/// A client carried by a runtime that the test can shut down.
fn client_of(url: &str) -> (Client, Runtime) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let client = runtime.block_on(Client::connect(url)).unwrap();
    (client, runtime)
}

/// The kind of error that a call ends with, which has to be soon.
async fn refused<T>(what: &str, call: impl Future<Output = libdlock::Result<T>>) -> ErrorKind {
    let ended = tokio::time::timeout(SOON, call).await.unwrap_or_else(|_| panic!("{what} hangs"));
    ended.err().unwrap_or_else(|| panic!("{what} works without a runtime")).kind()
}

async fn the_client_ends_with_its_runtime(url: &str) {
    let url = url.to_owned();
    let (client, theirs) = tokio::task::spawn_blocking(move || client_of(&url)).await.unwrap();
    let (lock, other) = (client.lock("held").unwrap(), client.lock("other").unwrap());
    let limiter = client.rate_limiter("api", Rate::new(1, Duration::from_secs(60))).unwrap();
    let held = lock.acquire().await.unwrap();
    limiter.try_acquire(1).await.unwrap();
    let waiting = [
        tokio::spawn({
            let lock = lock.clone();
            async move { lock.acquire().await.map(drop) }
        }),
        tokio::spawn({
            let limiter = limiter.clone();
            async move { limiter.acquire(1, Wait::Forever).await.map(drop) }
        }),
    ];
    tokio::time::timeout(SOON, async {
        while client.stats().lock.waiting < 1 {
            tokio::task::yield_now().await
        }
    })
    .await
    .unwrap();
    // An answer to the limiter's waiter, if it still came, would come before this one.
    limiter.peek().await.unwrap();
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    theirs.shutdown_background();

    for waiter in waiting {
        assert_eq!(refused("a waiter", async { waiter.await.unwrap() }).await, ErrorKind::Closed);
    }
    let lost = tokio::time::timeout(SOON, held.lost()).await.expect("the holder is told");
    assert_eq!(lost, Some(LossReason::Closed));
    assert!(!held.is_valid());
    assert_eq!(refused("acquire", other.acquire()).await, ErrorKind::Closed);
    assert_eq!(refused("try_acquire", other.try_acquire()).await, ErrorKind::Closed);
    assert_eq!(refused("inspect", other.inspect()).await, ErrorKind::Closed);
    assert_eq!(refused("a decision", limiter.try_acquire(1)).await, ErrorKind::Closed);
    assert_eq!(refused("release", held.release()).await, ErrorKind::Closed);
    assert_eq!(client.lock("new").unwrap_err().kind(), ErrorKind::Closed);
    tokio::time::timeout(SOON, client.close()).await.expect("close");
    assert!(client.is_closed());
}

#[tokio::test]
async fn a_client_is_closed_when_its_runtime_is_shut_down() {
    let server = Server::start();
    the_client_ends_with_its_runtime(&server.url()).await;
    the_client_ends_with_its_runtime("memory://").await;
}

/// Not only when `operation_timeout` is over.
#[tokio::test]
async fn calls_under_way_end_with_the_runtime_of_their_client() {
    let server = Server::start();
    let url = server.url();
    let (client, theirs) = tokio::task::spawn_blocking(move || client_of(&url)).await.unwrap();
    let lock = client.lock("job").unwrap();
    let held = lock.acquire().await.unwrap();
    server.pause();
    let calls = [
        tokio::spawn(async move { lock.inspect().await.map(drop) }),
        tokio::spawn(async move { held.release().await }),
    ];
    tokio::task::yield_now().await;
    theirs.shutdown_background();
    for call in calls {
        let kind = refused("a call", async { call.await.unwrap() }).await;
        assert!(matches!(kind, ErrorKind::Closed | ErrorKind::OutcomeUnknown), "{kind:?}");
    }
    server.resume();
}

#[test]
fn a_blocking_waiter_ends_with_the_runtime_of_its_client() {
    let server = Server::start();
    let (client, theirs) = client_of(&server.url());
    let lock = client.lock("held").unwrap();
    let held = client.block_on(lock.acquire()).unwrap();
    let waiter = thread::spawn({
        let (client, lock) = (client.clone(), lock.clone());
        move || client.block_on(lock.acquire()).map(drop)
    });
    let start = Instant::now();
    while client.stats().lock.waiting < 1 {
        assert!(start.elapsed() < SOON);
        thread::yield_now();
    }
    theirs.shutdown_background();
    while !waiter.is_finished() {
        assert!(start.elapsed() < 2 * SOON, "the waiter hangs");
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(waiter.join().expect("no panic").unwrap_err().kind(), ErrorKind::Closed);
    drop(held);
}

/// A program without a runtime: connect, wait for a lock, release by dropping, close.
#[test]
fn a_program_without_a_runtime_connects_and_locks() {
    let server = Server::start();
    let client = Client::blocking_connect(&server.url()).unwrap();
    let (lock, other) = (client.lock("job").unwrap(), Client::blocking_connect(&server.url()).unwrap());
    let first = client.block_on(lock.acquire()).unwrap();
    let waiter = thread::spawn(move || other.block_on(other.lock("job").unwrap().acquire()).map(|held| held.token()));
    let start = Instant::now();
    while lock.client_queue(&server) == 0 {
        assert!(start.elapsed() < SOON);
        thread::yield_now();
    }
    let token = first.token();
    drop(first);
    assert!(waiter.join().unwrap().unwrap() > token);
    client.block_on(client.close());
    assert_eq!(client.block_on(lock.acquire()).unwrap_err().kind(), ErrorKind::Closed);
    let refused = Client::blocking_connect("redis://127.0.0.1:1?connect_timeout=200ms").unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection);
}

trait Queue {
    fn client_queue(&self, server: &Server) -> i64;
}

impl Queue for libdlock::Lock {
    fn client_queue(&self, server: &Server) -> i64 {
        server.cmd(&["ZCARD", &format!("dlock_queue:{{{}}}", self.key())]).int()
    }
}
