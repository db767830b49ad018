//! Queues among whose jobs somebody else has written, or whose server says what no job is.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::queue::QueueOptions;
use libdlock::{Client, ErrorKind, Wait};
use libdlock_testkit::{Scripted, Server};

const RANK: &str = "7fff0000000000000001";

/// Numbers that would be written back in another form, or that no client can read.
#[tokio::test]
async fn a_take_of_many_with_what_is_no_job_takes_none() {
    let server = Server::start();
    let queue = Client::connect(&server.url()).await.unwrap().queue("mails").unwrap();
    for entry in [
        format!("w12 {RANK} 9007199254740993 16 0 x"),
        format!("w12 {RANK} 4294967295 16 0 x"),
        format!("w12 {RANK} 18446744073709551615 16 0 x"),
        format!("w12 {RANK} 0 99999999999 0 x"),
        format!("w99999999999999 {RANK} 0 16 0 x"),
        "w12 7fff 0 16 0 x".to_owned(),
        String::new(),
    ] {
        server.cmd(&["HSET", "dlock_queue_all:{mails}", "bad", &entry]);
        server.cmd(&["ZADD", "dlock_queue_due:{mails}", "12", &format!("{RANK}bad")]);
        queue.put_many(["a", "b"]).await.unwrap();
        for _ in 0..2 {
            let error = queue.take_many(10, Wait::Try).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongType, "{entry:?}: {error}");
            let error = queue.try_take().await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WrongType, "{entry:?}: {error}");
        }
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.in_flight), (3, 0), "{entry:?}");
        assert_eq!(queue.purge().await.unwrap(), 3);
    }
}

#[tokio::test]
async fn what_comes_with_no_job_goes_back() {
    let released = Arc::new(Mutex::new(Vec::new()));
    let seen = released.clone();
    let server = Scripted::start(move |words| {
        if !words[0].to_ascii_uppercase().starts_with("EVAL") {
            return None;
        }
        // A put-back that does not count ends with `-1`, `1` and no reason.
        if let [.., owner, delay, undelivered, reason] = words
            && (delay.as_str(), undelivered.as_str(), reason.as_str()) == ("-1", "1", "")
        {
            seen.lock().unwrap().push(owner.clone());
            return Some("*1\r\n:1\r\n".to_owned());
        }
        let job = |token: u64, text: &str| format!("*3\r\n:{token}\r\n$1\r\na\r\n${}\r\n{text}\r\n", text.len());
        let (bad, good) = (job(1, &format!("w12 {RANK} 4294967295 16 0 x")), job(2, &format!("w12 {RANK} 0 16 0 x")));
        Some(format!("*3\r\n:0\r\n:1\r\n*2\r\n{bad}{good}"))
    });
    let queue = Client::connect(&server.url()).await.unwrap().queue("mails").unwrap();
    let error = queue.take_many(2, Wait::Try).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    let begun = Instant::now();
    while released.lock().unwrap().len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?} went back", released.lock().unwrap());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_requeue_beside_a_foreign_key_changes_nothing() {
    let server = Server::start();
    let options = QueueOptions::default().max_attempts(1);
    let queue = Client::connect(&server.url()).await.unwrap().queue_with("mails", options).unwrap();
    queue.put(libdlock::queue::NewJob::new("a").id("a")).await.unwrap();
    queue.try_take().await.unwrap().unwrap().nack("why").await.unwrap();
    server.cmd(&["SET", "dlock_queue_dead:{mails}", "foreign"]);
    let error = queue.requeue_dead("a").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WrongType);
    assert!(queue.try_take().await.unwrap().is_none(), "it is dead as before");
}
