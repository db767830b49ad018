//! What is put comes in its order, once of an id, within the bounds.

use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

#[tokio::test]
async fn jobs_come_by_due_time_priority_and_arrival() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        let at = UNIX_EPOCH + 1_000 * SECOND;
        let job = |id: &str, at: SystemTime, priority| NewJob::new(id).id(id).at(at).priority(priority);
        queue
            .put_many([
                job("later", at + SECOND, 9),
                job("first of equals", at, 0),
                job("second of equals", at, 0),
                job("least", at, i16::MIN),
                job("most", at, i16::MAX),
                job("early", at - SECOND, -1),
            ])
            .await
            .unwrap();
        let expected = ["early", "most", "first of equals", "second of equals", "least", "later"];
        assert_eq!(ids(queue).await, expected);
    }
}

#[tokio::test]
async fn a_delivery_says_what_was_put() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        for payload in [vec![], vec![0, 255, b'\r', b'\n', 0x80], vec![7; 1 << 20]] {
            let put = queue.put(NewJob::new(payload.clone()).priority(-3)).await.unwrap();
            let delivery = queue.take().await.unwrap();
            assert!(put.is_new && delivery.id() == put.id && delivery.payload() == payload);
            assert_eq!((delivery.attempt(), delivery.priority()), (1, -3));
            assert!(delivery.is_valid() && delivery.token() > 0);
            delivery.ack().await.unwrap();
        }
    }
}

#[tokio::test]
async fn an_id_is_in_the_queue_once() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        let put = || queue.put(NewJob::new("x").id("one"));
        assert!(put().await.unwrap().is_new);
        assert!(!put().await.unwrap().is_new);
        let delivery = queue.take().await.unwrap();
        assert!(!put().await.unwrap().is_new, "it is being done");
        delivery.ack().await.unwrap();
        assert!(put().await.unwrap().is_new, "it was done");
        let put = queue.put_many([NewJob::new("a").id("two"), NewJob::new("b").id("two")]).await.unwrap();
        assert_eq!(put.iter().map(|put| put.is_new).collect::<Vec<_>>(), [true, false]);
    }
}

#[tokio::test]
async fn what_is_out_of_range_is_refused() {
    let client = Place::both()[0].client().await;
    let queue = client.queue("mails").unwrap();
    let years = 365 * 86_400 * SECOND;
    let refused = [
        NewJob::new("x").id(""),
        NewJob::new("x").id("x".repeat(513)),
        NewJob::new("x").id("a\0b"),
        NewJob::new(vec![0; (1 << 20) + 1]),
        NewJob::new("x").delay(101 * years),
        NewJob::new("x").at(UNIX_EPOCH + 301 * years),
    ];
    for job in refused {
        let error = queue.put(job).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    queue.put(NewJob::new("x").id("x".repeat(512)).delay(10 * years)).await.unwrap();
    assert_eq!(queue.take_many(0, Wait::Try).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(queue.take_many(101, Wait::Try).await.unwrap_err().kind(), ErrorKind::InvalidArgument);
    let options = QueueOptions::default().max_attempts(0);
    assert_eq!(client.queue_with("mails", options).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[tokio::test]
async fn a_full_queue_refuses() {
    for place in Place::both() {
        let queue = place.client().await.queue_with("mails", QueueOptions::default().max_length(2)).unwrap();
        queue.put("one").await.unwrap();
        let error = queue.put_many(["two", "three"]).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Full, "{error}");
        queue.put("two").await.unwrap();
        assert_eq!(queue.put("three").await.unwrap_err().kind(), ErrorKind::Full);
        queue.take().await.unwrap().ack().await.unwrap();
        queue.put("three").await.unwrap();
    }
}

/// Three takers of one process ask together, and each job is as large as a reply should be.
#[tokio::test]
async fn large_jobs_come_one_after_the_other() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        queue.put_many((0..3).map(|at| vec![at; 1 << 20])).await.unwrap();
        assert_eq!(queue.take_many(3, Wait::Try).await.unwrap().len(), 1);
        let takers = [takes(queue), takes(queue), takes(queue)];
        for taker in takers {
            soon("a job is taken", taker).await.unwrap().ack().await.unwrap();
        }
    }
}

#[tokio::test]
async fn many_are_put_and_taken_at_once() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        let put = queue.put_many((0..250).map(|at| at.to_string())).await.unwrap();
        assert!(put.len() == 250 && put.iter().all(|put| put.is_new));
        let mut seen = Vec::new();
        loop {
            let taken = queue.take_many(100, Wait::Try).await.unwrap();
            if taken.is_empty() {
                break;
            }
            for delivery in taken {
                seen.push(String::from_utf8(delivery.payload().to_vec()).unwrap());
                delivery.ack().await.unwrap();
            }
        }
        assert_eq!(seen, (0..250).map(|at| at.to_string()).collect::<Vec<_>>());
    }
}
