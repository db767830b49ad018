//! Names, leases and waits that make no sense are refused before any byte is sent.

use std::time::Duration;

use libdlock::lease::{HolderId, Lease};
use libdlock::lock::LockOptions;
use libdlock::{Client, ErrorKind, Lock, Wait};
use libdlock_faults::{SOON, acquire, bounded, client, is_held, kind};
use libdlock_testkit::{Server, eventually, wait::monotonic_us};

/// Commands that the server has executed, apart from the one that asks.
fn commands(server: &Server) -> u64 {
    server.info("stats", "total_commands_processed")
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_of_the_vectors_are_the_same_bytes_or_refused_before_io() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/names.json")).expect("vectors");
    let vectors: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let server = Server::start();
    let client = client(&server.url()).await;
    for vector in vectors["names"].as_array().expect("names") {
        let why = vector["why"].as_str().expect("why");
        let bytes = bytes(vector["hex"].as_str().expect("hex"));
        // a Rust string is UTF-8 already: what is not cannot be asked for
        let Ok(name) = std::str::from_utf8(&bytes) else {
            assert_eq!(vector["ok"], false, "{why}");
            continue;
        };
        let before = commands(&server);
        match client.lock(name) {
            Ok(lock) => {
                assert_eq!(vector["ok"], true, "{why}: {name:?} was accepted");
                assert_eq!(lock.name(), name);
                let held = lock.acquire().await.unwrap_or_else(|e| panic!("{why}: {e}"));
                assert_eq!(server.cmd(&[b"HLEN", &bytes[..]]).int(), 1, "{why}: the key is the name's bytes");
                held.release().await.expect("release");
            }
            Err(e) => {
                assert_eq!(vector["ok"], false, "{why}: {e}");
                assert_eq!(e.kind(), ErrorKind::InvalidName, "{why}");
                assert_eq!(commands(&server), before + 1, "{why}: something was sent");
            }
        }
    }
}

/// A client, and a look at the server that shows whether it has sent anything.
struct Setup {
    server: Server,
    client: Client,
    lock: Lock,
}

const ME: HolderId = libdlock::embed::holder(1);
const ANOTHER: HolderId = libdlock::embed::holder(2);

impl Setup {
    async fn new() -> Self {
        let server = Server::start();
        let client = client(&server.url()).await;
        let lock = client.lock("job").expect("a name");
        let inbox = || !server.cmd(&["PUBSUB", "CHANNELS"]).array().is_empty();
        eventually(SOON, "the client sends nothing more by itself", inbox);
        Self { server, client, lock }
    }

    async fn acquire(&self, wait: Wait, lease: Option<Duration>) -> libdlock::Result<libdlock::lease::Grant> {
        acquire(&self.lock, ME, wait, lease.map(Lease::Fixed)).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_out_of_range_is_an_invalid_argument_everywhere() {
    let setup = Setup::new().await;
    let bad = [
        Duration::ZERO,
        Duration::from_nanos(1),
        Duration::from_micros(99_999),
        Duration::from_millis(86_400_001),
        // milliseconds that no double, no i64 and no Redis could hold
        Duration::from_millis((1 << 53) + 1),
        Duration::from_secs(u64::MAX),
        Duration::MAX,
    ];
    let before = commands(&setup.server);
    for lease in bad {
        assert_eq!(kind(setup.acquire(Wait::Try, Some(lease)).await), ErrorKind::InvalidArgument, "{lease:?}");
        let options = LockOptions::default().lease(Lease::Fixed(lease));
        let opened = setup.client.lock_with("job", options).map(drop);
        assert_eq!(kind(opened), ErrorKind::InvalidArgument, "{lease:?}");
        assert_eq!(kind(setup.lock.extend_as(ME, lease).await), ErrorKind::InvalidArgument, "{lease:?}");
    }
    assert_eq!(commands(&setup.server), before + 1, "something was sent");
    for lease in [Duration::from_millis(100), Duration::from_secs(86_400)] {
        let grant = setup.acquire(Wait::Try, Some(lease)).await.unwrap_or_else(|e| panic!("{lease:?}: {e}"));
        let ttl = setup.server.cmd(&["PTTL", "job"]).int();
        assert!((1..=lease.as_millis() as i64).contains(&ttl), "never a key without TTL: {ttl}");
        assert_eq!(grant.lease(), lease);
        setup.lock.release_as(ME).await.expect("release");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_of_zero_tries_once_and_a_long_one_is_long() {
    let setup = Setup::new().await;
    setup.acquire(Wait::Try, None).await.expect("acquire");
    let start = monotonic_us();
    let at_once = acquire(&setup.lock, ANOTHER, Wait::For(Duration::ZERO), None).await;
    assert_eq!(kind(at_once), ErrorKind::Busy);
    assert!(monotonic_us() - start < 500_000, "it does not wait");
    assert!(is_held(&setup.server, "job"));
    for wait in [Duration::from_secs(2 * 86_400), Duration::from_millis((1 << 53) + 1), Duration::MAX] {
        let waiting = tokio::spawn({
            let lock = setup.lock.clone();
            async move { acquire(&lock, ANOTHER, Wait::For(wait), None).await }
        });
        let stats = || setup.client.stats().lock;
        bounded(SOON, "a waiter", async {
            while stats().waiting == 0 {
                tokio::task::yield_now().await
            }
        })
        .await;
        setup.lock.release_as(ME).await.expect("release");
        let granted = bounded(SOON, "granted", waiting).await.expect("no panic");
        granted.unwrap_or_else(|error| panic!("{wait:?}: {error}"));
        setup.lock.release_as(ANOTHER).await.expect("release");
        setup.acquire(Wait::Try, None).await.expect("acquire");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn senseless_options_in_a_url_are_refused_before_connecting() {
    let server = Server::start();
    let connections = || server.info("stats", "total_connections_received");
    let before = connections();
    for query in ["lease=0", "lease=-1s", "lease=NaN", "lease=99ms", "lease=25h", "lease=9007199254740993", "lease="] {
        let refused = Client::connect(&libdlock_faults::with_options(&server.url(), query)).await.map(drop);
        assert_eq!(kind(refused), ErrorKind::InvalidArgument, "{query}");
    }
    assert_eq!(connections(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_socket_that_does_not_exist_is_reported_as_that() {
    let error = Client::connect("unix:///nope/redis.sock").await.expect_err("no such file");
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.message().starts_with("/nope/redis.sock does not exist; check the path"), "{error}");
}
