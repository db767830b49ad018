//! What a client counts of its queues.

use super::*;
use crate::stats::{Held, QueueStats};

fn counts(queue: &Queue) -> QueueStats {
    let context = queue.client();
    let deliveries = context.keeper.held::<crate::queue::Renew>();
    context.counters.snapshot(Held { deliveries, ..Held::default() }).queue
}

#[tokio::test]
async fn every_verb_is_counted_as_what_it_is() {
    for place in Place::both() {
        let client = place.client().await;
        let queue = client.queue_with("mails", QueueOptions::default().max_attempts(1).max_length(5)).unwrap();
        queue.put_many((1..=4).map(|id| NewJob::new("x").id(id.to_string()))).await.unwrap();
        queue.put_many(["4", "5"].map(|id| NewJob::new("x").id(id))).await.unwrap();
        assert_eq!(queue.put("x").await.unwrap_err().kind(), ErrorKind::Full);
        let seen = counts(&queue);
        assert_eq!((seen.put, seen.duplicates, seen.full), (5, 1, 1));

        let mut taken = queue.take_many(4, Wait::Try).await.unwrap().into_iter();
        let mut next = || taken.next().unwrap();
        let seen = counts(&queue);
        assert_eq!((seen.taken, seen.contended, seen.held, seen.wait_time.count()), (4, 0, 4, 4));
        next().ack().await.unwrap();
        next().nack("no such page").await.unwrap();
        next().nack_after(SECOND, "no such page").await.unwrap();
        drop(next());
        soon("the drop is confirmed", async {
            while counts(&queue).nacked < 3 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let seen = counts(&queue);
        assert_eq!((seen.acked, seen.nacked, seen.dead, seen.held, seen.hold_time.count()), (1, 3, 3, 0, 4));

        assert!(queue.cancel("5").await.unwrap() && !queue.cancel("5").await.unwrap());
        assert_eq!((queue.purge_dead().await.unwrap(), counts(&queue).removed), (3, 4));

        let waits = takes(&queue);
        waiting(&queue, 1).await;
        assert_eq!(counts(&queue).waiting, 1);
        queue.put("x").await.unwrap();
        soon("a job", waits).await.unwrap().ack().await.unwrap();
        let seen = counts(&queue);
        assert_eq!((seen.taken, seen.contended, seen.waiting, seen.acked), (5, 1, 0, 2));

        assert!(queue.take_timeout(SECOND / 100).await.unwrap().is_none());
        let waits = takes(&queue);
        waiting(&queue, 1).await;
        waits.abort();
        soon("the wait is given up", async {
            while counts(&queue).cancelled == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let seen = counts(&queue);
        assert_eq!((seen.wait_timeouts, seen.cancelled, seen.lost), (1, 1, 0));
    }
}

/// Not a delivery that was put back: it comes again by itself.
#[tokio::test]
async fn a_lost_delivery_is_counted_as_lost() {
    let (client, clock) = still_client().await;
    let queue = client.queue_with("mails", QueueOptions::default().lease(Lease::Fixed(SECOND))).unwrap();
    queue.put("x").await.unwrap();
    let delivery = queue.take().await.unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(delivery.ack().await.unwrap_err().kind(), ErrorKind::NotHeld);
    soon("nobody looks after it", async {
        while counts(&queue).held > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let seen = counts(&queue);
    assert_eq!((seen.taken, seen.lost, seen.acked, seen.nacked), (1, 1, 0, 0));
}
