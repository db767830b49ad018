//! What is put comes in its order, once of an id, within the bounds.

use std::time::{SystemTime, UNIX_EPOCH};

use super::*;

#[tokio::test]
async fn jobs_come_by_priority_due_time_and_arrival() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        let at = UNIX_EPOCH + 1_000 * SECOND;
        let job = |id: &str, at: SystemTime, priority| NewJob::new(id).id(id).at(at).priority(priority);
        queue
            .put_many([
                job("later", at + SECOND, 0),
                job("first of equals", at, 0),
                job("second of equals", at, 0),
                job("a ms earlier", at - SECOND / 1_000, 0),
                job("least and earliest", at - 2 * SECOND, i16::MIN),
                job("low", at - SECOND, -1),
                job("most and latest", at + 2 * SECOND, i16::MAX),
                job("high", at + SECOND, 1),
                job("early", at - SECOND, 0),
            ])
            .await
            .unwrap();
        let mut expected = vec!["most and latest", "high", "early", "a ms earlier", "first of equals"];
        expected.extend(["second of equals", "later", "low", "least and earliest"]);
        let listed: Vec<String> = queue.peek(9).await.unwrap().into_iter().map(|job| job.id).collect();
        assert_eq!(listed, expected);
        assert_eq!(ids(queue).await, expected);
    }
}

/// One that was put as early as the others, and one that came later but is due before.
#[tokio::test]
async fn a_job_that_becomes_due_comes_before_those_of_lower_priority() {
    for place in Place::both() {
        let queue = &place.queues(1).await[0];
        let usual = |at: usize| NewJob::new("usual").id(at.to_string());
        queue.put_many((0..300).map(usual)).await.unwrap();
        let delays = [(40, 1, "second"), (60, 2, "first"), (20, 1, "urgent")];
        let urgent = |(ms, priority, id): (u64, i16, &str)| {
            NewJob::new(id).id(id).delay(Duration::from_millis(ms)).priority(priority)
        };
        queue.put_many(delays.map(urgent)).await.unwrap();
        soon("all are due", async {
            while queue.counts().await.unwrap().delayed > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
        .await;
        let listed: Vec<String> = queue.peek(4).await.unwrap().into_iter().map(|job| job.id).collect();
        assert_eq!(listed, ["first", "urgent", "second", "0"]);
        for id in ["first", "urgent", "second", "0", "1"] {
            let delivery = queue.take().await.unwrap();
            assert_eq!(delivery.id(), id);
            delivery.ack().await.unwrap();
        }
    }
}

/// It keeps its priority, and has the due time that the put-back gives it.
#[tokio::test]
async fn what_is_put_back_has_its_place_by_priority() {
    for place in Place::both() {
        let queue = place.client().await.queue_with("mails", QueueOptions::default().max_attempts(2)).unwrap();
        let job = |id: &str, priority| NewJob::new(id).id(id).priority(priority);
        queue.put_many([job("high", 1), job("a", 0), job("b", 0), job("low", -1)]).await.unwrap();
        let taken = queue.take_many(4, Wait::Try).await.unwrap();
        // "low" keeps its due time, and "a" gets a later one than "b".
        for delivery in taken {
            match delivery.id() {
                "high" | "a" => delivery.nack_after(Duration::ZERO, "later").await.unwrap(),
                _ => delivery.nack("at its place").await.unwrap(),
            }
        }
        soon("all are due", async {
            while queue.counts().await.unwrap().ready < 4 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let mut order = Vec::new();
        while let Some(delivery) = queue.try_take().await.unwrap() {
            order.push(delivery.id().to_owned());
            delivery.nack("dead").await.unwrap();
        }
        assert_eq!(order, ["high", "b", "a", "low"]);
        // A requeue gives all of them the same due time.
        assert_eq!(queue.requeue_all_dead().await.unwrap(), 4);
        let order = ids(&queue).await;
        assert_eq!((order[0].as_str(), order[3].as_str()), ("high", "low"), "{order:?}");
    }
}

/// The rank of an older build has decimal digits behind the priority, and the score of every job is its due time.
#[tokio::test]
async fn a_fleet_may_have_builds_from_before_precedence() {
    for place in Place::both() {
        let Some(server) = &place.server else { continue };
        let queue = &place.queues(1).await[0];
        for (id, due, rank) in [
            ("theirs, later", "2000", "7fff1795900000000001"),
            ("theirs, low", "1000", "80001795900000000002"),
            ("theirs", "1000", "7fff1795900000000003"),
        ] {
            server.cmd(&["HSET", "dlock_queue_all:{mails}", id, &format!("w{due} {rank} 0 16 0 x")]);
            server.cmd(&["ZADD", "dlock_queue_due:{mails}", due, &format!("{rank}{id}")]);
        }
        queue.put(NewJob::new("x").id("ours").at(UNIX_EPOCH + SECOND)).await.unwrap();
        queue.put(NewJob::new("x").id("ours, high").priority(1)).await.unwrap();
        queue.put(NewJob::new("x").id("ours, tomorrow").delay(86_400 * SECOND).priority(2)).await.unwrap();
        // An older build takes the first member, unless its score is in the future, and cuts 20 digits off.
        let first = server.cmd(&["ZRANGE", "dlock_queue_due:{mails}", "0", "0", "WITHSCORES"]);
        let (member, score) = (first.array()[0].text(), first.array()[1].text().parse::<i64>().unwrap());
        assert!(
            score < 0 && &member[20..] == "ours, high" && member[..20].chars().all(|digit| digit.is_ascii_hexdigit())
        );
        assert!(queue.cancel("theirs, later").await.unwrap());
        assert_eq!(ids(queue).await, ["ours, high", "theirs", "ours", "theirs, low"]);
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
