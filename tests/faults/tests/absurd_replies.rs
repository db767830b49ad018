//! What a server, or whatever listens in its place, may send: replies without end and floods of messages cost a bounded amount
//! of memory and end in a clear error.

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use libdlock::lease::HolderId;
use libdlock::lock::AcquireOptions;
use libdlock::{Client, Config, Error, ErrorKind, Wait};
use libdlock_faults::{SOON, bounded, client, with_options};
use libdlock_testkit::{Server, eventually, resp};

/// What one scenario may add to the peak of this process's memory. The parser's own buffers for 4 MiB take a few of those.
const MOST_MEMORY: usize = 32 << 20;

/// What is sent in place of one reply: far more than fits, and little enough for a client that buffers it all.
const BABBLE: usize = 96 << 20;

/// The peak of this process's memory since [`Memory::watch`]. The tests run in processes of their own.
struct Memory {
    before: usize,
}

impl Memory {
    fn watch() -> Memory {
        fs::write("/proc/self/clear_refs", "5").expect("the peak is set back");
        Memory { before: Memory::of("VmRSS:") }
    }

    fn of(line: &str) -> usize {
        let status = fs::read_to_string("/proc/self/status").expect("status");
        let line = status.lines().find_map(|l| l.strip_prefix(line)).expect("the line is there");
        line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") << 10
    }

    #[track_caller]
    fn expect_little(&self, what: &str) {
        let (peak, now) = (Memory::of("VmHWM:").saturating_sub(self.before), Memory::of("VmRSS:"));
        println!("{what}: {} KiB at the peak, {} KiB kept", peak >> 10, now.saturating_sub(self.before) >> 10);
        assert!(peak < MOST_MEMORY, "{what}: {} MiB", peak >> 20);
    }
}

/// Bytes that are sent instead of the reply to a request in which `trigger` occurs.
#[derive(Clone, Copy)]
struct Babble {
    trigger: &'static str,
    start: &'static [u8],
    then: &'static [u8],
}

const ABSURD: [(&str, &[u8], &[u8]); 6] = [
    ("a bulk of 2^63 - 1 bytes", b"$9223372036854775807\r\n", b"xxxxxxxxxxxxxxxx"),
    ("a line without end", b"+", b"xxxxxxxxxxxxxxxx"),
    ("an error without end", b"-ERR ", b"xxxxxxxxxxxxxxxx"),
    ("an array of 10^9 values", b"*1000000000\r\n", b"$8\r\nxxxxxxxx\r\n"),
    ("arrays nested without end", b"", b"*1\r\n"),
    ("a map of maps", b"", b"%30000\r\n+k\r\n"),
];

/// A way to a server on which replies can be replaced.
struct Relay {
    address: SocketAddr,
    babble: Arc<Mutex<Option<Babble>>>,
}

impl Relay {
    fn to(server: &Server) -> Relay {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("bind");
        let relay = Relay { address: listener.local_addr().expect("address"), babble: Arc::default() };
        let (target, babble) = (server.address(), relay.babble.clone());
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(target).expect("the server is there");
                let (mut from, mut to) = (server.try_clone().expect("clone"), client.try_clone().expect("clone"));
                thread::spawn(move || std::io::copy(&mut from, &mut to));
                let babble = babble.clone();
                thread::spawn(move || pass_on(client, server, &babble));
            }
        });
        relay
    }

    fn url(&self, options: &str) -> String {
        with_options(&format!("redis://{}", self.address), options)
    }

    fn babble(&self, babble: Option<Babble>) {
        *self.babble.lock().unwrap() = babble;
    }
}

fn pass_on(mut client: TcpStream, mut server: TcpStream, babble: &Mutex<Option<Babble>>) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let request = &buffer[..length];
        let babble = *babble.lock().unwrap();
        match babble {
            Some(babble) if request.windows(babble.trigger.len()).any(|part| part == babble.trigger.as_bytes()) => {
                let piece = babble.then.repeat(65_536 / babble.then.len());
                let mut sent = client.write_all(babble.start);
                for _ in 0..BABBLE / piece.len() {
                    sent = sent.and_then(|()| client.write_all(&piece));
                }
                break;
            }
            _ if server.write_all(request).is_err() => break,
            _ => {}
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}

#[track_caller]
fn expect_clear(error: &Error, what: &str) {
    assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Server, false), "{what}: {error}");
    assert!(error.message().contains("longer than 4 MiB"), "{what}: {error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absurd_reply_ends_the_connection_with_a_clear_error() {
    libdlock_testkit::own_process!();
    let server = Server::start();
    let relay = Relay::to(&server);
    let client = client(&relay.url("blocking_connections=0")).await;
    let lock = client.lock("job").expect("a name");
    lock.try_acquire().await.expect("asked").expect("free").release().await.expect("released");
    for (what, start, then) in ABSURD {
        let memory = Memory::watch();
        relay.babble(Some(Babble { trigger: "EVALSHA", start, then }));
        let error = bounded(SOON / 2, what, lock.try_acquire()).await.expect_err("no answer");
        expect_clear(&error, what);
        memory.expect_little(what);
        relay.babble(None);
        let held = bounded(SOON, "the next call has a new connection", lock.acquire()).await.expect("acquired");
        held.release().await.expect("released");
    }
}

#[test]
fn an_absurd_reply_to_a_blocking_call_is_bounded_too() {
    libdlock_testkit::own_process!();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("runtime");
    let server = Server::start();
    let relay = Relay::to(&server);
    let client = runtime.block_on(client(&relay.url("blocking_connections=1")));
    let lock = client.lock("job").expect("a name");
    for (what, start, then) in ABSURD {
        // The direct connection is opened in the background, and once more after each that was dropped.
        let connections = || server.info("clients", "connected_clients");
        eventually(SOON * 2, "the direct connection is there", || {
            client.block_on(async { lock.acquire().await?.release().await }).expect("acquired and released");
            connections() >= 3
        });
        let memory = Memory::watch();
        relay.babble(Some(Babble { trigger: "EVALSHA", start, then }));
        let asked = AcquireOptions::default().wait(Wait::Try);
        let error = client.block_on(lock.acquire_as(HolderId::fresh(), asked)).expect_err("no answer");
        expect_clear(&error, what);
        memory.expect_little(what);
        relay.babble(None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn absurd_bytes_on_the_message_connection_are_bounded() {
    libdlock_testkit::own_process!();
    let server = Server::start();
    let relay = Relay::to(&server);
    let holder = client(&server.url()).await;
    let held = holder.lock("job").expect("a name").acquire().await.expect("acquired");
    let events = Arc::new(Mutex::new(Vec::new()));
    let mut config = Config::from_url(&relay.url("blocking_connections=0")).expect("URL");
    let its_events = events.clone();
    config.on_event(Arc::new(move |event| its_events.lock().unwrap().push(event.message.clone())));
    relay.babble(Some(Babble { trigger: "SUBSCRIBE", start: b">3\r\n$9223372036854775807\r\n", then: b"xxxxxxxx" }));
    let memory = Memory::watch();
    let waiter = Client::connect_with(config).await.expect("connected");
    let lock = waiter.lock("job").expect("a name");
    let waiting = tokio::spawn(async move { lock.acquire().await });
    eventually(SOON, "the event says why", || {
        events.lock().unwrap().iter().any(|event| event.contains("messages") && event.contains("longer than 4 MiB"))
    });
    memory.expect_little("the message connection");
    relay.babble(None);
    held.release().await.expect("released");
    let taken = bounded(SOON, "the waiter gets it", waiting).await.expect("no panic").expect("acquired");
    taken.release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_of_100_mb_is_busy_and_costs_no_memory() {
    libdlock_testkit::own_process!();
    let server = Server::start();
    // The server repeats its own text, so that none of it passes through this process.
    server.cmd(&["EVAL", "return redis.call('HSET', 'job', string.rep('x', 100000000), '1')", "0"]);
    // The server copies the owner for each script, for which a busy machine takes more than a second.
    let client = client(&with_options(&server.url(), "response_timeout=5s&operation_timeout=20s")).await;
    let lock = client.lock("job").expect("a name");
    let memory = Memory::watch();
    // The wait, and the answer to what was asked at its end.
    let error = bounded(SOON * 3, "an answer", lock.acquire_timeout(Duration::from_secs(5))).await.expect_err("held");
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.to_string().len() < 1_000, "{} bytes of error", error.to_string().len());
    let inspection = bounded(SOON * 3, "an answer", lock.inspect()).await.expect("inspected");
    assert!(inspection.holder.is_some_and(|holder| holder.len() <= 1_000 && holder.starts_with("xxx")));
    memory.expect_little("an owner of 100 MB");
}

/// Publishes `count` messages as fast as the server takes them, and gives the rate.
fn flood(server: &Server, inbox: &str, count: usize, message: impl Fn(usize) -> String) -> f64 {
    let (start, mut to) = (Instant::now(), TcpStream::connect(server.address()).expect("connect"));
    let mut from = to.try_clone().expect("clone");
    let reading = thread::spawn(move || std::io::copy(&mut from, &mut std::io::sink()));
    for first in (0..count).step_by(500) {
        let batch: Vec<u8> =
            (first..first + 500).flat_map(|at| resp::encode(&["PUBLISH", inbox, &message(at)])).collect();
        to.write_all(&batch).expect("the server reads");
    }
    to.shutdown(Shutdown::Write).expect("it is open");
    reading.join().expect("no panic").expect("read");
    count as f64 / start.elapsed().as_secs_f64()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_messages_costs_little_memory_and_no_hold() {
    libdlock_testkit::own_process!();
    let server = Server::start();
    let other = client(&server.url()).await;
    let theirs = other.lock("theirs").expect("a name").acquire().await.expect("acquired");
    let client = client(&server.url()).await;
    let lock = client.lock("ours").expect("a name");
    let ours = lock.acquire().await.expect("acquired");
    let contended = client.lock("theirs").expect("a name");
    let waiting = tokio::spawn(async move { contended.acquire().await });
    let inboxes = || server.cmd(&["PUBSUB", "CHANNELS", "dlock_inbox:*"]);
    let client_id = ours.owner().split(':').next().expect("an id").to_owned();
    eventually(SOON, "it waits", || inboxes().array().iter().any(|inbox| inbox.text().ends_with(&client_id)));
    let inbox = format!("dlock_inbox:{client_id}");
    type Message = fn(usize) -> String;
    let floods: [(&str, Message); 4] = [
        ("lost, of a lock that is held", |_| "lost;ours".to_owned()),
        ("free, of a lock that is waited for", |_| "free;theirs".to_owned()),
        ("free, of ever new names", |at| format!("free;name-{at}-with-some-more-text-to-make-it-longer")),
        ("nonsense", |at| format!("{at}{}", "x".repeat(500))),
    ];
    let scripts = || server.info("commandstats", "cmdstat_evalsha:calls");
    for (what, message) in floods {
        let (memory, before) = (Memory::watch(), scripts());
        let rate = flood(&server, &inbox, 200_000, message);
        eventually(SOON * 3, "the client has read them all", || {
            let subscribers = server.cmd(&["CLIENT", "LIST", "TYPE", "pubsub"]);
            subscribers.text().lines().all(|line| line.contains(" omem=0 "))
        });
        println!("{what}: {rate:.0} messages/s, {} scripts", scripts() - before);
        memory.expect_little(what);
        assert!(ours.is_valid(), "{what}: the hold is still valid");
    }
    theirs.release().await.expect("released");
    let held = bounded(SOON, "the waiter gets it", waiting).await.expect("no panic").expect("acquired");
    held.release().await.expect("released");
    ours.release().await.expect("it was ours all the time");
}
