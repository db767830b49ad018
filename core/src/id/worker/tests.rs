//! What a worker number does, on `memory://` and on a real server.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use libdlock_testkit::Server;

use super::super::generator::{Leased, NumberLease, Snowflake};
use super::super::identity::Shared;
use super::super::timeline::{Machine, Timeline};
use super::{MAX_BITS, Worker, WorkerOptions};
use crate::contended::place::{Place, dropped_after, settle, soon, still_client};
use crate::error::{Error, ErrorKind, Result};
use crate::id::Layout;
use crate::lease::{HoldState, LossReason};
use crate::time::Clock;
use crate::{Client, Wait};

const D: Layout = Layout::DEFAULT;

fn bits(bits: u32) -> WorkerOptions {
    WorkerOptions::default().bits(bits)
}

fn short(lease_ms: u64) -> WorkerOptions {
    bits(1).lease(Duration::from_millis(lease_ms))
}

async fn numbers(client: &Client, count: usize) -> Vec<Worker> {
    let mut workers = Vec::new();
    for _ in 0..count {
        workers.push(client.worker_with("orders", bits(2)).await.unwrap());
    }
    workers
}

#[tokio::test]
async fn the_lowest_free_number_is_leased() {
    for place in Place::both() {
        let client = place.client().await;
        let workers = numbers(&client, 4).await;
        assert_eq!(workers.iter().map(Worker::number).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert!(workers.iter().all(Worker::is_valid));
        for at in [2, 1] {
            workers[at].release().await.unwrap();
        }
        let again = numbers(&client, 2).await;
        assert_eq!(again.iter().map(Worker::number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((again[0].pool(), again[0].bits()), ("orders", 2));
    }
}

#[tokio::test]
async fn a_pool_that_is_exhausted_says_when_the_next_may_be_free() {
    for place in Place::both() {
        let client = place.client().await;
        let workers = numbers(&client, 4).await;
        let error = client.worker_with("orders", bits(2)).await.unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::Busy, Some("orders")), "{error}");
        assert!(
            error.message().contains("all 4 numbers of 2 bits") && error.message().contains("4 are leased"),
            "{error}"
        );
        let retry = error.retry_after().unwrap();
        assert!(Duration::from_secs(20) < retry && retry <= Duration::from_secs(30), "{retry:?}");
        // More bits are another way out.
        assert_eq!(client.worker_with("orders", bits(3)).await.unwrap().number(), 4);
        drop(workers);
    }
}

#[tokio::test]
async fn what_cannot_be_is_refused() {
    let client = Client::connect("memory://").await.unwrap();
    for given in [bits(0), bits(MAX_BITS + 1), short(99), short(86_400_001)] {
        let error = client.worker_with("orders", given).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
    }
    assert_eq!(client.worker("").await.unwrap_err().kind(), ErrorKind::InvalidName);
    let worker = client.worker("orders").await.unwrap();
    let error = worker.snowflake(Layout::JS53).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("10 bits") && error.message().contains("at most 5"), "{error}");
    assert!(worker.snowflake(Layout { time_bits: 64, ..D }).is_err());
    let past = Layout { epoch_ms: 0, time_bits: 1, ..D };
    assert_eq!(worker.snowflake(past).unwrap_err().kind(), ErrorKind::Clock);
    let wide = client.worker_with("wide", bits(MAX_BITS)).await.unwrap();
    let layout = Layout { datacenter_bits: 0, worker_bits: 22, sequence_bits: 0, ..D };
    assert_eq!(wide.snowflake(layout).unwrap().next_id().map(|id| id & 0x3f_ffff).unwrap(), 0);
}

#[tokio::test]
async fn a_number_fills_the_worker_and_then_the_datacenter() {
    let client = Client::connect("memory://").await.unwrap();
    let mut workers = Vec::new();
    for _ in 0..34 {
        workers.push(client.worker("orders").await.unwrap());
    }
    let ids = workers[33].snowflake(D).unwrap();
    let parts = ids.decode(ids.next_id().unwrap()).unwrap();
    assert_eq!((parts.datacenter, parts.worker, workers[33].number()), (1, 1, 33));
    assert_eq!((ids.datacenter(), ids.worker()), (1, 1));
}

#[tokio::test]
async fn generators_of_one_worker_share_what_they_use() {
    let client = Client::connect("memory://").await.unwrap();
    let worker = client.worker("orders").await.unwrap();
    let (one, two) = (worker.snowflake(D).unwrap(), worker.clone().snowflake(D).unwrap());
    let mut last = 0;
    for ids in [&one, &two, &one, &two] {
        let batch = ids.next_ids(3_000).unwrap();
        assert!(batch[0] > last && batch.is_sorted());
        last = batch[2_999];
    }
}

#[tokio::test]
async fn a_generator_keeps_its_number_until_it_is_dropped() {
    for place in Place::both() {
        let client = place.client().await;
        let ids = client.worker_with("orders", bits(1)).await.unwrap().snowflake(D).unwrap();
        assert_eq!(client.worker_with("orders", bits(1)).await.unwrap().number(), 1);
        ids.next_id().unwrap();
        drop(ids);
        let free = async {
            while client.worker_with("orders", bits(1)).await.map_or(1, |worker| worker.number()) != 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon("it is released in the background", free).await;
    }
}

#[tokio::test]
async fn the_next_holder_begins_after_the_last() {
    for place in Place::both() {
        let (mut last, mut clients) = (0, Vec::new());
        for _ in 0..4 {
            let client = place.client().await;
            let worker = client.worker("orders").await.unwrap();
            assert_eq!(worker.number(), 0);
            let ids = worker.snowflake(D).unwrap();
            let batch = ids.next_ids(9_000).unwrap();
            assert!(batch[0] > last);
            last = batch[8_999];
            worker.release().await.unwrap();
            let error = ids.next_id().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
            assert_eq!(worker.release().await.unwrap_err().kind(), ErrorKind::NotHeld);
            assert_eq!((worker.state(), worker.lost().await), (HoldState::Released, None));
            clients.push(client);
        }
    }
}

#[tokio::test]
async fn ids_grow_whatever_the_servers_clock_is_set_to() {
    let (server, clock) = Server::with_clock();
    let (mut last, hour) = (0, 3_600_000_000);
    for offset_us in [0, -3_000, -3_000_000, -hour, hour, 0, -hour] {
        clock.offset(offset_us);
        let client = Client::connect(&server.url()).await.unwrap();
        let worker = client.worker("orders").await.unwrap();
        assert_eq!(worker.number(), 0);
        let batch = worker.snowflake(D).unwrap().next_ids(5_000).unwrap();
        assert!(batch[0] > last, "with the clock at {offset_us} us");
        last = batch[4_999];
        worker.release().await.unwrap();
    }
}

#[tokio::test]
async fn a_holder_goes_on_while_the_servers_clock_is_set_back() {
    let (server, clock) = Server::with_clock();
    let client = Client::connect(&server.url()).await.unwrap();
    let worker = client.worker_with("orders", short(400)).await.unwrap();
    let ids = worker.snowflake(D).unwrap();
    let mut last = ids.next_id().unwrap();
    for offset_us in [-3_000, -3_000_000, -3_600_000_000] {
        clock.offset(offset_us);
        // Two renewals and more.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let next = ids.next_id().unwrap();
        assert!(next > last && worker.is_valid());
        last = next;
    }
    let used = server.cmd(&["HGET", "dlock_id_pool:{orders}", "0"]).text().parse::<i64>().unwrap();
    assert!(used > D.decode(last).unwrap().time_ms, "the server has taken down how far it goes");
}

#[tokio::test]
async fn a_lease_that_is_over_makes_no_ids() {
    let (client, clock) = still_client().await;
    let worker = client.worker_with("orders", bits(1)).await.unwrap();
    let ids = worker.snowflake(D).unwrap();
    let last = ids.next_ids(10).unwrap()[9];
    // Without a renewal in between, which runs only when the tasks do: exactly at the end of validity.
    clock.advance(worker.remaining() - Duration::from_nanos(1));
    assert!(worker.is_valid() && ids.next_id().unwrap() > last);
    clock.advance(Duration::from_nanos(1));
    assert!(!worker.is_valid());
    for _ in 0..2 {
        let error = ids.next_id().unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::Lost, Some("orders")), "{error}");
        assert_eq!(worker.snowflake(D).unwrap_err().kind(), ErrorKind::Lost);
        settle().await;
    }
    assert_eq!(worker.lost_within(Wait::Try).await.unwrap(), Some(LossReason::Expired));
    // The server's lease is longer by the margin.
    assert_eq!(client.worker_with("orders", bits(1)).await.unwrap().number(), 1);
    clock.advance(Duration::from_secs(2));
    let next = client.worker_with("orders", bits(1)).await.unwrap();
    assert_eq!(next.number(), 0);
    assert!(next.snowflake(D).unwrap().next_id().unwrap() > last + (8_000 << 22));
}

#[tokio::test]
async fn a_number_that_was_taken_away_is_lost_at_the_next_renewal() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let worker = client.worker_with("orders", short(300)).await.unwrap();
    let ids = worker.snowflake(D).unwrap();
    server.cmd(&["DEL", "dlock_id_pool:{orders}"]);
    assert_eq!(soon("it is told", worker.lost()).await, Some(LossReason::Deleted));
    assert_eq!(ids.next_id().unwrap_err().kind(), ErrorKind::Lost);
    let error = worker.release().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
    assert!(client.worker("orders").await.is_ok());
}

#[tokio::test]
async fn a_client_that_closes_ends_its_numbers() {
    for place in Place::both() {
        let (one, two) = (place.client().await, place.client().await);
        let (first, second) = (one.worker("orders").await.unwrap(), one.worker("orders").await.unwrap());
        let ids = [first.snowflake(D).unwrap(), second.snowflake(D).unwrap()];
        one.close_releasing().await.unwrap();
        assert!(ids.iter().all(|ids| ids.next_id().unwrap_err().kind() == ErrorKind::Lost));
        assert_eq!(one.worker("orders").await.unwrap_err().kind(), ErrorKind::Closed);
        let third = two.worker("orders").await.unwrap();
        assert_eq!(third.number(), 0);
        two.close().await;
        assert_eq!(third.state(), HoldState::Lost(LossReason::Closed));
        // Not given back: its lease runs out.
        assert_eq!(place.client().await.worker("orders").await.unwrap().number(), 1);
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing_leased() {
    for place in Place::both() {
        let client = place.client().await;
        for polls in 0..4 {
            dropped_after(polls, client.worker("orders")).await;
        }
        let free = async {
            while client.worker("orders").await.unwrap().number() != 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon("all are given back", free).await;
    }
}

/// Another tenant has written a time that a clock of nanoseconds does not reach, or the server's clock was there.
#[tokio::test]
async fn a_time_beyond_reason_leases_nothing_and_is_told() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let two = numbers(&client, 2).await;
    let [zero, _one] = <[Worker; 2]>::try_from(two).unwrap();
    zero.release().await.unwrap();
    // There is no other number.
    let worker = async || client.worker_with("orders", bits(1)).await;
    for used in ["999999999999000", "9223372036855"] {
        server.cmd(&["HSET", "dlock_id_pool:{orders}", "0", used]);
        let error = worker().await.unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Clock, false), "{error}");
        assert!(error.message().contains("Delete the keys of the pool"), "{error}");
        let given_back = async {
            while server.cmd(&["ZCARD", "dlock_id_leases:{orders}"]).int() > 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        soon("nothing stays leased", given_back).await;
    }
    // The latest that is read: no layout has it, and a generator says so.
    server.cmd(&["HSET", "dlock_id_pool:{orders}", "0", "9223372000000"]);
    let worker = worker().await.unwrap();
    assert_eq!(worker.snowflake(D).unwrap_err().kind(), ErrorKind::Clock);
}

/// The server's clock was years ahead while a process had a number.
#[tokio::test]
async fn a_number_of_a_wrong_clock_is_passed_over() {
    let server = Server::options().clock().start();
    let client = Client::connect(&server.url()).await.unwrap();
    for years in [1, 80] {
        server.clock().offset(years * 31_536_000_000_000);
        let ahead = Client::connect(&server.url()).await.unwrap();
        let worker = ahead.worker(&format!("of {years}")).await.unwrap();
        assert_eq!(worker.number(), 0);
        worker.release().await.unwrap();
        server.clock().offset(0);
        for _ in 0..2 {
            let worker = client.worker(&format!("of {years}")).await.unwrap();
            assert_eq!(worker.number(), 1);
            worker.snowflake(D).unwrap().next_id().unwrap();
            worker.release().await.unwrap();
        }
    }
}

#[tokio::test]
async fn keys_end_with_the_pool() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let (one, two) = (client.worker("orders").await.unwrap(), client.worker("orders").await.unwrap());
    one.release().await.unwrap();
    let keys = server.keys();
    assert_eq!(keys, ["dlock_id_free:{orders}", "dlock_id_leases:{orders}", "dlock_id_pool:{orders}"]);
    for key in keys {
        let ttl = server.cmd(&["PTTL", &key]).int();
        assert!((43_200_000..=86_430_000).contains(&ttl), "{key}: {ttl}");
    }
    drop(two);
}

/// A lease that is over after so many looks.
struct Brief {
    looks: AtomicU64,
    over_after: u64,
}

impl NumberLease for Brief {
    fn check(&self) -> Result<()> {
        if self.looks.fetch_add(1, Ordering::Relaxed) < self.over_after {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Lost, "next id", "over"))
    }
}

fn under(over_after: u64) -> (Snowflake, Arc<Brief>) {
    let now = Clock::System.now();
    let timeline = Timeline::from(Machine::Of(Clock::System), D.epoch_ms as u64 + 1_000, now);
    let shared = Arc::new(Shared::apart(timeline, D.sequence_bits));
    let lease = Arc::new(Brief { looks: AtomicU64::new(0), over_after });
    let leased = Leased { lease: AssertUnwindSafe(lease.clone()), shared };
    (Snowflake::leased(D.fields().unwrap(), (0, 7), leased).unwrap(), lease)
}

#[test]
fn a_batch_whose_lease_ends_meanwhile_gives_nothing_out() {
    let (ids, _) = under(0);
    assert_eq!(ids.next_id().unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(ids.next_ids(10).unwrap_err().kind(), ErrorKind::Lost);
    // Of some milliseconds: it looks at each of them.
    let (ids, lease) = under(2);
    assert_eq!(ids.next_ids(1_000_000).unwrap_err().kind(), ErrorKind::Lost);
    assert_eq!(lease.looks.load(Ordering::Relaxed), 3, "it has not gone on to its end");
}

#[test]
fn an_id_costs_one_look_at_the_lease() {
    let (ids, lease) = under(u64::MAX);
    for made in 1..=100 {
        ids.next_id().unwrap();
        assert_eq!(lease.looks.load(Ordering::Relaxed), made);
    }
}
