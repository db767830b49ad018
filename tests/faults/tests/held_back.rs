//! Requests that the network held back arrive after their attempt was retried, granted and released on another connection, or
//! after their caller has gone. They must grant nothing to anybody, and neither keep nor take a place in the queue.

use std::time::{Duration, Instant};

use libdlock::lease::{HolderId, Lease};
use libdlock::{Client, Held, Wait};
use libdlock_faults::{SOON, acquire, bounded, client, is_held, kind, wait_until_waiting, with_options};
use libdlock_testkit::{Action, Proxy, Server, eventually, lateness, within};

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
    let Repeated { server, proxy, client: _client, held } = Repeated::acquire().await;
    held.release().await.expect("release");
    assert!(!is_held(&server, "job"));

    proxy.heal();
    // What stays is the connections for scripts and for messages.
    eventually(SOON, "the old request has arrived, and its connection is closed behind it", || proxy.open() == 2);
    // after two response time-outs, when nothing of it can arrive any more; far below the lease of a minute
    eventually(SOON, "it is taken back", || !is_held(&server, "job"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_just_after_the_release_leaves_nobody_holding() {
    an_old_request_arrives(Duration::ZERO).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_long_after_the_release_grants_nothing() {
    an_old_request_arrives(RESPONSE_TIMEOUT * 5).await;
}

fn queued(server: &Server) -> usize {
    server.cmd(&["ZRANGE", "dlock_queue:{job}", "0", "-1"]).array().len()
}

/// Its caller has gone; what arrives stands in the queue for nobody, where it would cost the others a head time-out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_that_joins_the_queue_for_nobody_is_taken_out() {
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

/// How a hold ends whose acquire has an attempt that was never answered.
#[derive(PartialEq)]
enum End {
    Lost,
    DetachedAndAttached,
}

/// The bytes of an attempt without an answer arrive after the hold of that attempt has ended; they take the lock for nobody.
async fn an_old_request_arrives_after(end: End) {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    // The bytes may take effect for 2 s, and are undone within 2 s more; the lease that they take is a minute.
    let options = "response_timeout=2s&lease=60s";
    let (client, other) =
        (client(&with_options(&proxy.url(), options)).await, client(&with_options(&server.url(), options)).await);
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let lock = client.lock("job").expect("a name");
    let old = proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    let me = HolderId::fresh();
    let acquiring = {
        let lock = lock.clone();
        tokio::spawn(async move { acquire(&lock, me, Wait::Forever, None).await })
    };
    old.expect(SOON);
    proxy.forsake_clients();
    let held = bounded(SOON, "the retry succeeds", acquiring).await.expect("no panic").expect("acquire");
    if end == End::Lost {
        assert_eq!(server.cmd(&["DEL", "job"]).int(), 1);
        kind(lock.extend_as(me, Duration::from_secs(1)).await);
        assert!(held.loss().is_some());
    } else {
        let text = lock.detach_as(me).await.expect("detach");
        let attached = other.lock("job").expect("a name").attach_as(HolderId::fresh(), &text).await.expect("attach");
        attached.release().await.expect("release");
    }
    assert!(!is_held(&server, "job"));
    let field = || server.cmd(&["HKEYS", "job"]).array().first().map(|owner| owner.text().to_owned());
    let scripts = || server.info("commandstats", "cmdstat_evalsha:calls");
    let before = scripts();
    proxy.heal();
    eventually(SOON, "the old request arrives", || scripts() > before);
    assert_eq!(field().as_deref(), Some(held.owner()), "it has taken the lock");
    eventually(SOON, "that is undone", || !is_held(&server, "job"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_that_arrives_after_a_loss_is_undone() {
    an_old_request_arrives_after(End::Lost).await;
}

/// An abandoned hold ends with its lease, and not with the one that the old request starts anew.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_does_not_prolong_an_abandoned_lease() {
    const LEASE: Duration = Duration::from_secs(6);
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "response_timeout=2s")).await;
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let lock = client.lock("job").expect("a name");
    let old = proxy.on(&["EVALSHA", "job"], Action::HoldRequest);
    let me = HolderId::fresh();
    let asked = Instant::now();
    let acquiring = tokio::spawn(async move { acquire(&lock, me, Wait::Forever, Some(Lease::Fixed(LEASE))).await });
    old.expect(SOON);
    proxy.forsake_clients();
    // With the task goes the lock, and its hold is abandoned.
    let held = bounded(SOON, "the retry succeeds", acquiring).await.expect("no panic").expect("acquire");
    assert!(held.loss().is_some());
    assert!(!within(Duration::from_millis(1_300).saturating_sub(asked.elapsed()), || !is_held(&server, "job")));
    proxy.heal();
    let left = || server.cmd(&["PTTL", "job"]).int();
    eventually(SOON, "the old request has prolonged it", || left() > 5_500 - 600);
    eventually(SOON, "it is over", || !is_held(&server, "job"));
    assert!(asked.elapsed() < LEASE + Duration::from_millis(800), "after {:?}", asked.elapsed());
}

/// A client whose acquire of `job` was granted by its repeat, while the bytes of its first attempt are held back.
struct Repeated {
    server: Server,
    proxy: Proxy,
    client: Client,
    held: Held,
}

impl Repeated {
    async fn acquire() -> Repeated {
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
        Repeated { server, proxy, client, held }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closing_client_undoes_at_once_what_has_arrived() {
    let Repeated { server, proxy, client, held } = Repeated::acquire().await;
    held.release().await.expect("release");
    assert!(!is_held(&server, "job"));
    proxy.heal();
    eventually(SOON, "the old request has taken the lock", || is_held(&server, "job"));
    let closing = Instant::now();
    client.close().await;
    assert!(closing.elapsed() < Duration::from_millis(500) + lateness(), "{:?}", closing.elapsed());
    assert!(!is_held(&server, "job"), "the lease that it took is a minute");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_releasing_close_waits_until_nothing_can_arrive() {
    let Repeated { server, proxy, client, held } = Repeated::acquire().await;
    let closing = tokio::spawn(async move { client.close_releasing().await });
    eventually(SOON, "it is released", || !is_held(&server, "job"));
    proxy.heal();
    eventually(SOON, "the old request has taken the lock", || is_held(&server, "job"));
    bounded(SOON, "the close ends", closing).await.expect("no panic").expect("released");
    assert!(!is_held(&server, "job"), "the lease that it took is a minute");
    drop(held);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_close_leaves_a_hold_to_its_lease_whatever_is_owed() {
    let Repeated { server, proxy: _proxy, client, held } = Repeated::acquire().await;
    client.close().await;
    assert!(held.loss().is_some() && is_held(&server, "job"), "whoever held it may be at work");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_request_that_arrives_after_a_detach_is_undone() {
    an_old_request_arrives_after(End::DetachedAndAttached).await;
}

/// The release that is owed for the former owner must not meet the hold that waits to be attached.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_owed_for_a_detached_hold_leaves_the_text_good() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&with_options(&proxy.url(), "response_timeout=300ms&lease=60s")).await;
    client.lock("warm").expect("a name").acquire().await.expect("acquire").release().await.expect("release");
    let lock = client.lock("job").expect("a name");
    let cut = proxy.on(&["EVALSHA", "job"], Action::CutReply(0));
    let held = bounded(SOON, "the retry succeeds", lock.acquire()).await.expect("acquire");
    assert_eq!(cut.hits(), 1);
    let (owner, token) = (held.owner().to_owned(), held.token());
    let text = held.detach().await.expect("detach");
    assert!(!text.contains(&owner), "{text} names another owner");
    let undone = proxy.on(&["EVALSHA", &owner], Action::Pass);
    undone.expect(SOON);
    undone.wait_for(2, RESPONSE_TIMEOUT * 4);
    let attached = lock.attach_as(HolderId::fresh(), &text).await.expect("attach");
    assert_eq!(attached.token(), token);
    attached.release().await.expect("release");
}
