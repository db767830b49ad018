//! A latch against crowds, floods, and servers that say what none should: every wait ends as it should, and nothing else opens it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use libdlock::{Client, ErrorKind, Latch};
use libdlock_faults::{Peer, SOON, bounded, client, kind, listeners, slack, with_options, worker};
use libdlock_testkit::{Proxy, Scripted, Server, Side, eventually};
use tokio::task::JoinSet;

const CHANNEL: &str = "redisson_countdownlatch__channel__{ready}";

fn ready(client: &Client) -> Latch {
    client.latch("ready").expect("a name")
}

fn scripts(server: &Server) -> u64 {
    server.info("commandstats", "cmdstat_evalsha:calls")
}

/// Twenty clients with fifty callers each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_waiters_cost_a_look_for_each_client() {
    const CLIENTS: i64 = 20;
    let server = Server::start();
    server.cmd(&["SET", "ready", "1"]);
    let mut waiters = JoinSet::new();
    for _ in 0..CLIENTS {
        let latch = ready(&client(&with_options(&server.url(), "poll_interval=1h")).await);
        for _ in 0..50 {
            let latch = latch.clone();
            waiters.spawn(async move { latch.wait().await.map(|()| Instant::now()) });
        }
    }
    eventually(SOON, "they listen", || listeners(&server, CHANNEL) == CLIENTS);
    let counting = ready(&client(&server.url()).await);
    let (before, counted) = (scripts(&server), Instant::now());
    assert_eq!(counting.count_down().await.expect("counted"), 0);
    let mut last = Duration::ZERO;
    while let Some(opened) = bounded(SOON, "all are woken", waiters.join_next()).await {
        last = last.max(opened.expect("no panic").expect("no error") - counted);
    }
    let looks = scripts(&server) - before;
    println!("the last after {last:?}, {looks} scripts");
    assert!(looks <= CLIENTS as u64 + 2, "{looks} scripts");
    eventually(SOON, "nobody listens any more", || listeners(&server, CHANNEL) == 0);
}

/// Anybody may publish. A message makes a process look, which has one look under way at most.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_messages_opens_nothing() {
    let server = Server::start();
    server.cmd(&["SET", "ready", "1"]);
    // The server answers nobody while it runs the script that floods: a second and more on a machine that is busy.
    let options = "poll_interval=1h&response_timeout=9s&operation_timeout=9s";
    let latch = ready(&client(&with_options(&server.url(), options)).await);
    let waiter = tokio::spawn({
        let latch = latch.clone();
        async move { latch.wait().await }
    });
    eventually(SOON, "it listens", || listeners(&server, CHANNEL) == 1);
    let before = scripts(&server);
    server.cmd(&["EVAL", &format!("for i = 1, 50000 do redis.call('PUBLISH', '{CHANNEL}', '0') end"), "0"]);
    assert!(!latch.wait_timeout(Duration::from_millis(200)).await.expect("no error"));
    let looks = scripts(&server) - before;
    println!("{looks} looks for 50,000 messages");
    assert!(looks < 25_000 && !waiter.is_finished());
    assert_eq!(latch.count_down().await.expect("counted"), 0);
    bounded(SOON, "it opens", waiter).await.expect("no panic").expect("no error");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absurd_reply_is_an_error_and_opens_nothing() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros();
    let replies = [
        ":1\r\n".to_owned(),
        "*0\r\n".to_owned(),
        "+OK\r\n".to_owned(),
        "$-1\r\n".to_owned(),
        format!("*2\r\n:{now}\r\n:-1\r\n"),
        format!("*2\r\n:{now}\r\n$1\r\n0\r\n"),
        format!("*2\r\n:{}\r\n:0\r\n", i64::MAX),
        "*2\r\n:-1\r\n:0\r\n".to_owned(),
        "-ERR unheard of\r\n".to_owned(),
    ];
    for reply in replies {
        let answers = reply.clone();
        let server = Scripted::start(move |words| words[0].starts_with("EVAL").then(|| answers.clone()));
        let latch = ready(&client(&with_options(&server.url(), "operation_timeout=1s")).await);
        assert_eq!(kind(bounded(SOON, "told", latch.wait()).await), ErrorKind::Server, "{reply:?}");
        let timed = latch.wait_timeout(Duration::from_millis(300));
        assert_eq!(kind(bounded(SOON, "told", timed).await), ErrorKind::Server, "{reply:?}");
        assert_eq!(kind(bounded(SOON, "told", latch.count()).await), ErrorKind::Server, "{reply:?}");
        let error = kind(bounded(SOON, "told", latch.count_down()).await);
        assert!(matches!(error, ErrorKind::Server | ErrorKind::OutcomeUnknown), "{reply:?}: {error:?}");
        for said in [bounded(SOON, "told", latch.try_set_count(1)).await, bounded(SOON, "told", latch.delete()).await] {
            assert!(!said.unwrap_or(false), "{reply:?}: it says that it was done");
        }
    }
}

/// The answer without what was done says that the request came too late; one that says so for ever is no endless loop.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_to_which_all_comes_too_late_ends_the_call() {
    let asked = Arc::new(AtomicU64::new(0));
    let counts = asked.clone();
    let server = Scripted::start(move |words| {
        words[0].starts_with("EVAL").then(|| {
            counts.fetch_add(1, Ordering::SeqCst);
            let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_micros();
            format!("*1\r\n:{now}\r\n")
        })
    });
    let latch = ready(&client(&server.url()).await);
    let error = kind(bounded(SOON, "told", latch.count_down()).await);
    assert!(matches!(error, ErrorKind::Clock | ErrorKind::OutcomeUnknown | ErrorKind::Server), "{error:?}");
    assert!(asked.load(Ordering::SeqCst) < 20, "{} requests", asked.load(Ordering::SeqCst));
}

/// A replica answers looks and takes no count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiters_ride_through_a_server_that_is_read_only() {
    let server = Server::start();
    server.cmd(&["SET", "ready", "1"]);
    let latch = ready(&client(&with_options(&server.url(), "operation_timeout=500ms")).await);
    let waiter = tokio::spawn({
        let latch = latch.clone();
        async move { latch.wait_timeout(SOON).await }
    });
    eventually(SOON, "it listens", || listeners(&server, CHANNEL) == 1);
    // It never comes to a replication: nobody listens there.
    server.cmd(&["REPLICAOF", "127.0.0.1", "1"]);
    for said in [
        bounded(SOON, "told", latch.count_down()).await.map(drop),
        bounded(SOON, "told", latch.delete()).await.map(drop),
    ] {
        let error = said.expect_err("it takes no writes");
        assert!(matches!(error.kind(), ErrorKind::Server | ErrorKind::Connection), "{error}");
    }
    server.cmd(&["REPLICAOF", "NO", "ONE"]);
    assert_eq!(server.cmd(&["GET", "ready"]).text(), "1", "nothing was counted");
    // Its connections come back after pauses, which are about as long as a call may take here.
    let counted = async {
        loop {
            match latch.count_down().await {
                Err(error) if error.kind() == ErrorKind::Server => {}
                counted => break counted,
            }
        }
    };
    assert_eq!(bounded(SOON, "counted", counted).await.expect("counted"), 0);
    assert!(bounded(SOON, "it opens", waiter).await.expect("no panic").expect("no error"));
}

/// On a line with 300 ms each way and little room, calls take what the way takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_line_delays_and_counts_once() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let latch = ready(&client(&proxy.url()).await);
    assert!(latch.try_set_count(4).await.expect("set"));
    // The server knows the scripts from here on.
    assert_eq!((latch.count().await.expect("seen"), latch.count_down().await.expect("counted")), (4, 3));
    for side in [Side::Requests, Side::Replies] {
        proxy.delay(side, Duration::from_millis(300));
        proxy.throttle(side, Some(20_000));
    }
    let (wait, began) = (Duration::from_millis(2_500), Instant::now());
    assert!(!bounded(SOON, "in time", latch.wait_timeout(wait)).await.expect("it was seen closed"));
    assert!(began.elapsed() <= wait + slack(), "{:?}", began.elapsed());
    assert_eq!(bounded(SOON, "counted", latch.count_down()).await.expect("counted"), 2);
    assert_eq!(server.cmd(&["GET", "ready"]).text(), "2");
}

#[test]
fn a_process_that_closes_ends_its_waits() {
    let server = Server::start();
    server.cmd(&["SET", "ready", "1"]);
    let mut peer = Peer::start(worker!(), &server.url());
    let waiting = [peer.request("wait-for ready -1"), peer.request("wait-for ready 60000")];
    eventually(SOON, "it listens", || listeners(&server, CHANNEL) == 1);
    peer.ok("close");
    for id in waiting {
        let (kind, message) = peer.answer(id, SOON).expect_err("the client has ended");
        assert_eq!(kind, "CLOSED", "{message}");
    }
    eventually(SOON, "nobody listens", || listeners(&server, CHANNEL) == 0);
    assert_eq!(server.cmd(&["GET", "ready"]).text(), "1");
}
