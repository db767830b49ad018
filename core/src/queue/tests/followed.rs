//! Takes from several queues in an order.

use super::*;
use crate::error::Result;

/// Two queues of one client, and the first followed by the second.
async fn urgent_and_usual(place: &Place) -> (Queue, Queue, Queue) {
    let client = place.client().await;
    let (urgent, usual) = (client.queue("urgent").unwrap(), client.queue("usual").unwrap());
    let both = urgent.followed_by(&usual);
    (urgent, usual, both)
}

#[tokio::test]
async fn a_queue_that_follows_gives_jobs_while_the_first_has_none() {
    for place in Place::both() {
        let (urgent, usual, both) = urgent_and_usual(&place).await;
        usual.put_many(["3", "4", "5", "6"]).await.unwrap();
        urgent.put_many(["1", "2"]).await.unwrap();
        let mut seen = Vec::new();
        let one = both.take().await.unwrap();
        seen.push((one.queue().to_owned(), one.payload().to_vec()));
        let others = both.take_many(3, Wait::Try).await.unwrap();
        seen.extend(others.iter().map(|each| (each.queue().to_owned(), each.payload().to_vec())));
        let expected = [("urgent", "1"), ("urgent", "2"), ("usual", "3"), ("usual", "4")];
        let expected = expected.map(|(queue, payload)| (queue.to_owned(), payload.as_bytes().to_vec()));
        assert_eq!(seen, expected);
        let acked = both.ack_many([one].into_iter().chain(others)).await;
        assert!(acked.len() == 4 && acked.iter().all(Result::is_ok), "{acked:?}");
        let stranger = place.client().await.queue("other").unwrap();
        stranger.put("x").await.unwrap();
        let (theirs, ours) = (stranger.take().await.unwrap(), both.take().await.unwrap());
        let refused = both.ack_many([ours, theirs]).await;
        assert!(refused.iter().all(|each| each.as_ref().unwrap_err().kind() == ErrorKind::InvalidArgument));
        soon("both went back", async {
            while usual.counts().await.unwrap().ready < 2 || stranger.counts().await.unwrap().ready < 1 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        assert_eq!(urgent.counts().await.unwrap().in_flight, 0);
    }
}

#[tokio::test]
async fn a_take_waits_for_all_queues_and_leaves_nothing_delivered() {
    for place in Place::both() {
        let (urgent, usual, both) = urgent_and_usual(&place).await;
        for round in 0..20 {
            let taker = takes(&both);
            waiting(&urgent, 1).await;
            waiting(&usual, 1).await;
            // Both come at once, and one of them is taken.
            let (first, second) = if round % 2 == 0 { (&urgent, &usual) } else { (&usual, &urgent) };
            let (one, other) = tokio::join!(first.put("x"), second.put("x"));
            assert!(one.unwrap().is_new && other.unwrap().is_new);
            soon("a job is taken", taker).await.unwrap().ack().await.unwrap();
            let rest = soon("the other one is there", both.take()).await.unwrap();
            assert_eq!(rest.attempt(), 1, "what nobody saw does not count");
            rest.ack().await.unwrap();
        }
        assert!(both.take_timeout(SECOND / 50).await.unwrap().is_none());
        let counts = [urgent.counts().await.unwrap(), usual.counts().await.unwrap()];
        assert!(counts.iter().all(|each| (each.ready, each.in_flight, each.dead) == (0, 0, 0)), "{counts:?}");
    }
}
