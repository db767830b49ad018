//! Producers and consumers of a delayed queue that are killed or stopped in the middle of their work, and a clock that is set.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use libdlock::lease::Lease;
use libdlock::queue::{NewJob, QueueOptions};
use libdlock::{ErrorKind, Wait};
use libdlock_faults::jobs::{is_whole, work};
use libdlock_faults::{Peer, SOON, bounded, client, with_options, worker};
use libdlock_testkit::{Server, eventually};

const SECOND: Duration = Duration::from_secs(1);

fn count(server: &Server, command: &str, part: &str) -> i64 {
    server.cmd(&[command, &format!("dlock_queue_{part}:{{mails}}")]).int()
}

/// Batches of 100 by requests of 100: each of them is there in whole or not at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_killed_between_batches_puts_whole_ones() {
    const BATCH: i64 = 100;
    let server = Server::start();
    let client = client(&server.url()).await;
    let queue = client.queue("mails").expect("a name");
    for round in 1..=8 {
        let mut peer = Peer::start(worker!(), &server.url());
        peer.request(&format!("put-jobs mails {round} 1000000"));
        let had = count(&server, "HLEN", "all");
        eventually(SOON, "it puts", || count(&server, "HLEN", "all") > had + BATCH);
        std::thread::sleep(Duration::from_millis(moment(round)));
        peer.process().kill();
        is_whole(&server, "");
        assert_eq!(count(&server, "HLEN", "all") % BATCH, 0, "a request puts all of its jobs or none");
    }
    let there = count(&server, "HLEN", "all") as usize;
    assert_eq!(work(&queue, there).await.len(), there);
    println!("{there} jobs of 8 producers");
    assert_eq!(server.cmd(&["EXISTS", "dlock_queue_all:{mails}"]).int(), 0);
}

/// Different moments, the same in every run.
fn moment(round: u64) -> u64 {
    round * 37 % 50
}

/// Another producer that goes on where the first one was puts each job once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_producer_has_put_is_put_once() {
    let server = Server::start();
    let client = client(&server.url()).await;
    let queue = client.queue("mails").expect("a name");
    let mut first = Peer::start(worker!(), &server.url());
    first.request("put-jobs mails 7 1000000");
    eventually(SOON, "it puts", || count(&server, "HLEN", "all") > 300);
    first.process().kill();
    let there = count(&server, "HLEN", "all");
    let mut second = Peer::start(worker!(), &server.url());
    assert_eq!(second.ok(&format!("put-jobs mails 7 {}", there + 200)), ["200"], "the others were there");
    assert_eq!(work(&queue, there as usize + 200).await.len(), there as usize + 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopped_producer_puts_the_rest_when_it_goes_on() {
    let server = Server::start();
    let mut peer = Peer::start(worker!(), &with_options(&server.url(), "response_timeout=500ms"));
    let put = peer.request("put-jobs mails 1 3000");
    eventually(SOON, "it puts", || count(&server, "HLEN", "all") > 300);
    peer.process().pause();
    std::thread::sleep(2 * SECOND);
    is_whole(&server, "");
    peer.process().resume();
    assert_eq!(peer.answer(put, SOON * 2).expect("the rest"), ["3000"]);
    assert_eq!(count(&server, "HLEN", "all"), 3_000);
    is_whole(&server, "");
}

/// Ten times a process that has deliveries is killed, and another one stopped for longer than its lease; all that they had comes
/// again, and each job is done by somebody who was told that it counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_and_stopped_consumers_lose_no_job() {
    const JOBS: usize = 400;
    let server = Server::start();
    let client = client(&with_options(&server.url(), "lease=1s")).await;
    let queue = client.queue_with("mails", QueueOptions::default().max_attempts(1_000)).expect("a name");
    queue.put_many((0..JOBS).map(|id| NewJob::new("x").id(id.to_string()))).await.expect("put");
    let url = with_options(&server.url(), "lease=1s");
    let mut stopped = Peer::start(worker!(), &url);
    let mut acked = 0;
    for _ in 0..10 {
        stopped.ok("take-jobs mails 5 0");
        stopped.process().pause();
        let mut killed = Peer::start(worker!(), &url);
        killed.ok("take-jobs mails 20 0");
        let half = killed.request("ack-jobs");
        let _ = killed.answer_within(half, Duration::from_millis(2));
        killed.process().kill();
        std::thread::sleep(SECOND + SECOND / 5);
        is_whole(&server, "");
        // Its jobs are back with the next take of anybody.
        queue.take_many(1, Wait::Try).await.expect("take").into_iter().for_each(drop);
        stopped.process().resume();
        let done: i64 = stopped.ok("ack-jobs")[0].parse().expect("a number");
        acked += done;
        is_whole(&server, "");
    }
    assert_eq!(acked, 0, "they were lost when it went on");
    let left = count(&server, "HLEN", "all") as usize;
    assert!((JOBS - 10 * 20..=JOBS).contains(&left), "{left}");
    let done: BTreeMap<String, u32> = work(&queue, left).await;
    assert_eq!(done.len(), left);
    is_whole(&server, "");
}

/// A clock that is set ahead by a step makes jobs come earlier by that step, and by no more; one that is set back makes them late.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_job_comes_earlier_than_the_clock_was_set() {
    const HOUR: Duration = Duration::from_secs(3_600);
    for step in [3 * SECOND, HOUR] {
        let (server, clock) = Server::with_clock();
        let client = client(&server.url()).await;
        let lease = QueueOptions::default().lease(Lease::Fixed(Duration::from_secs(80_000)));
        let queue = client.queue_with("mails", lease).expect("a name");
        let delays = [SECOND, step - SECOND, step + 2 * SECOND, step + 3 * SECOND];
        let put = Instant::now();
        for (at, delay) in delays.into_iter().enumerate() {
            queue.put(NewJob::new("x").id(at.to_string()).delay(delay)).await.expect("put");
        }
        let us = step.as_micros() as i64;
        clock.advance(us);
        let mut seen = Vec::new();
        for (at, delay) in delays.into_iter().enumerate() {
            let delivery = bounded(SOON, "a job", queue.take()).await.expect("take");
            assert_eq!(delivery.id(), at.to_string(), "in their order");
            let early = delay.saturating_sub(put.elapsed());
            assert!(early <= step, "{early:?} before its time by a step of {step:?}");
            seen.push(delivery);
        }
        // Back by the same: what is put now is due by the clock that is.
        clock.advance(-us);
        let put = Instant::now();
        queue.put(NewJob::new("x").id("later").delay(SECOND)).await.expect("put");
        let delivery = bounded(SOON, "a job", queue.take()).await.expect("take");
        assert!(delivery.id() == "later" && put.elapsed() >= SECOND, "{:?}", put.elapsed());
        // Ahead and back while somebody sleeps for it: late by no more than a poll.
        queue.put(NewJob::new("x").id("last").delay(2 * SECOND)).await.expect("put");
        let put = Instant::now();
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.take().await }
        });
        eventually(SOON, "it waits", || count(&server, "ZCARD", "queue") == 1);
        clock.advance(-us);
        tokio::time::sleep(SECOND / 2).await;
        clock.advance(us);
        let last = bounded(SOON, "a job", waiting).await.expect("no panic").expect("take");
        let took = put.elapsed();
        assert!((2 * SECOND..4 * SECOND).contains(&took), "{took:?}");
        for delivery in seen.into_iter().chain([delivery, last]) {
            match delivery.ack().await {
                Ok(()) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}"),
            }
        }
        is_whole(&server, "");
    }
}
