//! What no healthy cluster answers: nodes that know nothing, tables in shreds, and redirections that lead nowhere.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Error, ErrorKind, Rate};
use libdlock_testkit::access::of_cluster;
use libdlock_testkit::{Cluster, Scripted, Server, lateness};

/// Far beyond what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

/// The reply to CLUSTER SLOTS: slots from the first to the last at a port of the host that was asked.
fn slots(ranges: &[(u16, u16, u16)]) -> String {
    let one =
        |(first, last, port): &(u16, u16, u16)| format!("*3\r\n:{first}\r\n:{last}\r\n*2\r\n$0\r\n\r\n:{port}\r\n");
    format!("*{}\r\n{}", ranges.len(), ranges.iter().map(one).collect::<String>())
}

/// A node that answers CLUSTER SLOTS and scripts in that way, given its own port.
fn node(
    table: impl Fn(u16) -> String + Send + Sync + 'static,
    script: impl Fn(u16) -> String + Send + Sync + 'static,
) -> (Scripted, u16) {
    let port = Arc::new(OnceLock::new());
    let its_port = port.clone();
    let node = Scripted::start(move |words| {
        let port = *its_port.wait();
        match words[0].to_ascii_uppercase().as_str() {
            "CLUSTER" => Some(table(port)),
            verb if verb.starts_with("EVAL") => Some(script(port)),
            "WAIT" => Some(":1\r\n".to_owned()),
            _ => None,
        }
    });
    let own: u16 = node.url().rsplit(':').next().unwrap().parse().unwrap();
    port.set(own).unwrap();
    (node, own)
}

/// What a try to take a lock ends with, of a client with half a second for it, if that says `what`. A busy machine may leave the
/// last attempt without an answer: then it is tried again.
async fn refused(port: u16, what: &str) -> Error {
    let url = format!("redis+cluster://127.0.0.1:{port}?operation_timeout=500ms");
    let client = Client::connect(&url).await.unwrap();
    let mut tried = Vec::new();
    for _ in 0..5 {
        let lock = client.lock("jobs").unwrap();
        let refused = tokio::time::timeout(PATIENCE, lock.try_acquire()).await.unwrap().map(drop).unwrap_err();
        if refused.message().contains(what) {
            return refused;
        }
        tried.push(refused);
    }
    panic!("none says {what:?}: {tried:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seed_that_serves_nothing_hides_no_other() {
    let cluster = Cluster::start();
    let empty = Server::options().rights(of_cluster()).args(&["--cluster-enabled", "yes"]).start();
    let url = format!("redis+cluster://{},{}", empty.address(), cluster.address(0));
    for _ in 0..20 {
        Client::connect(&url).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_seed_says_is_not_hidden_by_one_that_is_down() {
    let server = Server::options().rights(of_cluster()).start();
    // Where nobody listens.
    let url = format!("redis+cluster://127.0.0.1:1,{}", server.address());
    for _ in 0..10 {
        let refused = Client::connect(&url).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirection_without_an_address_is_said_as_it_is() {
    for to in ["1", "1 nonsense", "1 h:0", "1 h:99999", "x h:1", "1 ?:7000", "1 h\u{1b}[31m:7000"] {
        for code in ["MOVED", "ASK"] {
            let answer = format!("-{code} {to}\r\n");
            let (_node, port) = node(|own| slots(&[(0, 16_383, own)]), move |_| answer.clone());
            let error = refused(port, "no address").await;
            assert_eq!(error.kind(), ErrorKind::Server, "{code} {to}: {error}");
            assert!(error.is_retryable(), "{code} {to}: {error}");
            assert!(!error.message().contains("redis+cluster://"), "{code} {to}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_is_sent_in_a_circle_says_so() {
    for code in ["MOVED", "ASK"] {
        let other_port = Arc::new(OnceLock::<u16>::new());
        let its_other = other_port.clone();
        let to = move |port: u16| format!("-{code} 1 :{port}\r\n");
        let (_one, port) = node(|own| slots(&[(0, 16_383, own)]), move |_| to(*its_other.wait()));
        let (_other, its_port) = node(move |_| slots(&[(0, 16_383, port)]), move |_| to(port));
        other_port.set(its_port).unwrap();
        let error = refused(port, "from one to another").await;
        // What the client believes may change while a request is under way.
        assert!([ErrorKind::Server, ErrorKind::OutcomeUnknown].contains(&error.kind()), "{code}: {error}");
        assert!(error.is_retryable(), "{code}: {error}");
    }
}

/// Each table costs as much as it has ranges, and not the square of that.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_in_shreds_is_mended_in_no_time() {
    const RANGES: u16 = 6_000;
    let granted = || "*3\r\n:0\r\n:1\r\n:1\r\n".to_owned();
    let (_other, other) = node(|own| slots(&[(0, 16_383, own)]), move |_| granted());
    let ranges = move |own: u16| {
        let by = move |slot: u16| if slot.is_multiple_of(2) { own } else { other };
        let single = (0..RANGES - 1).map(|slot| (slot, slot, by(slot)));
        slots(&single.chain([(RANGES - 1, 16_383, own)]).collect::<Vec<_>>())
    };
    // A connection of blocking calls may be the first to hear it.
    let asked = AtomicU64::new(0);
    let (_node, port) = node(ranges, move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => format!("-MOVED 1 :{other}\r\n"),
        _ => granted(),
    });
    let client = Client::connect(&format!("redis+cluster://127.0.0.1:{port}")).await.unwrap();
    let began = Instant::now();
    for name in 0..8 {
        let lock = client.lock(&format!("jobs:{name}")).unwrap();
        let tried = tokio::time::timeout(PATIENCE, lock.try_acquire()).await.unwrap();
        drop(libdlock::embed::into_grant(tried.unwrap().unwrap()));
    }
    assert!(began.elapsed() < Duration::from_secs(3) + lateness(), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_are_let_go_leave_no_task() {
    leave_no_task("operation_timeout=20s").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_with_replicas_that_are_let_go_leave_no_task() {
    leave_no_task("operation_timeout=20s&replicas=1").await;
}

/// A client with these options meets many nodes that are none, and forgets them.
async fn leave_no_task(options: &str) {
    const NODES: u64 = 40;
    let to_go = Arc::new(AtomicU64::new(0));
    let its_to_go = to_go.clone();
    let script = move |_| match its_to_go.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)) {
        // Where nobody listens.
        Ok(left) => format!("-MOVED 1 :{left}\r\n"),
        Err(_) => "*3\r\n:0\r\n:1\r\n:1\r\n".to_owned(),
    };
    let (_node, port) = node(|own| slots(&[(0, 16_383, own)]), script);
    let client = Client::connect(&format!("redis+cluster://127.0.0.1:{port}?{options}")).await.unwrap();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let take = async |name| {
        let held = client.lock(name).unwrap().try_acquire().await.unwrap().unwrap();
        drop(libdlock::embed::into_grant(held));
    };
    take("first").await;
    // The node's connections are there.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = tasks();
    to_go.store(NODES, Ordering::SeqCst);
    take("second").await;
    assert!(tasks() > before + 40, "{} after {before}", tasks());
    let until = Instant::now() + Duration::from_secs(40);
    while tasks() > before + 5 {
        assert!(Instant::now() < until, "{} tasks are left, {before} were there before", tasks());
        tokio::time::sleep(Duration::from_millis(250)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limiters_policy_answers_where_no_node_serves_its_slot() {
    let (_node, port) = node(|own| slots(&[(0, 0, own)]), |_| "-ERR nobody asks\r\n".to_owned());
    let client = Client::connect(&format!("redis+cluster://127.0.0.1:{port}?response_timeout=5s")).await.unwrap();
    let rate = Rate::new(1_000, Duration::from_secs(3_600));
    for absent in [Absent::Allow, Absent::LocalShare { of: 2 }, Absent::Deny] {
        let limiter = client.rate_limiter_with("api", LimiterOptions::new(rate).absent(absent)).unwrap();
        let began = Instant::now();
        for _ in 0..10 {
            let decision = tokio::time::timeout(PATIENCE, limiter.try_acquire(1)).await.expect("an answer").unwrap();
            assert_eq!(decision.allowed, absent != Absent::Deny);
        }
        assert!(began.elapsed() < Duration::from_secs(2) + lateness(), "{absent:?}: {:?}", began.elapsed());
    }
}
