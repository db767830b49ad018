//! Takers wait in line, and for the time at which a job is due.

use std::time::Instant;

use super::*;

#[tokio::test]
async fn a_put_wakes_a_taker_of_another_process() {
    for place in Place::both() {
        let queues = place.queues(2).await;
        let taker = takes(&queues[1]);
        waiting(&queues[1], 1).await;
        let put = Instant::now();
        queues[0].put("x").await.unwrap();
        let delivery = soon("the job is taken", taker).await.unwrap();
        // A poll would come after 800 ms.
        assert!(put.elapsed() < SECOND / 2, "{:?}", put.elapsed());
        delivery.ack().await.unwrap();
    }
}

#[tokio::test]
async fn a_taker_sleeps_until_a_job_is_due() {
    for place in Place::both() {
        let queues = place.queues(2).await;
        let put = Instant::now();
        queues[0].put(NewJob::new("x").delay(SECOND / 2)).await.unwrap();
        let taker = takes(&queues[1]);
        let delivery = soon("the job is due", taker).await.unwrap();
        let took = put.elapsed();
        assert!((SECOND / 2..SECOND / 2 + SECOND / 4).contains(&took), "{took:?}");
        delivery.ack().await.unwrap();
    }
}

#[tokio::test]
async fn an_earlier_job_wakes_the_head() {
    for place in Place::both() {
        let queues = place.queues(2).await;
        queues[0].put(NewJob::new("late").delay(60 * SECOND)).await.unwrap();
        let taker = takes(&queues[1]);
        waiting(&queues[1], 1).await;
        tokio::time::sleep(SECOND / 10).await;
        let put = Instant::now();
        queues[0].put(NewJob::new("soon").delay(SECOND / 5)).await.unwrap();
        let delivery = soon("the job is due", taker).await.unwrap();
        let took = put.elapsed();
        assert!(delivery.payload() == b"soon" && (SECOND / 5..SECOND / 2).contains(&took), "{took:?}");
        delivery.ack().await.unwrap();
    }
}

/// Heads are told when a job is due, and ask at that time only.
#[tokio::test]
async fn a_head_that_waits_for_its_time_asks_once() {
    let place = Place::server();
    let queues = place.queues(3).await;
    queues[0].put(NewJob::new("much later").delay(600 * SECOND)).await.unwrap();
    let mut takers = Vec::new();
    for queue in &queues[1..] {
        takers.push(takes(queue));
        soon("it has a place", async { while queues[0].counts().await.unwrap().waiters < takers.len() as u64 {} })
            .await;
    }
    let before = place.scripts();
    queues[0].put_many([1, 2].map(|at| NewJob::new("x").delay(at * SECOND / 4))).await.unwrap();
    let mut held = Vec::new();
    for taker in takers {
        held.push(soon("its job is due", taker).await.unwrap());
    }
    // The put, and a take each.
    assert_eq!(place.scripts() - before, 3);
}

/// Ten jobs that are due at one time, for takers of five processes.
#[tokio::test]
async fn jobs_that_are_due_together_go_to_all_that_wait() {
    for place in Place::both() {
        let queues = place.queues(5).await;
        let takers: Vec<_> = queues.iter().flat_map(|queue| [takes(queue), takes(queue)]).collect();
        for queue in &queues {
            waiting(queue, 2).await;
        }
        let put = Instant::now();
        queues[0].put_many((0..10).map(|_| NewJob::new("x").delay(SECOND / 2))).await.unwrap();
        let mut tokens = Vec::new();
        for taker in takers {
            let delivery = soon("a job is taken", taker).await.unwrap();
            tokens.push(delivery.token());
            delivery.ack().await.unwrap();
        }
        assert!(put.elapsed() < SECOND, "{:?}", put.elapsed());
        tokens.sort_unstable();
        tokens.dedup();
        assert_eq!(tokens.len(), 10);
    }
}

#[tokio::test]
async fn a_taker_that_gives_up_takes_nothing() {
    for place in Place::both() {
        let queues = place.queues(2).await;
        assert!(queues[0].take_timeout(SECOND / 10).await.unwrap().is_none());
        let taker = takes(&queues[0]);
        waiting(&queues[0], 1).await;
        taker.abort();
        assert!(taker.await.unwrap_err().is_cancelled());
        queues[1].put("x").await.unwrap();
        let delivery = soon("the other takes it", queues[1].take()).await.unwrap();
        assert_eq!(delivery.attempt(), 1, "an unseen delivery does not count");
        delivery.ack().await.unwrap();
    }
}

#[tokio::test]
async fn closing_ends_waits_and_deliveries() {
    for place in Place::both() {
        let client = place.client().await;
        let queue = client.queue("mails").unwrap();
        queue.put("x").await.unwrap();
        let delivery = queue.take().await.unwrap();
        let waiter = queue.clone();
        let waits = tokio::spawn(async move { waiter.take().await.map(|delivery| delivery.id().to_owned()) });
        waiting(&queue, 1).await;
        client.close_releasing().await.unwrap();
        assert_eq!(soon("the wait ends", waits).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
        assert!(!delivery.is_valid());
        let other = &place.queues(1).await[0];
        let again = soon("it went back", other.take()).await.unwrap();
        assert_eq!(again.attempt(), 1);
    }
    assert!(SOON > SECOND);
}
