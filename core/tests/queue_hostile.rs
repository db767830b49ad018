//! Queues whose handlers, callers and servers do what they should not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use libdlock::queue::{ConsumeOptions, Delivery, QueueOptions};
use libdlock::{Client, ErrorKind, Wait};
use libdlock_testkit::{Action, Proxy, Scripted, Server};

const SOON: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_handler_that_panics_at_once_ends_no_consumer() {
    let client = Client::connect("memory://").await.unwrap();
    let queue = client.queue("mails").unwrap();
    queue.put_many(["bad", "good"]).await.unwrap();
    let (done, stop) = tokio::sync::oneshot::channel();
    let (done, ended) = (Mutex::new(Some(done)), Arc::new(AtomicUsize::new(0)));
    let counted = ended.clone();
    let work = move |delivery: Arc<Delivery>| {
        // Before there is a future: as a payload that cannot be parsed.
        assert!(delivery.payload() == b"good" || delivery.attempt() > 1, "a bad payload");
        if counted.fetch_add(1, Ordering::SeqCst) == 1 {
            done.lock().unwrap().take().unwrap().send(()).unwrap();
        }
        async { Ok::<(), String>(()) }
    };
    let options = ConsumeOptions::default().backoff(Duration::from_millis(50), Duration::from_millis(50));
    let consuming = queue.consume(options, async { stop.await.unwrap() }, work);
    tokio::time::timeout(SOON, consuming).await.expect("both jobs were done").unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 2);
    let counts = queue.counts().await.unwrap();
    assert_eq!((counts.ready, counts.delayed, counts.in_flight, counts.dead), (0, 0, 0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_take_of_many_that_is_dropped_does_not_count() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let options = QueueOptions::default().max_attempts(1);
    let direct = Client::connect(&server.url()).await.unwrap().queue_with("mails", options).unwrap();
    let taker = Client::connect(&proxy.url()).await.unwrap().queue_with("mails", options).unwrap();
    let taking = tokio::spawn(async move { taker.take_many(3, Wait::For(Duration::from_secs(60))).await });
    while direct.counts().await.unwrap().waiters == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(100)).await;
    // The take that gets the job, and the one for more.
    let first = proxy.on(&["EVALSHA", "dlock_queue_all"], Action::Pass);
    let second = proxy.on(&["EVALSHA", "dlock_queue_all"], Action::HoldReply);
    direct.put("to: ada").await.unwrap();
    assert!(first.wait_for(1, SOON) && second.wait_for(1, SOON));
    taking.abort();
    assert!(taking.await.unwrap_err().is_cancelled());
    proxy.heal();
    let again = direct.take_timeout(SOON).await.unwrap().expect("the job comes again");
    assert_eq!(again.attempt(), 1, "nobody has seen the first delivery");
    again.ack().await.unwrap();
}

#[tokio::test]
async fn a_put_with_another_number_of_answers_is_refused() {
    for answers in ["*2\r\n:1\r\n:1\r\n", "*5\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"] {
        let server =
            Scripted::start(move |words| words[0].to_ascii_uppercase().starts_with("EVAL").then(|| answers.to_owned()));
        let queue = Client::connect(&server.url()).await.unwrap().queue("mails").unwrap();
        let error = queue.put_many(["a", "b", "c"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Server, "{error}");
    }
}

/// Numbers that are no whole ones, or too large to count on, would make ranks that no take can read.
#[tokio::test]
async fn a_last_number_of_somebody_else_poisons_no_job() {
    let server = Server::start();
    let queue = Client::connect(&server.url()).await.unwrap().queue("mails").unwrap();
    for last in ["inf", "nan", "1e300", "9007199254740992", "12345678901234567", "-inf", "text"] {
        server.cmd(&["SET", "dlock_queue_last:{mails}", last]);
        match queue.put("to: ada").await {
            Ok(_) => queue.try_take().await.expect(last).expect(last).ack().await.unwrap(),
            Err(error) => assert_eq!(error.kind(), ErrorKind::WrongType, "{last}: {error}"),
        }
        server.cmd(&["DEL", "dlock_queue_last:{mails}"]);
        queue.put("to: bob").await.unwrap();
        let delivery = queue.try_take().await.expect(last).expect(last);
        assert_eq!(delivery.payload(), b"to: bob", "{last}");
        delivery.ack().await.unwrap();
    }
}

/// What comes meanwhile is not waited for: it may never end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requeue_and_purge_end_while_jobs_come_and_die() {
    let client = Client::connect("memory://").await.unwrap();
    let queue = client.queue_with("mails", QueueOptions::default().max_attempts(1)).unwrap();
    queue.put_many((0..300).map(|number| number.to_string())).await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let consuming = tokio::spawn({
        let queue = queue.clone();
        async move {
            let work = |_: Arc<Delivery>| async { Err::<(), _>("it is down") };
            queue.consume(ConsumeOptions::default().concurrency(8), async { drop(stopped.await) }, work).await
        }
    });
    while queue.counts().await.unwrap().dead < 300 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    for _ in 0..20 {
        let requeued = tokio::time::timeout(SOON, queue.requeue_all_dead()).await.expect("it ends").unwrap();
        assert!(requeued <= 2 * 300, "{requeued}");
    }
    stop.send(()).unwrap();
    consuming.await.unwrap().unwrap();
    let putting = tokio::spawn({
        let queue = queue.clone();
        async move {
            loop {
                queue.put("one more").await.unwrap();
            }
        }
    });
    let purged = tokio::time::timeout(SOON, queue.purge()).await.expect("it ends").unwrap();
    putting.abort();
    assert!(purged < 100_000, "{purged}");
}

#[tokio::test]
async fn absurd_replies_neither_hang_nor_panic() {
    let replies = [
        "+OK\r\n",
        "$-1\r\n",
        "*0\r\n",
        ":1\r\n",
        "*3\r\n:1\r\n:1\r\n:0\r\n",
        ":-1\r\n",
        "*2\r\n:1\r\n:1\r\n",
        "*3\r\n:0\r\n:1\r\n*0\r\n",
        "*3\r\n:0\r\n:1\r\n*1\r\n*6\r\n:1\r\n$1\r\na\r\n$1\r\nb\r\n:-1\r\n:-1\r\n$1\r\nx\r\n",
        "*1\r\n*7\r\n$1\r\na\r\n$1\r\nb\r\n:1\r\n:9223372036854775807\r\n$1\r\nx\r\n:9223372036854775807\r\n$0\r\n\r\n",
        "*5\r\n:-1\r\n:-1\r\n:-1\r\n:-1\r\n:-1\r\n",
        "-ERR no\r\n",
    ];
    for reply in replies {
        let server =
            Scripted::start(move |words| words[0].to_ascii_uppercase().starts_with("EVAL").then(|| reply.to_owned()));
        let url = format!("{}?operation_timeout=500ms&response_timeout=300ms", server.url());
        let queue = Client::connect(&url).await.unwrap().queue("mails").unwrap();
        let calls = async {
            drop(queue.try_take().await);
            drop(queue.take_many(3, Wait::For(Duration::from_millis(50))).await);
            drop((queue.counts().await, queue.peek(5).await, queue.dead(5).await));
            drop((queue.cancel("a").await, queue.remove_dead("a").await, queue.requeue_dead("a").await));
            drop((queue.purge().await, queue.purge_dead().await, queue.requeue_all_dead().await));
            drop((queue.put("a").await, queue.put(libdlock::queue::NewJob::new("a").id("a")).await));
        };
        tokio::time::timeout(SOON, calls).await.unwrap_or_else(|_| panic!("hangs at {reply:?}"));
    }
}
