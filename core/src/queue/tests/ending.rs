//! How deliveries end: done, put back, lost, dead.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use super::*;

fn fixed(lease: Duration) -> QueueOptions {
    QueueOptions::default().lease(Lease::Fixed(lease))
}

#[tokio::test]
async fn a_lost_delivery_comes_again_and_its_ack_is_refused() {
    let (client, clock) = still_client().await;
    let queue = client.queue_with("mails", fixed(10 * SECOND)).unwrap();
    queue.put("x").await.unwrap();
    let lost = queue.take().await.unwrap();
    clock.advance(9 * SECOND);
    assert!(queue.try_take().await.unwrap().is_none() && lost.is_valid());
    clock.advance(2 * SECOND);
    assert_eq!(soon("the loss", lost.lost()).await, Some(LossReason::Expired));
    let again = queue.take().await.unwrap();
    assert!(again.attempt() == 2 && again.token() > lost.token() && again.id() == lost.id());
    assert_eq!(lost.ack().await.unwrap_err().kind(), ErrorKind::NotHeld);
    again.ack().await.unwrap();
    assert!(queue.try_take().await.unwrap().is_none());
}

/// Between the end of its validity and that of its lease on the server, which the margin is for, its worker puts it back.
#[tokio::test]
async fn a_lost_delivery_counts_whoever_puts_it_back() {
    let (client, clock) = still_client().await;
    let queue = client.queue_with("mails", fixed(10 * SECOND).max_attempts(4)).unwrap();
    queue.put("x").await.unwrap();
    for attempt in 1..=3 {
        let lost = soon("it comes again", queue.take()).await.unwrap();
        assert_eq!(lost.attempt(), attempt);
        clock.advance(10 * SECOND - SECOND / 20);
        match attempt {
            1 => assert_eq!(lost.ack().await.unwrap_err().kind(), ErrorKind::NotHeld),
            2 => assert_eq!(lost.nack("late").await.unwrap_err().kind(), ErrorKind::NotHeld),
            _ => drop(lost),
        }
    }
    let last = soon("it comes again", queue.take()).await.unwrap();
    clock.advance(10 * SECOND - SECOND / 20);
    assert_eq!(last.ack().await.unwrap_err().kind(), ErrorKind::NotHeld);
    soon("it is dead", async {
        while queue.counts().await.unwrap().dead == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!(queue.dead(1).await.unwrap()[0].dead.as_ref().unwrap().1, "its lease ran out");
}

#[tokio::test]
async fn the_watchdog_keeps_a_delivery_over_many_leases() {
    let (client, clock) = still_client().await;
    let queue = client.queue_with("mails", QueueOptions::default().watchdog_lease(3 * SECOND)).unwrap();
    queue.put("x").await.unwrap();
    let delivery = queue.take().await.unwrap();
    for _ in 0..30 {
        clock.advance(SECOND / 2);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert!(delivery.is_valid() && queue.try_take().await.unwrap().is_none());
    delivery.ack().await.unwrap();
}

#[tokio::test]
async fn what_is_put_back_keeps_its_place_or_waits() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put_many([NewJob::new("1").id("1"), NewJob::new("2").id("2")]).await.unwrap();
        queue.take().await.unwrap().nack("not now").await.unwrap();
        let first = queue.take().await.unwrap();
        assert_eq!((first.id(), first.attempt()), ("1", 2));
        let asked = std::time::Instant::now();
        first.nack_after(SECOND / 4, "later").await.unwrap();
        let second = queue.take().await.unwrap();
        assert_eq!(second.id(), "2");
        let first = soon("the job is due", queue.take()).await.unwrap();
        assert!(first.id() == "1" && asked.elapsed() >= SECOND / 4, "{:?}", asked.elapsed());
    }
}

#[tokio::test]
async fn many_acknowledgements_are_few_requests() {
    for place in Place::both() {
        let [queue, other] = &place.queues(2).await[..] else { panic!("two queues") };
        queue.put_many(["x"; 250]).await.unwrap();
        let mut deliveries = Vec::new();
        while deliveries.len() < 250 {
            deliveries.extend(queue.take_many(100, Wait::Try).await.unwrap());
        }
        // What another client has is refused, and nothing else is acknowledged.
        other.put("theirs").await.unwrap();
        let theirs = other.take().await.unwrap();
        for refused in queue.ack_each(&[&deliveries[0], &theirs]).await {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::InvalidArgument);
        }
        theirs.ack().await.unwrap();
        deliveries[7].ack_shared().await.unwrap();
        let before = place.scripts();
        let acked = queue.ack_many(deliveries).await;
        assert!(place.scripts() - before <= 3, "a request for each 100");
        let failed: Vec<_> = acked.iter().enumerate().filter(|(_, acked)| acked.is_err()).collect();
        assert!(matches!(failed[..], [(7, Err(error))] if error.kind() == ErrorKind::NotHeld), "{failed:?}");
        let counts = queue.counts().await.unwrap();
        assert_eq!((acked.len(), counts.ready, counts.in_flight), (250, 0, 0));
        assert!(queue.ack_many([]).await.is_empty());
    }
}

#[tokio::test]
async fn of_many_acknowledged_one_that_was_lost_is_told() {
    let (client, clock) = still_client().await;
    let queue = client.queue_with("mails", QueueOptions::default().lease(Lease::Fixed(SECOND))).unwrap();
    queue.put("lost").await.unwrap();
    let lost = queue.take().await.unwrap();
    clock.advance(2 * SECOND);
    queue.put("kept").await.unwrap();
    let again = queue.take_many(2, Wait::Try).await.unwrap();
    let deliveries = [lost].into_iter().chain(again);
    let acked: Vec<_> = queue.ack_many(deliveries).await.iter().map(|acked| acked.is_ok()).collect();
    assert_eq!(acked, [false, true, true]);
}

#[tokio::test]
async fn a_dropped_delivery_goes_back() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put("x").await.unwrap();
        drop(queue.take().await.unwrap());
        let again = soon("it comes again", queue.take()).await.unwrap();
        assert_eq!(again.attempt(), 2);
    }
}

#[tokio::test]
async fn a_job_that_is_never_done_is_dead() {
    for place in Place::both() {
        let queue = place.client().await.queue_with("mails", QueueOptions::default().max_attempts(2)).unwrap();
        queue.put("x").await.unwrap();
        for _ in 0..2 {
            queue.take().await.unwrap().nack("no such page").await.unwrap();
        }
        assert!(queue.try_take().await.unwrap().is_none());
        let dead = queue.dead(10).await.unwrap();
        assert_eq!((dead.len(), dead[0].attempts, dead[0].payload.as_slice()), (1, 2, b"x".as_slice()));
        assert_eq!(dead[0].dead.as_ref().unwrap().1, "no such page");
        assert!(queue.requeue_dead(&dead[0].id).await.unwrap() && !queue.requeue_dead("y").await.unwrap());
        let again = queue.take().await.unwrap();
        assert_eq!(again.attempt(), 1);
        again.nack("").await.unwrap();
        queue.take().await.unwrap().nack("").await.unwrap();
        assert_eq!((queue.requeue_all_dead().await.unwrap(), queue.purge_dead().await.unwrap()), (1, 0));
    }
}

#[tokio::test]
async fn what_waits_is_cancelled_counted_and_purged() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put_many((0..500).map(|_| NewJob::new("x").delay(60 * SECOND))).await.unwrap();
        queue.put_many(["a", "b"].map(|id| NewJob::new(id).id(id))).await.unwrap();
        let delivery = queue.take().await.unwrap();
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.delayed, counts.in_flight, counts.dead), (1, 500, 1, 0));
        assert_eq!(queue.peek(2).await.unwrap().iter().map(|job| job.id.len()).collect::<Vec<_>>(), [1, 32]);
        assert_eq!(queue.cancel("a").await.unwrap_err().kind(), ErrorKind::NotHeld);
        assert!(queue.cancel("b").await.unwrap() && !queue.cancel("b").await.unwrap());
        assert_eq!(queue.purge().await.unwrap(), 500);
        delivery.ack().await.unwrap();
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.ready, counts.delayed, counts.in_flight, counts.dead), (0, 0, 0, 0));
    }
}

#[tokio::test]
async fn a_second_end_of_a_delivery_is_refused() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put("x").await.unwrap();
        let delivery = queue.take().await.unwrap();
        let token = delivery.token();
        delivery.ack().await.unwrap();
        assert!(queue.shared.take_back(token).is_none() && queue.try_take().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn acks_at_the_same_time_share_a_request() {
    let place = Place::server();
    let queue = &place.queues(1).await[0];
    queue.put_many(["x"; 250]).await.unwrap();
    let mut deliveries = Vec::new();
    while deliveries.len() < 250 {
        deliveries.extend(queue.take_many(100, Wait::Try).await.unwrap());
    }
    // One of them is over by itself: the others are not concerned.
    let gone = deliveries.pop().unwrap();
    let server = place.server.as_ref().unwrap();
    server.cmd(&["HDEL", "dlock_queue_held:{mails}", gone.grant().owner()]);
    let requests = || server.info("commandstats", "cmdstat_evalsha:calls");
    let before = requests();
    let acks: Vec<_> = deliveries.into_iter().map(|delivery| tokio::spawn(delivery.ack())).collect();
    let refused = tokio::spawn(gone.ack());
    for ack in acks {
        soon("it is acknowledged", ack).await.unwrap().unwrap();
    }
    assert_eq!(soon("it is refused", refused).await.unwrap().unwrap_err().kind(), ErrorKind::NotHeld);
    assert_eq!(requests() - before, 3, "250 of them, 100 in each");
    assert_eq!(queue.counts().await.unwrap().in_flight, 1, "what became of that one's lease");
}

#[tokio::test]
async fn an_ack_whose_caller_is_gone_is_carried_out() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put_many(["x"; 3]).await.unwrap();
        let mut deliveries = queue.take_many(3, Wait::Try).await.unwrap();
        // The first asks for all.
        let last = deliveries.pop().unwrap();
        for delivery in deliveries {
            assert!(!dropped_after(1, delivery.ack()).await);
        }
        soon("it is acknowledged", last.ack()).await.unwrap();
        soon("all are", async {
            while queue.counts().await.unwrap().in_flight > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        assert!(queue.try_take().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn an_ack_that_is_not_polled_holds_up_no_other() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put_many(["x"; 3]).await.unwrap();
        let mut deliveries = queue.take_many(3, Wait::Try).await.unwrap();
        let mut first = pin!(deliveries.pop().unwrap().ack());
        poll_fn(|context| {
            assert!(first.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        soon("the other is acknowledged", deliveries.pop().unwrap().ack()).await.unwrap();
        soon("it is acknowledged", first).await.unwrap();
        assert_eq!(queue.counts().await.unwrap().in_flight, 1);
    }
}
