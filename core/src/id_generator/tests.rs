//! What a generator of ids in blocks does, on `memory://` and on a real server.

use std::collections::BTreeSet;
use std::time::Duration;

use super::{DEFAULT_BLOCK, IdGenerator, IdGeneratorOptions, MAX_BATCH, MAX_BLOCK};
use crate::contended::place::{Place, dropped_after, settle, soon};
use crate::error::{Error, ErrorKind};
use crate::{Client, Result};

fn options(block: u64) -> IdGeneratorOptions {
    IdGeneratorOptions::default().block(block)
}

impl Place {
    /// A generator `orders` of a client of its own.
    async fn generator(&self, options: IdGeneratorOptions) -> (Client, IdGenerator) {
        let client = self.client().await;
        let ids = client.id_generator_with("orders", options).unwrap();
        (client, ids)
    }
}

fn says(error: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in {error}");
    }
}

/// The first id of the next block, as the server has it.
fn next_block(place: &Place) -> Option<String> {
    place.server.as_ref().map(|server| server.cmd(&["GET", "orders"]).text().to_owned())
}

/// Waits until the server has given out so much.
async fn fetched(place: &Place, next: &str) {
    if place.server.is_some() {
        soon("a block is fetched ahead", async {
            while next_block(place).as_deref() != Some(next) {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    }
}

#[tokio::test]
async fn ids_count_from_1_and_processes_take_blocks() {
    for place in Place::both() {
        let (_one, ours) = place.generator(options(10)).await;
        let (_two, theirs) = place.generator(options(10)).await;
        assert_eq!(ours.next_id().await.unwrap(), 1);
        assert_eq!(theirs.next_id().await.unwrap(), 11);
        assert_eq!(ours.next_ids(5).await.unwrap(), [2, 3, 4, 5, 6]);
        assert_eq!(theirs.next_ids(4).await.unwrap(), [12, 13, 14, 15]);
        assert_eq!((ours.name(), ours.block_size()), ("orders", 10));
        assert_eq!(next_block(&place).unwrap_or("21".into()), "21");
    }
}

#[tokio::test]
async fn a_block_is_fetched_when_a_fifth_is_left() {
    for place in Place::both() {
        let (_client, ids) = place.generator(options(10)).await;
        ids.next_ids(7).await.unwrap();
        settle().await;
        assert_eq!(next_block(&place).unwrap_or("11".into()), "11", "three are left");
        assert_eq!(ids.next_id().await.unwrap(), 8);
        fetched(&place, "21").await;
        // They are there, also when the server is not.
        if let Some(server) = &place.server {
            server.cmd(&["SET", "orders", "no number"]);
        }
        assert_eq!(ids.next_ids(8).await.unwrap(), (9..=16).collect::<Vec<i64>>());
    }
}

#[tokio::test]
async fn a_batch_takes_as_many_blocks_as_it_needs_at_once() {
    for place in Place::both() {
        let (_client, ids) = place.generator(options(10)).await;
        assert_eq!(ids.next_ids(25).await.unwrap(), (1..=25).collect::<Vec<i64>>());
        assert_eq!(next_block(&place).unwrap_or("31".into()), "31");
        let all = ids.next_ids(MAX_BATCH).await.unwrap();
        assert_eq!((all[0], all[MAX_BATCH - 1], all.len()), (26, MAX_BATCH as i64 + 25, MAX_BATCH));
    }
}

#[tokio::test]
async fn the_size_and_start_of_whoever_came_first_count() {
    for place in Place::both() {
        let (_one, first) = place.generator(options(3).start(-1)).await;
        let (_two, second) = place.generator(options(700).start(1_000)).await;
        assert_eq!((first.block_size(), second.block_size()), (3, 700));
        assert_eq!(first.next_ids(2).await.unwrap(), [-1, 0]);
        assert_eq!(second.next_id().await.unwrap(), 2);
        assert_eq!(second.block_size(), 3);
        // Two of one client share their ids, whatever they were made with.
        let (client, shared) = place.generator(options(9)).await;
        let other = client.id_generator("orders").unwrap();
        assert_eq!((shared.next_id().await.unwrap(), other.next_id().await.unwrap()), (5, 6));
        assert_eq!(other.block_size(), 3);
    }
}

#[tokio::test]
async fn the_last_ids_of_all_are_given_and_then_an_error() {
    for place in Place::both() {
        let start = i64::MAX - 20;
        let (_client, ids) = place.generator(options(10).start(start)).await;
        assert_eq!(ids.next_ids(20).await.unwrap(), (start..i64::MAX).collect::<Vec<i64>>());
        for _ in 0..2 {
            let error = ids.next_id().await.unwrap_err();
            says(&error, ErrorKind::Unsupported, &["used up", "9223372036854775807", "orders"]);
            assert!(!error.is_retryable());
        }
        let (_client, fresh) = place.generator(options(10)).await;
        says(&fresh.next_ids(30).await.unwrap_err(), ErrorKind::Unsupported, &["used up"]);
        assert_eq!(fresh.block_size(), 10);
    }
}

#[tokio::test]
async fn what_is_no_generator_is_left_alone() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let (client, ids) = place.generator(options(10)).await;
    let wrong = async |ids: &IdGenerator| {
        says(&ids.next_id().await.unwrap_err(), ErrorKind::WrongType, &[ids.key()]);
    };
    server.cmd(&["HSET", "orders", "field", "1"]);
    wrong(&ids).await;
    for value in ["many", "007", "9223372036854775808", ""] {
        server.cmd(&["SET", "orders", value]);
        wrong(&ids).await;
        assert_eq!(next_block(&place).unwrap(), value);
    }
    server.cmd(&["SET", "orders", "5"]);
    for value in ["0", "-3", "1.5"] {
        server.cmd(&["SET", "{orders}:allocation", value]);
        wrong(&ids).await;
    }
    server.cmd(&["DEL", "{orders}:allocation"]);
    assert_eq!(ids.next_id().await.unwrap(), 5);
    // A lock of that name is no generator either, and the other way round.
    let held = client.lock("other").unwrap().acquire().await.unwrap();
    wrong(&client.id_generator("other").unwrap()).await;
    held.release().await.unwrap();
    let memory = Client::connect("memory://").await.unwrap();
    let _held = memory.lock("other").unwrap().acquire().await.unwrap();
    wrong(&memory.id_generator("other").unwrap()).await;
}

#[tokio::test]
async fn arguments_out_of_range_are_refused_with_value_and_range() {
    let client = Place::memory().client().await;
    for block in [0, MAX_BLOCK + 1] {
        let error = client.id_generator_with("orders", options(block)).unwrap_err();
        says(&error, ErrorKind::InvalidArgument, &[&format!("a block of {block} ids"), "1 to 9007199254740991"]);
    }
    let ids = client.id_generator("orders").unwrap();
    for count in [0, MAX_BATCH + 1] {
        let error = ids.next_ids(count).await.unwrap_err();
        says(&error, ErrorKind::InvalidArgument, &[&format!("a batch of {count}"), "1 to 1000000"]);
    }
    says(&client.id_generator("").unwrap_err(), ErrorKind::InvalidName, &["empty"]);
    assert_eq!(ids.block_size(), DEFAULT_BLOCK);
}

#[tokio::test]
async fn many_callers_share_one_fetch_and_no_id() {
    for place in Place::both() {
        let (_one, ours) = place.generator(options(7)).await;
        let (_two, theirs) = place.generator(options(7)).await;
        let callers: Vec<_> = (0..200)
            .map(|n| {
                let ids = if n % 2 == 0 { ours.clone() } else { theirs.clone() };
                tokio::spawn(async move { ids.next_ids(1 + n % 10).await })
            })
            .collect();
        let mut all = Vec::new();
        for caller in callers {
            let ids: Vec<i64> = caller.await.unwrap().unwrap();
            assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
            all.extend(ids);
        }
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        if let Some(server) = &place.server {
            // 1,100 ids are 158 blocks; without a shared fetch there would be as many requests.
            let sent = server.info("commandstats", "cmdstat_incrby:calls");
            assert!(sent < 100, "{sent} requests");
        }
    }
}

#[test]
fn threads_share_a_generator_and_no_id() {
    for place in Place::both() {
        let client = Client::blocking_connect(&place.url).unwrap();
        let ids = client.id_generator_with("orders", options(50)).unwrap();
        let all: Vec<i64> = std::thread::scope(|scope| {
            let take = || (0..2_000).map(|_| client.block_on(ids.next_id()).unwrap()).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(take)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        let different: BTreeSet<_> = all.iter().copied().collect();
        assert_eq!(different, (1..=8_000).collect(), "one process leaves no gap");
    }
}

#[tokio::test]
async fn a_dropped_call_leaves_no_duplicate_and_the_rest_works() {
    for place in Place::both() {
        let (_client, ids) = place.generator(options(2)).await;
        let mut all = Vec::new();
        for polls in 0..40 {
            dropped_after(polls % 5, ids.next_ids(3)).await;
            all.extend(soon("after a call that was dropped", ids.next_ids(3)).await.unwrap());
        }
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    }
}

#[tokio::test]
async fn a_closed_client_gives_no_id() {
    for place in Place::both() {
        let (client, ids) = place.generator(options(100)).await;
        assert_eq!(ids.next_id().await.unwrap(), 1);
        client.close().await;
        says(&ids.next_id().await.unwrap_err(), ErrorKind::Closed, &["orders"]);
        let (_client, next) = place.generator(options(100)).await;
        assert_eq!(next.next_id().await.unwrap(), 101, "the rest of the block is a gap");
    }
}

#[tokio::test]
async fn the_last_generator_of_a_name_takes_its_ids_along() {
    let place = Place::memory();
    let (client, ids) = place.generator(options(100)).await;
    let clone = ids.clone();
    assert_eq!(ids.next_id().await.unwrap(), 1);
    drop(ids);
    assert_eq!(clone.next_id().await.unwrap(), 2);
    drop(clone);
    let anew: Result<i64> = client.id_generator("orders").unwrap().next_id().await;
    assert_eq!(anew.unwrap(), 101);
}
