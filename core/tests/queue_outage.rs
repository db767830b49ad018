//! Many acknowledgements while the server does not answer: no call takes longer than one operation may.

use std::time::{Duration, Instant};

use libdlock::queue::{Delivery, Queue};
use libdlock::{Client, Wait};
use libdlock_testkit::{Proxy, Server};

/// 1.5 s, which is three times as long as one operation may take, and less than that of 5 requests one after the other.
const BOUND: Duration = Duration::from_millis(1_500);

async fn in_hand(proxy: &Proxy, count: usize) -> (Queue, Vec<Delivery>) {
    let url = format!("{}?operation_timeout=500ms&response_timeout=200ms", proxy.url());
    let queue = Client::connect(&url).await.unwrap().queue("mails").unwrap();
    queue.put_many((0..count).map(|number| number.to_string())).await.unwrap();
    let mut deliveries = Vec::new();
    while deliveries.len() < count {
        deliveries.extend(queue.take_many(100, Wait::Try).await.unwrap());
    }
    (queue, deliveries)
}

#[tokio::test]
async fn ack_many_of_500_ends_with_the_operation_timeout() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let (queue, deliveries) = in_hand(&proxy, 500).await;
    proxy.hold_all();
    let begun = Instant::now();
    let acked = queue.ack_many(deliveries).await;
    assert!(acked.len() == 500 && acked.iter().all(Result::is_err));
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn acks_that_share_requests_end_with_the_timeout() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let (_queue, deliveries) = in_hand(&proxy, 500).await;
    proxy.hold_all();
    let begun = Instant::now();
    let acks: Vec<_> = deliveries.into_iter().map(|delivery| tokio::spawn(delivery.ack())).collect();
    for ack in acks {
        assert!(ack.await.unwrap().is_err());
    }
    assert!(begun.elapsed() < BOUND, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn ack_many_of_more_than_one_request_says_of_each() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let (queue, mut deliveries) = in_hand(&proxy, 450).await;
    let ended: Vec<Delivery> = deliveries.extract_if(.., |delivery| delivery.payload().ends_with(b"7")).collect();
    let count = ended.len();
    for delivery in ended {
        delivery.ack().await.unwrap();
    }
    assert!(queue.ack_many(deliveries).await.iter().all(Result::is_ok));
    assert_eq!((count, queue.counts().await.unwrap().in_flight), (45, 0));
}
