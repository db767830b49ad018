//! Consumers work on several jobs at a time, back off, and stop with nothing lost.

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use futures_core::Stream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::super::ConsumeOptions;
use super::*;
use crate::error::Result;

/// A consumer in a task, and what stops it.
fn consumes<W>(
    queue: &Queue,
    options: ConsumeOptions,
    work: impl Fn(Arc<Delivery>) -> W + Send + Sync + 'static,
) -> (oneshot::Sender<()>, JoinHandle<Result<()>>)
where
    W: Future<Output = std::result::Result<(), String>> + Send + 'static,
{
    let (stop, stopped) = oneshot::channel();
    let queue = queue.clone();
    let stopped = async move { drop(stopped.await) };
    (stop, tokio::spawn(async move { queue.consume(options, stopped, work).await }))
}

async fn until(what: &'static str, mut is_so: impl FnMut() -> bool) {
    soon(what, async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_consumer_works_on_so_many_at_a_time() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put_many((0..40).map(|at| NewJob::new("x").id(at.to_string()))).await.unwrap();
        let (now, most, done) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(BTreeSet::new())));
        let (its_most, its_done) = (most.clone(), done.clone());
        let (stop, consumer) = consumes(queue, ConsumeOptions::default().concurrency(4), move |delivery| {
            let (now, most, done) = (now.clone(), its_most.clone(), its_done.clone());
            async move {
                most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                // The first ones wait for one another.
                while most.load(Ordering::SeqCst) < 4 {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                assert!(done.lock().unwrap().insert(delivery.id().to_owned()), "it was done twice");
                Ok(())
            }
        });
        until("all are done", || done.lock().unwrap().len() == 40).await;
        drop(stop);
        soon("it stops", consumer).await.unwrap().unwrap();
        assert_eq!(most.load(Ordering::SeqCst), 4);
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.in_flight, counts.dead), (0, 0, 0));
    }
}

#[tokio::test]
async fn failed_and_panicked_work_is_put_back_and_dead_in_the_end() {
    for place in Place::both() {
        let queue = place.client().await.queue_with("mails", QueueOptions::default().max_attempts(3)).unwrap();
        queue.put(NewJob::new("fails").id("fails")).await.unwrap();
        queue.put(NewJob::new("panics").id("panics")).await.unwrap();
        let attempts = Arc::new(Mutex::new(Vec::new()));
        let seen = attempts.clone();
        let options = ConsumeOptions::default().concurrency(2).backoff(SECOND / 50, SECOND / 20);
        let (stop, consumer) = consumes(&queue, options, move |delivery| {
            seen.lock().unwrap().push((delivery.id().to_owned(), delivery.attempt()));
            async move {
                assert!(delivery.payload() == b"fails", "no such mail");
                Err("no route".to_owned())
            }
        });
        let mut dead = Vec::new();
        soon("both are dead", async {
            while dead.len() < 2 {
                dead = queue.dead(10).await.unwrap();
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        drop(stop);
        soon("it stops", consumer).await.unwrap().unwrap();
        let mut why: Vec<_> = dead.into_iter().map(|job| (job.id, job.dead.unwrap().1)).collect();
        why.sort();
        let expected = [("fails", "no route"), ("panics", "its work panicked")];
        assert_eq!(why, expected.map(|(id, why)| (id.to_owned(), why.to_owned())));
        let mut attempts = attempts.lock().unwrap().clone();
        attempts.sort();
        let expected = ["fails", "panics"].into_iter().flat_map(|id| (1..=3).map(move |n| (id.to_owned(), n)));
        assert_eq!(attempts, expected.collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn a_stopped_consumer_finishes_or_gives_back() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put_many(["quick", "endless", "not taken"].map(|id| NewJob::new(id).id(id))).await.unwrap();
        let begun = Arc::new(AtomicUsize::new(0));
        let its_begun = begun.clone();
        let options = ConsumeOptions::default().concurrency(2).grace(SECOND / 2);
        let (stop, consumer) = consumes(queue, options, move |delivery| {
            its_begun.fetch_add(1, Ordering::SeqCst);
            async move {
                let takes = if delivery.id() == "quick" { SECOND / 10 } else { 3_600 * SECOND };
                tokio::time::sleep(takes).await;
                Ok(())
            }
        });
        until("two are begun", || begun.load(Ordering::SeqCst) == 2).await;
        drop(stop);
        soon("it stops", consumer).await.unwrap().unwrap();
        let mut left = Vec::new();
        for _ in 0..2 {
            let delivery = soon("it went back", queue.take()).await.unwrap();
            left.push(delivery.id().to_owned());
            delivery.ack().await.unwrap();
        }
        left.sort();
        assert_eq!(left, ["endless", "not taken"]);
        assert_eq!(begun.load(Ordering::SeqCst), 2, "it took no more");
    }
}

#[tokio::test]
async fn the_stream_has_each_job_and_ends_with_its_client() {
    let client = Place::memory().client().await;
    let queue = client.queue("mails").unwrap();
    queue.put_many(["1", "2"]).await.unwrap();
    let mut deliveries = queue.deliveries();
    let mut next = async || std::future::poll_fn(|context| Pin::new(&mut deliveries).poll_next(context)).await;
    for payload in [b"1", b"2"] {
        let delivery = soon("a job comes", next()).await.unwrap().unwrap();
        assert_eq!(delivery.payload(), payload);
        delivery.ack().await.unwrap();
    }
    client.close().await;
    assert!(soon("it ends", next()).await.is_none());
}
