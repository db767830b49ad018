//! Jobs that nobody can put, and the largest and oddest that one can; other keys under the names of a queue's.

use std::time::{Duration, UNIX_EPOCH};

use libdlock::queue::{NewJob, QueueOptions};
use libdlock::{Client, ErrorKind, Queue, Result};
use libdlock_faults::{SOON, bounded, client, kind};
use libdlock_testkit::{Reply, Server};

const YEAR: Duration = Duration::from_secs(365 * 86_400);
const MIB: usize = 1 << 20;

async fn place() -> (Server, Client, Queue) {
    let server = Server::start();
    let client = client(&server.url()).await;
    let queue = client.queue("mails").expect("a name");
    (server, client, queue)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn payloads_of_any_bytes_come_as_they_were_put() {
    let (_server, client, queue) = place().await;
    let all: Vec<u8> = (0..=255).collect();
    for payload in [Vec::new(), b"\0".to_vec(), all, b"\r\n$-1\r\n".to_vec(), vec![7; MIB]] {
        queue.put(payload.clone()).await.expect("put");
        let delivery = queue.try_take().await.expect("take").expect("it is due");
        assert!(delivery.payload() == payload, "{} bytes", payload.len());
        delivery.ack().await.expect("ack");
    }
    let error = queue.put(vec![7; MIB + 1]).await.expect_err("too long");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("1048577") && error.message().contains("max_payload"), "{error}");
    let larger = client.queue_with("mails", QueueOptions::default().max_payload(MIB + 1)).expect("allowed");
    larger.put(vec![7; MIB + 1]).await.expect("put");
    assert_eq!(queue.take().await.expect("any queue takes it").payload().len(), MIB + 1);
}

/// Nothing of a call is put when one of its jobs cannot be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_out_of_range_are_refused_before_any_request() {
    let (server, _client, queue) = place().await;
    let good = || NewJob::new("x").id("good");
    let long = "é".repeat(256);
    assert_eq!(long.len(), 512);
    for bad in [
        NewJob::new("x").id(""),
        NewJob::new("x").id("a\0b"),
        NewJob::new("x").id(format!("{long}a")),
        NewJob::new("x").delay(100 * YEAR + Duration::from_nanos(1)),
        NewJob::new("x").delay(Duration::MAX),
        NewJob::new("x").at(UNIX_EPOCH + 301 * YEAR),
        NewJob::new(vec![0; MIB + 1]),
    ] {
        assert_eq!(kind(queue.put_many([good(), bad.clone()]).await), ErrorKind::InvalidArgument, "{bad:?}");
    }
    assert_eq!(server.keys(), [""; 0], "nothing was sent");
    for good in [
        NewJob::new("x").id(long),
        NewJob::new("x").id("\u{1F980} \r\n"),
        NewJob::new("x").id("past").at(UNIX_EPOCH - YEAR).priority(i16::MAX),
        NewJob::new("x").id("10 years").delay(10 * YEAR).priority(i16::MIN),
        NewJob::new("x").id("100 years").delay(100 * YEAR),
    ] {
        assert!(queue.put(good.clone()).await.unwrap_or_else(|error| panic!("{good:?}: {error}")).is_new);
    }
    let listed = queue.peek(10).await.expect("a list");
    assert_eq!(listed.len(), 5);
    assert_eq!((listed[0].id.as_str(), listed[0].due), ("past", UNIX_EPOCH));
    assert_eq!(listed[4].id, "100 years");
    assert!(listed[4].due > listed[3].due + 89 * YEAR, "in whole ms, and not beyond what a number can hold");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delay_of_a_delivery_out_of_range_puts_it_back_at_once() {
    let (_server, _client, queue) = place().await;
    queue.put("x").await.expect("put");
    let delivery = queue.take().await.expect("take");
    assert_eq!(kind(delivery.nack_after(Duration::MAX, "later").await), ErrorKind::InvalidArgument);
    let again = bounded(SOON, "it comes again", queue.take()).await.expect("take");
    again.nack_after(100 * YEAR, "much later").await.expect("nack");
    assert_eq!(queue.counts().await.expect("counts").delayed, 1);
}

async fn take_and_put_back(queue: &Queue) -> Result<()> {
    match queue.try_take().await? {
        Some(delivery) => delivery.nack("the test").await,
        None => Ok(()),
    }
}

/// Each verb, and what it must say of a key that is somebody else's. Those that do not use the key may succeed.
async fn verbs(queue: &Queue) -> Vec<(&'static str, Result<()>)> {
    vec![
        ("put", queue.put(NewJob::new("x").id("new")).await.map(drop)),
        ("put without an id", queue.put("x").await.map(drop)),
        ("take", take_and_put_back(queue).await),
        ("counts", queue.counts().await.map(drop)),
        ("peek", queue.peek(10).await.map(drop)),
        ("dead", queue.dead(10).await.map(drop)),
        ("cancel", queue.cancel("other").await.map(drop)),
        ("purge", queue.purge().await.map(drop)),
        ("purge_dead", queue.purge_dead().await.map(drop)),
        ("requeue", queue.requeue_all_dead().await.map(drop)),
    ]
}

/// Which of its keys is another one's does not matter: it is not touched, what fails says so, and a put is all or nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_of_another_type_is_wrong_type_and_left_alone() {
    let (server, _client, queue) = place().await;
    for part in ["all", "due", "leases", "held", "dead", "last", "done", "queue", "seen"] {
        let key = format!("dlock_queue_{part}:{{mails}}");
        for write in [&["RPUSH", &key, "x"][..], &["SET", &key, "text"], &["SADD", &key, "x"]] {
            server.cmd(&["FLUSHALL"]);
            server.cmd(write);
            let dump = |key: &str| -> Reply { server.cmd(&["DUMP", key]) };
            let before = dump(&key);
            let mut refused = 0;
            let mut all = verbs(&queue).await;
            if part == "seen" {
                queue.purge().await.expect("purge");
                all.push(("wait", queue.take_timeout(Duration::from_secs(1)).await.map(drop)));
            }
            for (verb, said) in all {
                match said {
                    Ok(()) => {}
                    Err(error) => {
                        assert_eq!(error.kind(), ErrorKind::WrongType, "{part}, {}, {verb}: {error}", write[0]);
                        assert!(!error.message().contains("script"), "{error}");
                        refused += 1;
                    }
                }
                assert_eq!(dump(&key), before, "{part}, {}: {verb} has touched it", write[0]);
            }
            assert!(refused > 0, "{part}, {}: nobody noticed", write[0]);
            // A put that failed has put nothing: the places agree.
            let of = |command: &str, part: &str| server.cmd(&[command, &format!("dlock_queue_{part}:{{mails}}")]);
            let count = |command, part| match of(command, part) {
                Reply::Int(count) => Some(count),
                _ => None,
            };
            let counts = [count("HLEN", "all"), count("ZCARD", "due")];
            let mut known = counts.into_iter().flatten();
            let first = known.next().unwrap_or(0);
            assert!(known.all(|count| count == first), "{part}, {}: half a put: {counts:?}", write[0]);
        }
    }
}
