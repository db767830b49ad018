//! A delayed queue whose workers are killed or stand still, whose answers are lost, and whose server is full or has its clock set.

use std::time::{Duration, Instant};

use libdlock::lease::Lease;
use libdlock::queue::{NewJob, QueueOptions};
use libdlock::{Client, ErrorKind, Wait};
use libdlock_faults::jobs::work;
use libdlock_faults::{Peer, SOON, bounded, client, slack, with_options, worker};
use libdlock_testkit::{Action, Proxy, Server, eventually};

const SECOND: Duration = Duration::from_secs(1);
const SECOND_US: i64 = 1_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_workers_jobs_come_again() {
    const JOBS: usize = 1_000;
    const LEASE: Duration = Duration::from_secs(2);
    let server = Server::start();
    let client = client(&server.url()).await;
    let queue = client.queue("mails").expect("a name");
    queue.put_many((0..JOBS).map(|at| NewJob::new("x").id(at.to_string()))).await.expect("put");
    let mut peer = Peer::start(worker!(), &with_options(&server.url(), "lease=2s"));
    assert_eq!(peer.ok(&format!("take-jobs mails {JOBS} 0")), [JOBS.to_string()]);
    assert!(queue.try_take().await.expect("take").is_none(), "the watchdog keeps them");
    peer.process().kill();
    let killed = Instant::now();
    let first = bounded(SOON, "a job comes again", queue.take()).await.expect("take");
    // The lease, and a poll of the head.
    assert!(killed.elapsed() < LEASE + 2 * SECOND, "{:?}", killed.elapsed());
    first.nack("the test only looked at the time").await.expect("nack");
    let done = work(&queue, JOBS).await;
    assert!(done.values().all(|attempt| (2..=3).contains(attempt)));
    let counts = queue.counts().await.expect("counts");
    assert_eq!((counts.ready, counts.delayed, counts.in_flight, counts.dead), (0, 0, 0, 0));
    assert_eq!(server.cmd(&["EXISTS", "dlock_queue_all:{mails}"]).int(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_stood_still_acknowledges_nothing() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let queue = client.queue("mails").expect("a name");
    queue.put("x").await.expect("put");
    let mut peer = Peer::start(worker!(), &with_options(&server.url(), "lease=1s"));
    peer.ok("take-jobs mails 1 0");
    peer.process().pause();
    let delivery = bounded(SOON, "the job comes again", queue.take()).await.expect("take");
    peer.process().resume();
    assert_eq!(peer.ok("ack-jobs"), ["0"], "it was lost");
    assert!(delivery.attempt() == 2 && delivery.is_valid());
    delivery.ack().await.expect("the present worker's");
}

struct Cut {
    server: Server,
    proxy: Proxy,
    client: Client,
}

impl Cut {
    /// The server knows the scripts: the faults meet the reply to EVALSHA, and not NOSCRIPT.
    async fn new() -> Cut {
        let server = Server::start();
        let proxy = Proxy::start(server.address());
        let client = client(&proxy.url()).await;
        let warm = client.queue("warm").expect("a name");
        warm.put(NewJob::new("x").id("x")).await.expect("put");
        warm.take().await.expect("take").nack("").await.expect("nack");
        warm.take().await.expect("take").ack().await.expect("ack");
        Cut { server, proxy, client }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_puts_no_job_twice() {
    let cut = Cut::new().await;
    let queue = cut.client.queue("mails").expect("a name");
    let fault = cut.proxy.on(&["EVALSHA", "mails"], Action::CutReply(0));
    let put = bounded(SOON, "the repeat", queue.put(NewJob::new("x").id("one"))).await.expect("put");
    assert!(put.is_new && fault.hits() == 1, "by its first attempt");
    assert_eq!(work(&queue, 1).await.len(), 1);

    let fault = cut.proxy.on(&["EVALSHA", "mails"], Action::CutReply(0));
    let error = bounded(SOON, "the put", queue.put("x")).await.expect_err("without an id");
    assert_eq!((error.kind(), fault.hits()), (ErrorKind::OutcomeUnknown, 1), "{error}");
    assert_eq!(cut.server.cmd(&["HLEN", "dlock_queue_all:{mails}"]).int(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_delivers_and_ends_a_job_once() {
    let cut = Cut::new().await;
    let queue = cut.client.queue("mails").expect("a name");
    queue.put_many(["1", "2"].map(|id| NewJob::new(id).id(id))).await.expect("put");
    let fault = cut.proxy.on(&["EVALSHA", "mails"], Action::CutReply(0));
    let delivery = bounded(SOON, "the repeat", queue.take()).await.expect("take");
    assert_eq!((delivery.id(), delivery.attempt(), fault.hits()), ("1", 1, 1));
    assert_eq!(queue.counts().await.expect("counts").in_flight, 1, "one job, one delivery");
    let fault = cut.proxy.on(&["EVALSHA", "mails"], Action::CutReply(0));
    bounded(SOON, "the repeat", delivery.ack()).await.expect("the first attempt has done it");
    assert_eq!(fault.hits(), 1);
    assert_eq!(work(&queue, 1).await.keys().collect::<Vec<_>>(), ["2"]);
}

/// Each answer that is lost is that to the first of two requests for all of them: what they count comes before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_answer_counts_what_was_removed_and_requeued() {
    const JOBS: u64 = 350;
    let cut = Cut::new().await;
    let warm = cut.client.queue("warm").expect("a name");
    warm.put("x").await.expect("put");
    assert_eq!(warm.purge().await.expect("purge"), 1, "the server knows the script");
    let queue = cut.client.queue_with("mails", QueueOptions::default().max_attempts(1)).expect("a name");
    let lose = || {
        let counts = cut.proxy.on(&["EVALSHA", "mails"], Action::Pass);
        (counts, cut.proxy.on(&["EVALSHA", "mails"], Action::CutReply(0)))
    };
    queue.put_many((0..JOBS).map(|at| NewJob::new("x").id(at.to_string()))).await.expect("put");
    let (_, fault) = lose();
    assert_eq!((bounded(SOON, "the repeat", queue.purge()).await.expect("purge"), fault.hits()), (JOBS, 1));

    queue.put_many((0..JOBS).map(|at| NewJob::new("x").id(at.to_string()))).await.expect("put");
    for _ in 0..4 {
        for delivery in queue.take_many(100, Wait::Try).await.expect("take") {
            delivery.nack("dead").await.expect("nack");
        }
    }
    let first = queue.dead(1).await.expect("a list").remove(0);
    // The server knows the script from here on.
    warm.requeue_dead("none").await.expect("requeue");
    let fault = cut.proxy.on(&["EVALSHA", "mails"], Action::CutReply(0));
    let requeued = bounded(SOON, "the repeat", queue.requeue_dead(&first.id)).await.expect("requeue");
    assert!(requeued && fault.hits() == 1, "by its first attempt");
    let (_, fault) = lose();
    let requeued = bounded(SOON, "the repeat", queue.requeue_all_dead()).await.expect("requeue");
    assert_eq!((requeued, fault.hits()), (JOBS - 1, 1));
    assert_eq!(queue.counts().await.expect("counts").ready, JOBS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_server_refuses_jobs_and_ends_deliveries() {
    let server = Server::options().maxmemory(0).start();
    let client = client(&server.url()).await;
    let queue = client.queue("mails").expect("a name");
    queue.put_many(["1", "2", "3"].map(|id| NewJob::new(id).id(id))).await.expect("put");
    let taken = queue.take_many(2, Wait::Try).await.expect("take");
    assert_eq!(server.cmd(&["CONFIG", "SET", "maxmemory", "1"]).text(), "OK");
    for job in [NewJob::new("x"), NewJob::new("x").id("4")] {
        let error = queue.put(job.clone()).await.expect_err("the server is full");
        assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{job:?}: {error}");
    }
    let mut taken = taken.into_iter();
    let (first, second) = (taken.next().expect("a job"), taken.next().expect("a job"));
    first.extend(60 * SECOND).await.expect("a renewal");
    first.ack().await.expect("ack");
    second.nack("not now").await.expect("nack");
    assert!(queue.cancel("3").await.expect("cancel"));
    let again = queue.try_take().await.expect("take").expect("a job is due");
    assert_eq!((again.id(), again.attempt()), ("2", 2));
    again.ack().await.expect("ack");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_loses_no_job() {
    let (server, clock) = Server::with_clock();
    let client = client(&server.url()).await;
    let lease = QueueOptions::default().lease(Lease::Fixed(60 * SECOND));
    let queue = client.queue_with("mails", lease).expect("a name");
    for (id, delay) in [("minute", 60), ("hour", 3_600)] {
        queue.put(NewJob::new(id).id(id).delay(delay * SECOND)).await.expect("put");
    }
    // Ahead by less than the delay, and by more.
    clock.offset(59 * SECOND_US - SECOND_US);
    assert!(queue.try_take().await.expect("take").is_none(), "before its time by more than the step");
    clock.offset(61 * SECOND_US);
    let delivery = queue.try_take().await.expect("take").expect("due by the server's clock");
    assert_eq!(delivery.id(), "minute");
    assert!(queue.try_take().await.expect("take").is_none(), "the other one is not due");
    // Back: nothing comes early, and nothing is lost.
    clock.offset(-3_600 * SECOND_US);
    delivery.nack("not now").await.expect("nack");
    assert!(queue.try_take().await.expect("take").is_none(), "it is due later by the step");
    queue.put(NewJob::new("now").id("now")).await.expect("put");
    assert_eq!(work(&queue, 1).await.keys().collect::<Vec<_>>(), ["now"]);
    clock.offset(3_700 * SECOND_US);
    assert_eq!(work(&queue, 2).await.len(), 2);
}

/// The head sleeps until a job is due, and not until its poll.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_taker_has_a_job_when_it_is_due() {
    let server = Server::start();
    let (producer, consumer) = (client(&server.url()).await, client(&server.url()).await);
    let (put, take) = (producer.queue("mails").expect("a name"), consumer.queue("mails").expect("a name"));
    for _ in 0..20 {
        let taking = tokio::spawn({
            let take = take.clone();
            async move { take.take().await.map(|delivery| (delivery, Instant::now())) }
        });
        let asked = Instant::now();
        put.put(NewJob::new("x").delay(SECOND / 10)).await.expect("put");
        let (delivery, at) = bounded(SOON, "it is due", taking).await.expect("no panic").expect("take");
        let late = at.duration_since(asked).checked_sub(SECOND / 10).expect("not before its time");
        assert!(late < slack(), "{late:?}");
        delivery.ack().await.expect("ack");
    }
}

/// The take had an attempt without an answer, so its owner is released once more, behind the end of the lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_that_was_seen_counts_when_it_is_lost() {
    let cut = Cut::new().await;
    let options = "lease=1s&response_timeout=300ms&operation_timeout=3s&ping_interval=200ms";
    let theirs = client(&with_options(&cut.proxy.url(), options)).await;
    let (queue, ours) = (theirs.queue("mails").expect("a name"), client(&cut.server.url()).await);
    queue.put(NewJob::new("x").id("x")).await.expect("put");
    let fault = cut.proxy.on(&["EVALSHA", "mails"], Action::CutReply(0));
    let delivery = bounded(SOON, "the repeat", queue.take()).await.expect("take");
    assert!(fault.hits() == 1 && delivery.attempt() == 1);

    cut.proxy.hold_all();
    bounded(SOON, "its lease ends", delivery.lost()).await;
    cut.proxy.reset_all();
    cut.proxy.heal();
    // No other take is there to take it back.
    let leases = || cut.server.cmd(&["ZCARD", "dlock_queue_leases:{mails}"]).int();
    eventually(SOON, "its owner is released once more", || leases() == 0);
    let again = ours.queue("mails").expect("a name");
    let again = bounded(SOON, "the job comes again", again.take()).await.expect("take");
    assert_eq!(again.attempt(), 2, "its worker has seen the first");
    delivery.ack().await.expect_err("it was lost");
}
