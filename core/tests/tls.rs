//! Calls over TLS, on the connection of the runtime and on those of threads that block.
#![cfg(feature = "tls")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::pin::pin;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use libdlock::embed::may_block;
use libdlock::limit::LimiterOptions;
use libdlock::{Client, Config, Decision, ErrorKind, Rate, RateLimiter};
use libdlock_testkit::certificates::Unusual;
use libdlock_testkit::{Authority, Certificate, Proxy, Server, Side, eventually};
use tokio::runtime::Runtime;

const SOON: Duration = Duration::from_secs(10);

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// A server that wants a client certificate, the authority of both sides, and what a client shows.
fn server() -> (Server, Authority, Certificate) {
    let authority = Authority::new("ours");
    let (shows, client) = (authority.issue("server"), authority.issue("client"));
    (Server::options().tls(&shows, &authority, "yes").start(), authority, client)
}

fn config(url: &str, authority: &Authority, client: &Certificate) -> Config {
    let mut config = Config::from_url(url).unwrap();
    let ca = authority.file();
    for (option, path) in [("tls_ca_file", &ca), ("tls_cert_file", &client.cert), ("tls_key_file", &client.key)] {
        config.set(option, text(path)).unwrap();
    }
    config
}

/// Acquires, waits and is woken: over both connections of the runtime.
async fn is_served(url: &str, options: &[(&str, &str)]) {
    let mut config = Config::from_url(url).unwrap();
    config.set("poll_interval", "60s").unwrap();
    for (option, value) in options {
        config.set(option, value).unwrap();
    }
    let one = Client::connect_with(config.clone()).await.unwrap_or_else(|error| panic!("{url} {options:?}: {error}"));
    let other = Client::connect_with(config).await.unwrap();
    let held = one.lock("job").unwrap().acquire().await.unwrap();
    let waiting = tokio::spawn(async move {
        let held = other.lock("job").unwrap().acquire_timeout(SOON).await.unwrap();
        held.release().await.unwrap();
    });
    let seen = one.lock("job").unwrap();
    let queued = async { while seen.inspect().await.unwrap().queued == 0 {} };
    tokio::time::timeout(SOON, queued).await.expect("the other one stands in the queue");
    held.release().await.unwrap();
    waiting.await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_is_served_by_a_verified_server() {
    let (server, authority, client) = server();
    let ca = authority.file();
    let options =
        [("tls_ca_file", text(&ca)), ("tls_cert_file", text(&client.cert)), ("tls_key_file", text(&client.key))];
    let by_name = format!("valkeys://localhost:{}", server.tls_address().port());
    for url in [server.tls_url(), by_name] {
        is_served(&url, &options).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_versions_of_tls_and_a_chain_of_authorities_are_accepted() {
    let root = Authority::new("root");
    let shows = root.below("between").issue("server");
    let ca = root.file();
    for version in ["TLSv1.2", "TLSv1.3"] {
        let server = Server::options().tls(&shows, &root, "no").args(&["--tls-protocols", version]).start();
        is_served(&server.tls_url(), &[("tls_ca_file", text(&ca))]).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_is_verified_by_the_name_that_is_given() {
    let authority = Authority::new("ours");
    let shows = authority.issue_unusual("server", Unusual { names: Some("DNS:db.example"), ..Unusual::default() });
    let server = Server::options().tls(&shows, &authority, "optional").start();
    is_served(&server.tls_url(), &[("tls_ca_file", text(&authority.file())), ("tls_server_name", "db.example")]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_certificate_will_do_if_that_is_asked_for_with_a_warning() {
    let authority = Authority::new("ours");
    let old = Unusual { valid: Some(("20200101000000Z", "20200201000000Z")), ..Unusual::default() };
    let server = Server::options().tls(&authority.issue_unusual("server", old), &authority, "no").start();
    let danger = ("tls_danger_accept_any_certificate", "true");
    is_served(&server.tls_url(), &[danger]).await;

    let mut config = Config::from_url(&server.tls_url()).unwrap();
    config.set(danger.0, danger.1).unwrap();
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    config.on_event(Arc::new(move |event| drop(tell.send(event.message.clone()))));
    let _client = Client::connect_with(config).await.unwrap();
    let warning = tokio::time::timeout(SOON, told.recv()).await.expect("it is said").unwrap();
    assert!(warning.contains(&server.tls_address().to_string()) && warning.contains(danger.0), "{warning}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_unix_socket_of_a_server_with_tls_has_none() {
    let authority = Authority::new("ours");
    let server = Server::options().tls(&authority.issue("server"), &authority, "yes").unix_socket().start();
    is_served(&format!("valkey+unix://{}", server.socket().display()), &[]).await;
}

/// In a process of its own: the variable is the whole process's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_file_the_systems_authorities_are_asked() {
    const URL: &str = "LIBDLOCK_TEST_TLS_URL";
    if let Ok(url) = std::env::var(URL) {
        return is_served(&url, &[]).await;
    }
    let authority = Authority::new("ours");
    let server = Server::options().tls(&authority.issue("server"), &authority, "no").start();
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "tls::without_a_file_the_systems_authorities_are_asked"]);
    let output = again.env(URL, server.tls_url()).env("SSL_CERT_FILE", authority.file()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

/// Of tokens that do not come back while a test runs.
fn limiter(runtime: &Runtime, config: Config) -> (Client, RateLimiter) {
    let client = runtime.block_on(Client::connect_with(config)).unwrap();
    let rate = Rate::new(1, Duration::from_secs(24 * 3600)).burst(36_000);
    let limiter = client.rate_limiter_with("api", LimiterOptions::new(rate)).unwrap();
    (client, limiter)
}

/// The answer that this thread gets itself, over its own connection, if it does: the runtime's worker is kept busy meanwhile.
fn ask_here(runtime: &Runtime, limiter: &RateLimiter) -> Option<Decision> {
    let (idle, until) = std::sync::mpsc::channel::<()>();
    let (stop, stopped) = std::sync::mpsc::channel();
    let blocked = runtime.spawn(async move {
        stop.send(()).unwrap();
        assert!(until.recv().is_err());
    });
    stopped.recv().unwrap();
    let _context = runtime.enter();
    let mut asked = pin!(limiter.try_acquire(1));
    let answer = may_block(|| asked.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    drop(idle);
    runtime.block_on(blocked).unwrap();
    match answer {
        Poll::Ready(answer) => Some(answer.unwrap()),
        Poll::Pending => runtime.block_on(asked).map(|_| None).unwrap(),
    }
}

#[test]
fn a_thread_that_blocks_has_one_handshake_for_many_calls() {
    let (server, authority, client) = server();
    let runtime = runtime();
    let mut config = config(&server.tls_url(), &authority, &client);
    config.set("blocking_connections", "1").unwrap();
    let (_client, limiter) = limiter(&runtime, config);
    let here = || ask_here(&runtime, &limiter).is_some();
    eventually(SOON, "a blocking connection answers", here);
    let opened = server.info("stats", "total_connections_received");
    let mut answered = 0;
    eventually(SOON, "fifty answers on the calling thread", || {
        answered += usize::from(here());
        // Beyond this the connection is tested before it is used.
        thread::sleep(Duration::from_millis(if answered % 10 == 0 { 15 } else { 0 }));
        answered >= 50
    });
    runtime.block_on(limiter.peek()).unwrap();
    // A call that a busy machine kept waiting for 40 ms gives its connection up.
    let more = server.info("stats", "total_connections_received") - opened;
    assert!(more <= 2, "{more} connections for fifty calls");
}

/// More than 40 ms apart: a record whose beginning was read is not read again.
#[test]
fn an_answer_in_pieces_is_read_to_its_end() {
    let (server, authority, client) = server();
    let (runtime, proxy) = (runtime(), Proxy::start(server.tls_address()));
    let url = format!("rediss://127.0.0.1:{}?response_timeout=5s", proxy.address().port());
    let (_client, limiter) = limiter(&runtime, config(&url, &authority, &client));
    eventually(SOON, "a blocking connection answers", || ask_here(&runtime, &limiter).is_some());
    let left = || runtime.block_on(limiter.peek()).unwrap().remaining;
    let before = left();
    proxy.throttle(Side::Replies, Some(300));
    assert!(ask_here(&runtime, &limiter).is_none(), "it takes longer than 40 ms");
    proxy.heal();
    assert_eq!(left(), before - 1, "it was charged once, and no error");
}

/// Changes bytes on their way back while it is told to.
fn garble(target: SocketAddr) -> (SocketAddr, Arc<AtomicBool>) {
    let (listener, on) = (TcpListener::bind(("127.0.0.1", 0)).unwrap(), Arc::new(AtomicBool::new(false)));
    let (address, its_on) = (listener.local_addr().unwrap(), on.clone());
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let Ok(mut server) = TcpStream::connect(target) else { return };
            let (mut requests, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut requests, &mut to));
            let on = its_on.clone();
            thread::spawn(move || {
                let mut buffer = [0; 4096];
                while let Ok(length @ 1..) = server.read(&mut buffer) {
                    buffer[length - 1] ^= u8::from(on.load(Ordering::SeqCst));
                    if client.write_all(&buffer[..length]).is_err() {
                        return;
                    }
                }
            });
        }
    });
    (address, on)
}

#[test]
fn bytes_changed_on_the_way_end_the_connection_on_both_stacks() {
    let (server, authority, client) = server();
    let (address, garbled) = garble(server.tls_address());
    let runtime = runtime();
    let mut config = config(&format!("rediss://{address}"), &authority, &client);
    let (tell, told) = std::sync::mpsc::channel();
    config.on_event(Arc::new(move |event| drop(tell.send(event.message.clone()))));
    let (client, limiter) = limiter(&runtime, config);
    eventually(SOON, "a blocking connection answers", || ask_here(&runtime, &limiter).is_some());
    garbled.store(true, Ordering::SeqCst);
    let says = |text: &str| text.contains("no TLS as it should be");
    let error = {
        let _context = runtime.enter();
        let mut asked = pin!(limiter.try_acquire(1));
        let answer = may_block(|| asked.as_mut().poll(&mut Context::from_waker(Waker::noop())));
        assert!(answer.is_pending() || matches!(answer, Poll::Ready(Err(_))), "{answer:?}");
        match answer {
            Poll::Ready(answer) => answer.unwrap_err(),
            Poll::Pending => runtime.block_on(asked).unwrap_err(),
        }
    };
    assert!(error.kind() == ErrorKind::OutcomeUnknown && says(error.message()), "{error}");
    // By the connection of the runtime: a new one serves when there is one that is left alone.
    let lock = client.lock("job").unwrap();
    let held = runtime.spawn(async move { lock.acquire().await.map(|held| held.token()) });
    let ended = || told.try_iter().any(|said| said.contains("connection for commands is broken") && says(&said));
    eventually(SOON, "the connection for commands is ended", ended);
    garbled.store(false, Ordering::SeqCst);
    runtime.block_on(held).unwrap().unwrap();
}

/// The bound counts what comes out of TLS.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_absurd_size_ends_its_connection() {
    let (server, authority, client) = server();
    let mut config = config(&server.tls_url(), &authority, &client);
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    config.on_event(Arc::new(move |event| drop(tell.send(event.message.clone()))));
    let client = Client::connect_with(config).await.unwrap();
    let held = client.lock("job").unwrap().acquire().await.unwrap();
    let inbox = format!("dlock_inbox:{}", held.owner().split(':').next().unwrap());
    let long = "x".repeat(5 << 20);
    tokio::task::block_in_place(|| {
        eventually(SOON, "the inbox is heard", || server.cmd(&["PUBLISH", &inbox, &long]).int() > 0);
    });
    let ended = tokio::time::timeout(SOON, told.recv()).await.expect("it is said").unwrap();
    assert!(ended.contains("connection for messages") && ended.contains("longer than 4 MiB"), "{ended}");
    assert!(held.is_valid());
    held.release().await.unwrap();
}
