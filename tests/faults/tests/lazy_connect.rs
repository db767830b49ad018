//! `lazy_connect`: a program starts while its server is away, and goes on when it is there.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Config, ErrorKind, Rate};
use libdlock_faults::{SOON, bounded, kind, slack, with_options};
use libdlock_testkit::{Cluster, Proxy, Sentinels, Server, Side, eventually, sentinels::Sentinel, server::Data};

/// What a caller of `connect` may notice: no server is asked.
const AT_ONCE: Duration = Duration::from_millis(500);

/// Of several servers one that has just started would not count.
const SEVERAL: &str = "data_survives=true";

const OPTIONS: &str = "lazy_connect=true&operation_timeout=600ms&response_timeout=400ms";

async fn lazily(url: &str) -> (Client, Arc<Mutex<Vec<String>>>) {
    lazily_with(url, OPTIONS).await
}

async fn lazily_with(url: &str, options: &str) -> (Client, Arc<Mutex<Vec<String>>>) {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut config = Config::from_url(&with_options(url, options)).expect("URL");
    let its_told = told.clone();
    config.on_event(Arc::new(move |event| its_told.lock().expect("no panic").push(event.message.clone())));
    let connected = bounded(AT_ONCE, "connected, whatever is there", Client::connect_with(config)).await;
    (connected.expect("no server is asked"), told)
}

/// Nothing is granted, and the error says why.
async fn is_away(client: &Client, says: &str) {
    let lock = client.lock("job").expect("a name");
    let error = bounded(SOON, "an answer", lock.try_acquire()).await.map(drop).expect_err("no server");
    assert!(error.message().contains(says), "{error}");
}

async fn is_there(client: &Client) {
    let lock = client.lock("job").expect("a name");
    let begun = Instant::now();
    let held = loop {
        match lock.try_acquire().await {
            Ok(Some(held)) => break held,
            // What too few of several servers had granted is being given back.
            Ok(None) => assert!(begun.elapsed() < SOON + SOON, "nobody else has it"),
            Err(error) => assert!(begun.elapsed() < SOON + SOON, "{error}"),
        }
    };
    // Also when it waits for a message.
    let waiting = client.lock("job").expect("a name");
    let waiter = tokio::spawn(async move { waiting.acquire().await?.release().await });
    eventually(SOON, "it waits", || client.stats().lock.waiting == 1);
    held.release().await.expect("release");
    bounded(SOON, "it is woken", waiter).await.expect("no panic").expect("acquired and released");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_starts_before_its_server() {
    let mut server = Server::start();
    let url = server.url();
    server.stop();
    let (client, told) = lazily(&url).await;
    is_away(&client, "refused the connection").await;
    server.start_again();
    is_there(&client).await;
    let told = told.lock().expect("no panic");
    let refused = told.iter().filter(|message| message.contains("refused the connection")).count();
    assert!((1..=3).contains(&refused), "once for each kind of connection: {told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_starts_before_its_cluster() {
    let mut cluster = Cluster::start();
    let url = cluster.url();
    cluster.nodes.iter_mut().for_each(Server::stop);
    let (client, told) = lazily(&url).await;
    is_away(&client, "refused the connection").await;
    let told: Vec<String> = told.lock().expect("no panic").clone();
    assert!((1..=3).contains(&told.len()), "once for each node that was the first to refuse: {told:?}");
    cluster.nodes.iter_mut().for_each(Server::start_again);
    is_there(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_starts_before_its_sentinels() {
    let sentinels = Sentinels::start();
    let url = sentinels.url();
    sentinels.sentinels.iter().for_each(Sentinel::pause);
    let (client, _) = lazily(&url).await;
    is_away(&client, "sentinel").await;
    sentinels.sentinels.iter().for_each(Sentinel::resume);
    is_there(&client).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_starts_before_its_quorum() {
    let mut servers: Vec<Server> = (0..3).map(|_| Server::start()).collect();
    let addresses: Vec<String> = servers.iter().map(|server| server.address().to_string()).collect();
    servers.iter_mut().for_each(Server::stop);
    let (client, _) =
        lazily_with(&format!("redis+quorum://{}", addresses.join(",")), &[OPTIONS, SEVERAL].join("&")).await;
    is_away(&client, "2 of 3 servers have to agree").await;
    servers.iter_mut().for_each(Server::start_again);
    is_there(&client).await;
}

/// A first call that comes while the client dials waits for that, also one with an answer of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_call_waits_for_a_slow_way() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    proxy.delay(Side::Replies, Duration::from_millis(60));
    let (client, _) = lazily(&proxy.url()).await;
    let limiter = client.rate_limiter_with("api", denying()).expect("a rate");
    let decision = bounded(SOON, "a decision", limiter.try_acquire(1)).await.expect("the server is there");
    assert!(decision.allowed && decision.server_time.is_some(), "the server decided: {decision:?}");
}

/// One that is black-holed is not known to be away before `connect_timeout`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_answers_for_a_server_that_hangs() {
    let mut server = Server::start();
    server.restart(Data::Lost);
    server.pause();
    let (client, _) = lazily(&server.url()).await;
    let limiter = client.rate_limiter_with("api", denying()).expect("a rate");
    let begun = Instant::now();
    let decision = bounded(SOON, "a decision", limiter.try_acquire(1)).await.expect("the policy answers");
    assert!(!decision.allowed && decision.server_time.is_none(), "{decision:?}");
    assert!(begun.elapsed() <= Duration::from_millis(400) + slack(), "response_timeout: {:?}", begun.elapsed());
    server.resume();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_password_is_told_by_the_first_call() {
    let server = Server::options().password("right").start();
    let (client, told) = lazily(&format!("redis://:wrong@{}", server.address())).await;
    is_away(&client, "password").await;
    assert!(told.lock().expect("no panic").iter().any(|message| message.contains("password")));
}

#[test]
fn a_url_that_names_nothing_is_still_refused() {
    let refused = Client::blocking_connect("redis://127.0.0.1:0/?lazy_connect=true").map(drop);
    assert_eq!(kind(refused), ErrorKind::InvalidArgument);
}

fn denying() -> LimiterOptions {
    let mut options = LimiterOptions::new(Rate::new(5, Duration::from_secs(60)));
    options.absent = Absent::Deny;
    options
}
