//! Sentinels that cannot help, and URLs that do not fit: each is one clear error, without a secret.

use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use libdlock::event::Level;
use libdlock::{Client, Config, Error, ErrorKind};
use libdlock_faults::{SOON, bounded};
use libdlock_testkit::{Proxy, Server, eventually, port, sentinels::Sentinel};

/// The name of the master in this file.
const NAME: &str = "orders";

fn url(sentinels: &[&Sentinel]) -> String {
    let addresses: Vec<String> = sentinels.iter().map(|sentinel| sentinel.address().to_string()).collect();
    format!("redis+sentinel://{}/{NAME}", addresses.join(","))
}

/// A sentinel that watches a server.
fn watching(server: &Server) -> Sentinel {
    watching_with(server, None, &[])
}

fn watching_with(server: &Server, password: Option<&str>, lines: &[&str]) -> Sentinel {
    let lines: Vec<String> = lines.iter().map(|line| line.to_string()).collect();
    Sentinel::watching(NAME, ("127.0.0.1", server.port()), password, &lines)
}

/// Why the client cannot connect, which it says within `bound`.
#[track_caller]
fn refused(url: &str, bound: Duration) -> impl Future<Output = Error> {
    let url = url.to_owned();
    let connecting = bounded(bound, "an error", async move { Client::connect(&url).await });
    async move {
        let error = connecting.await.expect_err("it cannot connect");
        assert!(!error.to_string().contains("s3cret"), "{error}");
        error
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_master_is_named_with_those_who_were_asked() {
    let server = Server::start();
    let (one, other) = (watching(&server), watching(&server));
    let error = refused(&url(&[&one, &other]).replace(NAME, "shop"), SOON).await;
    let (one, other) = (one.address().to_string(), other.address().to_string());
    let each = [format!("each of {one}, {other}"), format!("each of {other}, {one}")];
    assert!(each.iter().any(|each| error.message().contains(each)), "{error}");
    assert!(error.message().contains("\"shop\"") && error.message().contains("watches one master"), "{error}");
    assert!(!error.message().contains(NAME), "what they watch is theirs: {error}");
    assert!(error.kind() == ErrorKind::Connection && !error.is_retryable(), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_sentinels_are_named_at_once() {
    let ports = [port::free(), port::free()];
    let url = format!("redis+sentinel://:s3cret@127.0.0.1:{},127.0.0.1:{}/{NAME}", ports[0], ports[1]);
    let error = refused(&url, SOON).await;
    assert!(ports.iter().all(|port| error.message().contains(&format!("127.0.0.1:{port}"))), "{error}");
    assert!(error.message().contains("refused the connection") && error.is_retryable(), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_that_hang_are_named_after_the_connect_timeout() {
    let server = Server::start();
    let sentinel = watching(&server);
    sentinel.pause();
    let begun = Instant::now();
    let error = refused(&format!("{}?connect_timeout=700ms", url(&[&sentinel])), SOON).await;
    assert!(begun.elapsed() >= Duration::from_millis(700), "{error}");
    assert!(error.message().contains("did not answer within 700ms"), "{error}");
    sentinel.resume();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_in_place_of_a_sentinel_is_told() {
    let server = Server::start();
    let error = refused(&format!("redis+sentinel://{}/{NAME}", server.address()), SOON).await;
    assert!(error.message().contains(&server.address().to_string()), "{error}");
    assert!(error.message().contains("is a server and no sentinel"), "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_in_place_of_a_server_is_told() {
    let server = Server::start();
    let sentinel = watching(&server);
    for db in ["", "/3"] {
        let error = refused(&format!("redis://{}{db}", sentinel.address()), SOON).await;
        assert!(error.message().contains("redis+sentinel://host:port/NAME"), "{error}");
        assert!(error.message().contains(&sentinel.address().to_string()) && !error.is_retryable(), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_have_a_password_of_their_own() {
    let server = Server::options().password("pw-of-the-server").start();
    let sentinel = watching_with(&server, Some("s3cret"), &[]);
    let url = url(&[&sentinel]).replace("://", "://:pw-of-the-server@");
    for wrong in ["", "?sentinel_password=another-s3cret"] {
        let error = refused(&format!("{url}{wrong}"), SOON).await;
        assert!(error.message().contains("sentinel_user and sentinel_password"), "{error}");
        assert!(!error.message().contains("pw-of-the-server") && !error.is_retryable(), "{error}");
    }
    let client = bounded(SOON, "a connection", Client::connect(&format!("{url}?sentinel_password=s3cret"))).await;
    client.expect("both passwords are right").lock("job").expect("a name").try_acquire().await.expect("no error");
    // As an option, from a file that is read for each connection.
    let dir = libdlock_testkit::temp::TempDir::new();
    let file = dir.path().join("password");
    std::fs::write(&file, "s3cret\n").expect("write");
    let mut config = Config::from_url(&url).expect("URL");
    config.set("sentinel_password_file", file.to_str().expect("UTF-8")).expect("an option");
    bounded(SOON, "a connection", Client::connect_with(config)).await.expect("the file has the password");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_user_without_rights_is_told_which_it_needs() {
    let server = Server::start();
    let sentinel = watching_with(&server, None, &["user watcher on nopass -@all +hello +subscribe"]);
    let url = format!("{}?sentinel_user=watcher&sentinel_password=s3cret", url(&[&sentinel]));
    let error = refused(&url, SOON).await;
    assert_eq!(error.kind(), ErrorKind::NoPermission, "{error}");
    assert!(error.message().contains("+sentinel|get-master-addr-by-name"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_sentinel_that_refuses_is_warned_of_once() {
    let server = Server::start();
    let good = watching(&server);
    let closed = watching_with(&server, Some("s3cret"), &[]);
    let (tell, told) = mpsc::channel();
    let mut config = Config::from_url(&url(&[&good, &closed])).expect("URL");
    config.on_event(Arc::new(move |event| {
        if event.level == Level::Warn && event.message.contains("sentinel_password") {
            let _ = tell.send(event.message.clone());
        }
    }));
    let client = bounded(SOON, "a connection", Client::connect_with(config)).await.expect("the other one answers");
    let clients = || server.cmd(&["CLIENT", "LIST"]).text().matches("name=libdlock").count();
    server.cmd(&["CLIENT", "KILL", "TYPE", "normal"]);
    client.lock("job").expect("a name").try_acquire().await.expect("it is connected again");
    eventually(SOON, "both are connected again", || clients() == 2);
    let told: Vec<String> = told.try_iter().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains(&closed.address().to_string()), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_of_two_deployments_are_no_answer() {
    let servers = [Server::start(), Server::start()];
    let (one, other) = (watching(&servers[0]), watching(&servers[1]));
    let error = refused(&format!("{}?connect_timeout=500ms", url(&[&one, &other])), SOON).await;
    assert!(error.message().contains("the sentinels disagree about the master \"orders\""), "{error}");
    for address in [one.address(), other.address(), servers[0].address(), servers[1].address()] {
        assert!(error.message().contains(&address.to_string()), "{error}");
    }
}

/// The number of failovers of one says nothing about the other, and the larger one may be anybody's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_later_failover_of_another_deployment_is_no_answer() {
    let servers = [Server::start(), Server::start()];
    let epoch = format!("sentinel config-epoch {NAME} 5");
    let ours = [watching(&servers[0]), watching(&servers[0])];
    let theirs = [&epoch, &epoch].map(|epoch| watching_with(&servers[1], None, &[epoch]));
    let knows_another = |sentinel: &Sentinel| sentinel.of_master(NAME, "num-other-sentinels").as_deref() == Some("1");
    eventually(SOON, "those of each know one another", || ours.iter().chain(&theirs).all(knows_another));
    assert_eq!(theirs[0].of_master(NAME, "config-epoch").as_deref(), Some("5"));
    for [first, second] in [[&ours[0], &theirs[0]], [&theirs[1], &ours[1]]] {
        let error = refused(&format!("{}?connect_timeout=500ms", url(&[first, second])), SOON).await;
        assert!(error.message().contains("the sentinels disagree about the master \"orders\""), "{error}");
        assert!(error.message().contains("neither knows the other"), "{error}");
    }
    // Those of one deployment are.
    Client::connect(&url(&[&theirs[0]])).await.expect("connected").close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_out_of_reach_is_named_with_its_address() {
    let port = port::free();
    let sentinel = Sentinel::watching(NAME, ("127.0.0.1", port), None, &[]);
    let error = refused(&format!("{}?connect_timeout=500ms", url(&[&sentinel])), SOON).await;
    assert!(error.message().contains(&format!("the master \"orders\" (127.0.0.1:{port})")), "{error}");
    assert!(error.message().contains("has to be reachable from here"), "{error}");
    assert!(error.is_retryable(), "{error}");
    // As in another network, where nothing refuses.
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let sentinel = Sentinel::watching(NAME, ("127.0.0.1", proxy.address().port()), None, &[]);
    proxy.hold_all();
    let error = refused(&format!("{}?connect_timeout=500ms", url(&[&sentinel])), SOON).await;
    assert!(error.message().contains(&format!("the master \"orders\" ({})", proxy.address())), "{error}");
    assert!(error.message().contains("within the connect time-out of 500ms"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_sentinels_take_for_the_master_is_refused() {
    let (primary, replica) = (Server::start(), Server::start());
    let sentinel = watching(&replica);
    let port = primary.port().to_string();
    assert_eq!(replica.cmd(&["REPLICAOF", "127.0.0.1", &port]).text(), "OK");
    let error = refused(&format!("{}?connect_timeout=500ms", url(&[&sentinel])), SOON).await;
    assert!(error.message().contains("is a replica, although the sentinels name it"), "{error}");
    assert!(error.message().contains(&replica.address().to_string()) && error.is_retryable(), "{error}");
    // As soon as it is none, it is the master.
    let connecting = tokio::spawn({
        let url = url(&[&sentinel]);
        async move { Client::connect(&url).await.map(drop) }
    });
    assert_eq!(replica.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
    bounded(SOON, "a connection", connecting).await.expect("no panic").expect("within the connect time-out");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_master_may_be_announced_by_its_name() {
    let server = Server::start();
    let by_name = ["sentinel resolve-hostnames yes", "sentinel announce-hostnames yes"].map(str::to_owned);
    let named = Sentinel::watching(NAME, ("localhost", server.port()), None, &by_name);
    assert_eq!(named.of_master(NAME, "ip").as_deref(), Some("localhost"));
    // The other one says the same server in numbers.
    let in_numbers = watching(&server);
    eventually(SOON, "both know the server", || {
        let ids = [&named, &in_numbers].map(|sentinel| sentinel.of_master(NAME, "runid").unwrap_or_default());
        !ids[0].is_empty() && ids[0] == ids[1]
    });
    let client = bounded(SOON, "a connection", Client::connect(&url(&[&named, &in_numbers]))).await.expect("connected");
    let _held = client.lock("job").expect("a name").try_acquire().await.expect("no error").expect("it is free");
}
