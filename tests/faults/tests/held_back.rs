//! faults.md 18, the part that needs no queue: a request that the network held back arrives after its attempt was retried,
//! granted and released on another connection. It must grant nothing to nobody.

use std::time::{Duration, Instant};

use libdlock_faults::{SOON, bounded, client, is_held, with_options};
use libdlock_testkit::{Action, Proxy, Server, eventually, within};

const RESPONSE_TIMEOUT: Duration = Duration::from_millis(300);

/// Acquires while the first request is held back, releases, and lets the old request arrive `when` after it was sent.
async fn an_old_request_arrives(when: Duration) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "response_timeout=300ms&lease=60s")).await;
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let lock = client.lock("job").expect("a name");

    let old = proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    let sent = Instant::now();
    let held = bounded(SOON, "the retry succeeds", lock.acquire()).await.expect("acquire");
    assert_eq!(old.hits(), 1, "the first request is held back");
    held.release().await.expect("release");
    assert!(!is_held(&server, "job"));

    assert!(!within(when.saturating_sub(sent.elapsed()), || is_held(&server, "job")), "nothing arrives yet");
    let scripts = || server.info("commandstats", "cmdstat_evalsha:calls");
    let before = scripts();
    proxy.heal();
    eventually(SOON, "the old request arrives", || scripts() > before);
    assert!(!within(RESPONSE_TIMEOUT, || is_held(&server, "job")), "it took the lock for nobody");
}

/// A middlebox forgets the connection: the client is told at once and tries again at once, and the old request arrives
/// while it may still be carried out. It takes the lock for nobody; the client knows that it may, and takes it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_that_arrives_in_time_is_taken_back() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "response_timeout=1s&lease=60s")).await;
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let lock = client.lock("job").expect("a name");

    let old = proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    let acquiring = tokio::spawn(async move { lock.acquire().await });
    old.expect(SOON);
    proxy.forsake_clients();
    let held = bounded(SOON, "the retry succeeds", acquiring).await.expect("no panic").expect("acquire");
    held.release().await.expect("release");
    assert!(!is_held(&server, "job"));

    proxy.heal();
    eventually(SOON, "the old request has arrived, and its connection is closed behind it", || proxy.open() == 1);
    // after two response time-outs, when nothing of it can arrive any more; far below the lease of a minute
    eventually(SOON, "it is taken back", || !is_held(&server, "job"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_that_arrives_just_after_the_release_leaves_nobody_holding() {
    an_old_request_arrives(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_that_arrives_long_after_the_release_grants_nothing() {
    an_old_request_arrives(RESPONSE_TIMEOUT * 5).await;
}
