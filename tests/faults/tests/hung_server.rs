//! A server that takes connections and answers nothing, one that is gone, and one that is not up yet: what callers are told,
//! and when.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::lease::{HolderId, Lease};
use libdlock::lock::AcquireOptions;
use libdlock::{Client, Config, ErrorKind, Rate, Wait};
use libdlock_faults::{SOON, acquire, bounded, client, kind, slack, with_options};
use libdlock_testkit::{Action, Proxy, Server, Side, eventually, server::Data};

/// Shorter than `response_timeout`: nothing has been found broken by then.
const WAIT: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_timed_acquire_that_could_not_ask_is_not_busy() {
    let server = Server::start();
    let client = client(&server.url()).await;
    server.pause();
    // Also for those that stand in line behind the first.
    let waits: Vec<_> = (0..4)
        .map(|_| {
            let lock = client.lock("job").expect("a name");
            tokio::spawn(async move { lock.acquire_timeout(WAIT).await.map(drop) })
        })
        .collect();
    for wait in waits {
        let error = bounded(WAIT + slack(), "an answer", wait).await.expect("no panic").expect_err("not acquired");
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
    }
    server.resume();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_that_is_shorter_than_the_way_is_busy() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = client(&proxy.url()).await;
    proxy.delay(Side::Replies, Duration::from_millis(60));
    let lock = client.lock("job").expect("a name");
    assert_eq!(kind(lock.acquire_timeout(Duration::from_millis(20)).await.map(drop)), ErrorKind::Busy);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_behind_a_holder_are_busy_though_nothing_is_said() {
    let server = Server::start();
    let (one, other) = (client(&server.url()).await, client(&server.url()).await);
    let held = one.lock("job").expect("a name").acquire().await.expect("acquire");
    let waiting = other.lock("job").expect("a name");
    let first = tokio::spawn(async move { waiting.acquire().await.map(drop) });
    libdlock_faults::wait_until_waiting(&server, "job");
    // Nobody looks for a second: the server is not heard of meanwhile.
    let waited = other.lock("job").expect("a name").acquire_timeout(WAIT).await;
    assert_eq!(kind(waited.map(drop)), ErrorKind::Busy);
    held.release().await.expect("release");
    bounded(SOON, "acquired", first).await.expect("no panic").expect("acquire");
}

/// Their process joined the queue again by a release, whose answer does not say who comes first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_after_a_release_are_busy_though_nothing_is_said() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let (one, other) = (client(&with_options(&server.url(), "strict_fifo=true")).await, client(&proxy.url()).await);
    let wait = |client: &Client| {
        let lock = client.lock("job").expect("a name");
        tokio::spawn(async move { lock.acquire().await })
    };
    let held = one.lock("job").expect("a name").acquire().await.expect("acquire");
    let head = wait(&other);
    libdlock_faults::wait_until_waiting(&server, "job");
    let behind = wait(&one);
    eventually(SOON, "it waits", || one.stats().lock.waiting == 1);
    // The head of the queue hears nothing, so it does not come for 2.5 s. Until then nobody behind it asks.
    proxy.hold(Side::Replies);
    held.release().await.expect("release");
    let waited = one.lock("job").expect("a name").acquire_timeout(WAIT).await;
    assert_eq!(kind(waited.map(drop)), ErrorKind::Busy);
    proxy.heal();
    for waiting in [head, behind] {
        let held = bounded(SOON, "acquired", waiting).await.expect("no panic").expect("acquire");
        held.release().await.expect("release");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_try_on_a_dead_server_ends_after_operation_timeout() {
    const LIMIT: Duration = Duration::from_millis(700);
    let mut server = Server::start();
    let client = client(&with_options(&server.url(), "operation_timeout=700ms")).await;
    let lock = client.lock("job").expect("a name");
    let held = lock.acquire().await.expect("acquire");
    server.stop();
    let begun = Instant::now();
    let error = client.lock("other").expect("a name").try_acquire().await.map(drop).expect_err("nobody is there");
    let took = begun.elapsed();
    assert!(took >= LIMIT && took <= LIMIT + slack(), "{took:?}");
    // Unknown, if the request was written before the end of the connection was seen.
    assert!(matches!(error.kind(), ErrorKind::Connection | ErrorKind::OutcomeUnknown), "{error}");
    assert!(error.message().contains("operation_timeout") && error.message().contains("700ms"), "{error}");
    let begun = Instant::now();
    let error = held.release().await.expect_err("nobody is there");
    assert!(begun.elapsed() <= LIMIT + slack(), "{:?}", begun.elapsed());
    assert!(error.message().contains("operation_timeout"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_call_that_operation_timeout_ends_names_it() {
    let mut server = Server::start();
    let client = client(&with_options(&server.url(), "operation_timeout=700ms")).await;
    let lock = |name| client.lock(name).expect("a name");
    let held = lock("held").acquire().await.expect("acquire");
    let to_detach = lock("to detach").acquire().await.expect("acquire");
    let text = lock("detached").acquire().await.expect("acquire").detach().await.expect("detach");
    let limiter = client.rate_limiter("api", Rate::new(5, Duration::from_secs(1))).expect("a limiter");
    server.stop();
    // From here on the connection is known to be gone: what is sent before has an unknown outcome, at once.
    lock("other").try_acquire().await.map(drop).expect_err("nobody is there");
    let (extended, detached, attached, inspected, decided, waited, reset) = tokio::join!(
        held.extend(Duration::from_secs(60)),
        async { to_detach.detach().await.map(drop) },
        async { lock("detached").attach_as(HolderId::fresh(), &text).await.map(drop) },
        async { lock("other").inspect().await.map(drop) },
        async { limiter.try_acquire(1).await.map(drop) },
        async { limiter.acquire(1, Wait::Forever).await.map(drop) },
        limiter.reset(),
    );
    for ended in [extended, detached, attached, inspected, decided, waited, reset] {
        let error = ended.expect_err("nobody is there");
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.message().contains("gave up after 700ms (operation_timeout)"), "{error}");
    }
}

/// The end of the lease, not the option, ends this one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_ends_before_operation_timeout_does_not_name_it() {
    let mut server = Server::start();
    let client = client(&server.url()).await;
    let lock = client.lock("job").expect("a name");
    let short = AcquireOptions::default().lease(Lease::Fixed(Duration::from_secs(1)));
    let held = lock.acquire_as(HolderId::fresh(), short).await.expect("acquire");
    server.stop();
    let error = held.extend(Duration::from_secs(60)).await.expect_err("nobody is there");
    assert!(!error.message().contains("operation_timeout"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connect_waits_for_a_server_that_is_not_up_yet() {
    let mut server = Server::start();
    let url = server.url();
    server.stop();
    let begun = Instant::now();
    assert_eq!(kind(Client::connect(&url).await.map(drop)), ErrorKind::Connection);
    assert!(begun.elapsed() < Duration::from_secs(1), "by default it does not wait: {:?}", begun.elapsed());

    let patient = with_options(&url, "connect_wait=20s");
    let connecting = tokio::spawn(async move { Client::connect(&patient).await });
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!connecting.is_finished());
    server.start_again();
    let started = Instant::now();
    let client = bounded(SOON, "connected", connecting).await.expect("no panic").expect("connected");
    assert!(started.elapsed() <= Duration::from_millis(1_500) + slack(), "after {:?}", started.elapsed());
    let held = client.lock("job").expect("a name").try_acquire().await.expect("no error").expect("it is free");
    held.release().await.expect("release");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connect_waits_no_longer_than_it_was_told() {
    const LIMIT: Duration = Duration::from_millis(600);
    let mut server = Server::start();
    server.stop();
    let begun = Instant::now();
    let error = Client::connect(&with_options(&server.url(), "connect_wait=600ms")).await.map(drop).expect_err("gone");
    assert!(begun.elapsed() >= LIMIT && begun.elapsed() <= LIMIT + slack(), "{:?}", begun.elapsed());
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert!(error.message().contains("connect_wait"), "{error}");
    // Hung: the try that is under way ends with the wait.
    server.restart(Data::Lost);
    server.pause();
    let begun = Instant::now();
    let refused = Client::connect(&with_options(&server.url(), "connect_wait=600ms&connect_timeout=400ms")).await;
    assert_eq!(kind(refused.map(drop)), ErrorKind::Connection);
    assert!(begun.elapsed() <= LIMIT + slack(), "{:?}", begun.elapsed());
    server.resume();
}

/// The connection ends after the login, as behind a balancer whose server is not up yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_try_to_connect_breaks_no_later_connection() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let closed = proxy.on(&["TIME"], Action::CutReply(0));
    let told = Arc::new(Mutex::new(Vec::new()));
    let mut config = Config::from_url(&with_options(&proxy.url(), "connect_wait=20s")).expect("URL");
    let its_told = told.clone();
    config.on_event(Arc::new(move |event| its_told.lock().expect("no panic").push(event.message.clone())));
    let client = bounded(SOON, "connected", Client::connect_with(config)).await.expect("connected");
    assert_eq!((closed.hits(), proxy.accepted() >= 2), (1, true));
    // Opens the message connection, too: a second dial of the first one would come before it.
    let held = client.lock("job").expect("a name").acquire().await.expect("acquire");
    held.release().await.expect("release");
    let messages = || server.cmd(&["CLIENT", "LIST"]).text().lines().filter(|line| line.contains("sub=1")).count();
    eventually(SOON, "the inbox is open", || messages() == 1);
    let told = std::mem::take(&mut *told.lock().expect("no panic"));
    assert!(told.is_empty(), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connect_does_not_wait_for_another_password() {
    let server = Server::options().password("right").start();
    let url = format!("redis://:wrong@{}/?connect_wait=20s", server.address());
    let begun = Instant::now();
    let error = Client::connect(&url).await.map(drop).expect_err("the wrong password");
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(error.message().contains("password"), "{error}");
    eventually(SOON, "nothing is left", || {
        server.cmd(&["CLIENT", "LIST"]).text().lines().filter(|line| line.contains("libdlock")).count() == 0
    });
}

/// What it waits behind is a grant with a long lease that nobody wants any more and that cannot be given back.
/// Has `here` be woken by a release. From then on its inbox is confirmed: when that is, a waiter asks once more.
async fn woken_once(server: &Server, here: &Client, elsewhere: &Client) {
    let held = elsewhere.lock("first").expect("a name").acquire().await.expect("acquire");
    let lock = here.lock("first").expect("a name");
    let waiter = tokio::spawn(async move { lock.acquire().await?.release().await });
    libdlock_faults::wait_until_waiting(server, "first");
    held.release().await.expect("release");
    bounded(SOON, "it is woken", waiter).await.expect("no panic").expect("acquired and released");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_wait_behind_an_unwanted_grant_ends() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let options = "poll_interval=30s&response_timeout=1500ms&operation_timeout=1500ms";
    let (here, elsewhere): (Client, Client) =
        (client(&with_options(&proxy.url(), options)).await, client(&server.url()).await);
    woken_once(&server, &here, &elsewhere).await;
    let held = elsewhere.lock("job").expect("a name").acquire().await.expect("acquire");
    let wait = |lease| {
        let lock = here.lock("job").expect("a name");
        tokio::spawn(async move { acquire(&lock, HolderId::fresh(), Wait::Forever, lease).await.map(drop) })
    };
    let unwanted = wait(Some(Lease::Fixed(Duration::from_secs(3_600))));
    libdlock_faults::wait_until_waiting(&server, "job");

    let granted = proxy.on(&["EVALSHA", "job"], Action::HoldReply);
    held.release().await.expect("release");
    granted.expect(SOON);
    eventually(SOON, "it is granted", || libdlock_faults::is_held(&server, "job"));
    let behind = wait(None);
    eventually(SOON, "both wait", || here.stats().lock.waiting == 2);
    unwanted.abort();
    assert!(unwanted.await.is_err_and(|error| error.is_cancelled()));
    let released = proxy.on(&["EVALSHA", "job"], Action::Refuse);
    granted.let_go();
    released.expect(SOON);
    proxy.refuse(true);
    proxy.reset_all();
    let error = bounded(SOON, "an end", behind).await.expect("no panic").expect_err("nobody answers");
    assert!(matches!(error.kind(), ErrorKind::Connection | ErrorKind::OutcomeUnknown), "{error}");
}
