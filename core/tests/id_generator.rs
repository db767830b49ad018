//! Ids in blocks where replies are lost and servers go away: gaps, and never a duplicate.

use std::collections::BTreeSet;
use std::time::Duration;

use libdlock::id_generator::IdGeneratorOptions;
use libdlock::{Client, ErrorKind, IdGenerator};
use libdlock_testkit::proxy::Match;
use libdlock_testkit::{Action, Proxy, Server, Side};

fn blocks_of(client: &Client, block: u64) -> IdGenerator {
    client.id_generator_with("orders", IdGeneratorOptions::default().block(block)).unwrap()
}

/// The server knows the script from here on, so that a fault meets its real reply and not NOSCRIPT.
async fn warm(client: &Client) {
    client.id_generator("warm").unwrap().next_id().await.unwrap();
}

#[tokio::test]
async fn a_lost_reply_is_a_gap_and_no_duplicate() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = Client::connect(&proxy.url()).await.unwrap();
    warm(&client).await;
    let ids = blocks_of(&client, 10);
    let mut cuts = Vec::new();
    for round in 0..20 {
        cuts.push(proxy.on(&["EVALSHA", "orders"], Action::CutReply(round % 7)));
        // More than one block has: the next one is fetched for this call, or was fetched ahead.
        let made = ids.next_ids(11).await.unwrap();
        assert!(made.windows(2).all(|pair| pair[0] < pair[1]), "{made:?}");
        let other = Client::connect(&server.url()).await.unwrap();
        let theirs = blocks_of(&other, 10).next_id().await.unwrap();
        assert!(theirs > made[10], "{theirs} is not behind {made:?}");
    }
    let hits: u64 = cuts.iter().map(Match::hits).sum();
    assert!(hits > 10, "{hits} replies were lost");
}

#[test]
fn a_blocking_caller_whose_reply_is_lost_gets_other_ids() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = Client::blocking_connect(&proxy.url()).unwrap();
    client.block_on(warm(&client));
    let ids = blocks_of(&client, 1);
    let mut seen = BTreeSet::new();
    for _ in 0..20 {
        proxy.on(&["EVALSHA", "orders"], Action::CutReply(0));
        assert!(seen.insert(client.block_on(ids.next_id()).unwrap()));
    }
    assert!(seen.last().copied() > Some(20), "some were a gap: {seen:?}");
}

#[tokio::test]
async fn a_block_lasts_while_the_server_is_away_and_no_longer() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let url = format!("{}?response_timeout=100ms&operation_timeout=400ms", proxy.url());
    let client = Client::connect(&url).await.unwrap();
    let ids = blocks_of(&client, 10);
    assert_eq!(ids.next_ids(5).await.unwrap(), [1, 2, 3, 4, 5]);
    proxy.hold(Side::Replies);
    assert_eq!(ids.next_ids(5).await.unwrap(), [6, 7, 8, 9, 10]);
    // What was asked for may have been carried out, but gave nothing to anybody.
    let waiting = [ids.next_id(), ids.next_id(), ids.next_id()];
    for result in futures(waiting).await {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Connection, "{error}");
        assert!(error.is_retryable());
    }
    proxy.heal();
    let next = ids.next_id().await.unwrap();
    assert!(next > 10, "{next}");
    let after = ids.next_ids(30).await.unwrap();
    assert!(after[0] > next && after.windows(2).all(|pair| pair[0] < pair[1]));
}

/// All of them at once.
async fn futures<T>(each: [impl Future<Output = T>; 3]) -> [T; 3] {
    let [a, b, c] = each;
    let (a, b, c) = tokio::join!(a, b, c);
    [a, b, c]
}

#[tokio::test]
async fn a_full_server_gives_no_block_and_changes_nothing() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let ids = blocks_of(&client, 10);
    server.cmd(&["CONFIG", "SET", "maxmemory", "1"]);
    assert_eq!(ids.next_id().await.unwrap_err().kind(), ErrorKind::OutOfMemory);
    server.cmd(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(server.cmd(&["EXISTS", "orders", "{orders}:allocation"]).int(), 0);
    assert_eq!(ids.next_id().await.unwrap(), 1);
}

/// A caller that waits for the fetch of another, in time.
#[tokio::test]
async fn steady_demand_never_waits_for_the_server() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = Client::connect(&proxy.url()).await.unwrap();
    let ids = blocks_of(&client, 1_000);
    ids.next_id().await.unwrap();
    // A round trip takes 20 ms; a fifth of a block, 200 ids, is used up in 40 ms or more.
    proxy.delay(Side::Replies, Duration::from_millis(20));
    for _ in 0..500 {
        for _ in 0..10 {
            let mut next = Box::pin(ids.next_id());
            let at_once = std::future::poll_fn(|context| std::task::Poll::Ready(next.as_mut().poll(context))).await;
            assert!(at_once.is_ready(), "a caller had to wait");
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
