//! Grants that count only if replicas have them (option `replicas`), where the deployment is against them: servers that hide who
//! they are, that change sides during the count, that refuse a part of it, or that answer nonsense.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::ErrorKind;
use libdlock_faults::replicas::{TIMEOUT, each_replica, next_wait, requiring};
use libdlock_faults::{SOON, bounded, client, is_held, with_options};
use libdlock_testkit::{Proxy, Replicated, Reply, Scripted, Server, eventually};
use tokio::task::JoinSet;

/// Without run ids the grant and the count may be of two servers, whose replicas know nothing of each other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hides_who_it_is_counts_nothing() {
    let hiding = || Server::options().rights(vec!["-info".to_owned()]);
    // The second one tells in the second case: the rights of a user may differ.
    for of_present in [hiding(), Server::options()] {
        let (former, present) = (Replicated::with(1, hiding()), Replicated::with(1, of_present));
        let proxy = Proxy::start(former.primary.address());
        let client = requiring(1, &proxy.url()).await;
        each_replica(&former, Server::pause);
        proxy.point_at(present.primary.address());
        let told = bounded(SOON, "told", client.lock("job").unwrap().acquire()).await;
        let error = told.map(drop).expect_err("the former server has granted it, and the present one was asked");
        assert_eq!(error.kind(), ErrorKind::NoPermission, "{error}");
        assert!(error.message().contains("the user needs +info"), "{error}");
        assert!(error.message().contains("the grant was released, nothing is held"), "{error}");
        assert!(!is_held(&former.primary, "job") && !is_held(&present.primary, "job"));
    }
}

/// As in a planned failover. The server ends the WAIT with an error of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_demoted_during_the_count_ends_no_timed_wait() {
    let (servers, other) = (Replicated::start(1), Server::start());
    let proxy = Proxy::start(servers.primary.address());
    let client = client(&with_options(&proxy.url(), "replicas=1&replica_timeout=5s&lease=60s&poll_interval=30s")).await;
    let (lock, once) = (client.lock("job").unwrap(), client.lock("job-once").unwrap());
    each_replica(&servers, Server::pause);
    let wait = next_wait(&proxy);
    let caller = tokio::spawn(async move { lock.acquire_timeout(SOON * 2).await });
    tokio::task::block_in_place(|| wait.expect(SOON));
    let once = tokio::spawn(async move { once.try_acquire().await });
    let blocked = || servers.primary.info("clients", "blocked_clients");
    eventually(SOON, "both are counted", || blocked() == 2);
    assert_eq!(servers.primary.cmd(&["REPLICAOF", "127.0.0.1", &other.port().to_string()]).text(), "OK");
    eventually(SOON, "it ends them", || blocked() == 0);
    assert_eq!(servers.primary.cmd(&["REPLICAOF", "NO", "ONE"]).text(), "OK");
    each_replica(&servers, Server::resume);
    let error = bounded(SOON, "told", once).await.unwrap().expect_err("it does not wait");
    assert!(error.is_retryable() && error.message().contains("ended the WAIT before its time"), "{error}");
    bounded(SOON * 2, "acquired", caller).await.unwrap().unwrap().release().await.unwrap();
}

/// Of one request for four, two are granted, and the others join the queue. All of it counts as refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_request_for_several_keeps_no_place() {
    let servers = Replicated::start(1);
    let (client, plain) = (requiring(1, &servers.primary.url()).await, client(&servers.primary.url()).await);
    let pool = || client.semaphore("pool", 2).unwrap();
    pool().acquire().await.unwrap().release().await.unwrap();
    each_replica(&servers, Server::pause);
    let first = pool();
    let first = tokio::spawn(async move { first.try_acquire().await.map(drop) });
    eventually(SOON, "it is counted", || servers.primary.info("clients", "blocked_clients") == 1);
    // They stand in line until it is told, and are asked for together then.
    let mut waiters = JoinSet::new();
    for _ in 0..4 {
        let pool = pool();
        waiters.spawn(async move { pool.acquire_timeout(SOON * 2).await.map(drop) });
    }
    eventually(SOON, "all wait", || client.stats().semaphore.waiting == 4);
    let places = || servers.primary.cmd(&["ZCARD", "dlock_semaphore_queue:{pool}"]).int();
    assert_eq!(places(), 0);
    bounded(SOON, "told", first).await.unwrap().expect_err("the replica is stopped");
    eventually(SOON, "the others join the queue", || places() == 1);
    for told in bounded(SOON, "told", waiters.join_all()).await {
        told.expect_err("the replica is stopped");
    }
    eventually(TIMEOUT, "nobody needs the place", || places() == 0);
    let begun = Instant::now();
    let both = bounded(SOON, "free", plain.semaphore("pool", 2).unwrap().acquire_many(2)).await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    both.release().await.unwrap();
}

/// A server that passes scripts on to a real one, and answers the rest as `answer` says.
fn relay(server: &Server, answer: impl Fn(&[String]) -> Option<String> + Send + Sync + 'static) -> Scripted {
    let real = Mutex::new(server.connect());
    Scripted::start(move |words| {
        answer(words).or_else(|| {
            let is_script = words[0].starts_with("EVAL");
            is_script.then(|| encoded(&real.lock().unwrap().cmd(words).expect("a reply")))
        })
    })
}

fn encoded(reply: &Reply) -> String {
    match reply {
        Reply::Nil => "$-1\r\n".to_owned(),
        Reply::Int(number) => format!(":{number}\r\n"),
        Reply::Text(text) => format!("${}\r\n{}\r\n", text.len(), String::from_utf8_lossy(text)),
        Reply::Array(items) => {
            format!("*{}\r\n{}", items.len(), items.iter().map(encoded).collect::<String>())
        }
        Reply::Error(error) => format!("-{error}\r\n"),
    }
}

/// A WAIT may be answered by a number that is none, something else, half of it or nothing, and a SET be refused in any way.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_absurd_answer_to_the_count_gives_out_nothing() {
    let server = Server::start();
    let answers = [
        ("WAIT", "+many\r\n"),
        ("WAIT", "$1\r\n1\r\n"),
        ("WAIT", ":-1\r\n"),
        ("WAIT", ":9223372036854775807\r\n"),
        ("WAIT", "_\r\n"),
        ("WAIT", "#t\r\n"),
        ("WAIT", "*1\r\n:1\r\n"),
        ("WAIT", "-MOVED 1 127.0.0.1:1\r\n"),
        ("WAIT", "-MOVED\r\n"),
        ("WAIT", "-LOADING Redis is loading the dataset in memory\r\n"),
        ("WAIT", "-ERR WAIT cannot be used with replica instances. Also since Redis 4.0 ...\r\n"),
        ("WAIT", "-\u{1b}[31mERR\r\n"),
        ("WAIT", ":1"),
        ("WAIT", "1\r\n"),
        ("WAIT", ""),
        ("SET", "-OOM command not allowed when used memory > 'maxmemory'.\r\n"),
        ("SET", "-READONLY You can't write against a read only replica.\r\n"),
        ("SET", "-MOVED 1 127.0.0.1:1\r\n"),
        ("SET", "-ASK 1 :1\r\n"),
        ("SET", "-NOREPLICAS Not enough good replicas to write.\r\n"),
        ("SET", "-NOPERM this user has no permissions to run the 'set' command\r\n"),
        ("SET", ""),
    ];
    for (verb, answer) in answers {
        let is_absurd = Arc::new(AtomicBool::new(true));
        let its_absurd = is_absurd.clone();
        let relay = relay(&server, move |words| match words[0].as_str() {
            its if its == verb && its_absurd.load(Ordering::SeqCst) => Some(answer.to_owned()),
            "WAIT" => Some(":1\r\n".to_owned()),
            _ => None,
        });
        let options = "replicas=1&replica_timeout=100ms&response_timeout=200ms&lease=60s";
        let client = client(&with_options(&relay.url(), options)).await;
        let lock = client.lock("job").unwrap();
        let begun = Instant::now();
        let error = bounded(SOON, "told", lock.try_acquire()).await.expect_err(answer);
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert!(error.message().contains("the grant was released, nothing is held"), "{error}");
        assert!(!error.message().contains(char::is_control), "{error:?}");
        assert!(!is_held(&server, "job"), "{answer:?}");
        is_absurd.store(false, Ordering::SeqCst);
        bounded(SOON, answer, lock.acquire()).await.unwrap().release().await.unwrap();
    }
}
