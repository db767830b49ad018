//! faults.md 18, the part about requests that the network held back: they arrive after their attempt was retried, granted and
//! released on another connection, or after their caller has gone. They must grant nothing to nobody, and neither keep nor take a
//! place in the queue.

use std::time::{Duration, Instant};

use libdlock_faults::{SOON, bounded, client, is_held, wait_until_waiting, with_options};
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

fn queued(server: &Server) -> usize {
    server.cmd(&["ZRANGE", "dlock_queue:{job}", "0", "-1"]).array().len()
}

/// Its caller has gone; what arrives stands in the queue for nobody, where it would cost the others a head time-out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_that_joins_the_queue_for_nobody_is_taken_out_of_it() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting = client(&with_options(&proxy.url(), "response_timeout=1s&operation_timeout=1s&lease=60s")).await;
    let holding = client(&with_options(&server.url(), "lease=60s")).await;
    waiting.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");

    let old = proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    let lock = waiting.lock("job").expect("a name");
    let asking = tokio::spawn(async move { lock.acquire_timeout(Duration::from_millis(100)).await.map(drop) });
    old.expect(SOON);
    // The client believes its connection broken; the bytes are on their way all the same.
    proxy.forsake_clients();
    asking.await.expect("no panic").expect_err("it is held");
    eventually(SOON, "what came after it has left", || queued(&server) == 0);
    proxy.heal();
    eventually(SOON, "the old request has arrived", || queued(&server) == 1);
    // After two response time-outs, when nothing of it can arrive any more; the queue itself lives for a minute.
    eventually(SOON, "it is taken out", || queued(&server) == 0);
    held.release().await.expect("release");
}

/// A caller gave up and its cancel got stuck; the next one of this process stands in the queue when that arrives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_cancel_takes_nobodys_place() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let waiting = client(&with_options(&proxy.url(), "response_timeout=300ms&lease=60s&poll_interval=30s")).await;
    let holding = client(&with_options(&server.url(), "lease=60s")).await;
    let held = holding.lock("job").expect("a name").acquire().await.expect("acquire");
    let wait = || {
        let lock = waiting.lock("job").expect("a name");
        tokio::spawn(async move { lock.acquire().await })
    };
    let leaving = wait();
    wait_until_waiting(&server, "job");
    let old = proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    leaving.abort();
    old.expect(SOON);
    eventually(SOON, "the repeat of it has arrived", || queued(&server) == 0);
    let coming = wait();
    wait_until_waiting(&server, "job");
    let scripts = || server.info("commandstats", "cmdstat_evalsha:calls");
    // When it has asked once more, as after every cancel without an answer, it sleeps for long.
    assert!(!within(RESPONSE_TIMEOUT * 3, || queued(&server) == 0));
    let before = scripts();
    proxy.heal();
    eventually(SOON, "the old cancel has arrived", || scripts() > before);
    assert!(!within(RESPONSE_TIMEOUT, || queued(&server) == 0), "it took the place of somebody else");
    held.release().await.expect("release");
    bounded(SOON, "served", coming).await.expect("no panic").expect("acquire").release().await.expect("release");
}
