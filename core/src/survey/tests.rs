use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use libdlock_testkit::Server;
use serde_json::Value;

use super::*;
use crate::step::State;
use crate::step::model::keys_of;
use crate::{Client, Rate};

fn words(table: &Value, list: &str) -> BTreeSet<String> {
    table[list].as_array().unwrap().iter().map(|word| format!("+{}", word.as_str().unwrap())).collect()
}

fn table() -> Value {
    serde_json::from_str(include_str!("../../../tests/vectors/access.json")).unwrap()
}

#[test]
fn the_rules_of_a_connection_are_the_documented_ones() {
    let rules: BTreeSet<String> = CONNECTION_RULES.split(' ').map(str::to_owned).collect();
    assert_eq!(rules, words(&table(), "connection"));
}

#[test]
fn rules_with_a_prefix_let_through_its_keys_alone() {
    let rules = Kind::Lock.rules("shop:");
    for rule in ["~shop:*", "~dlock_queue:{shop:*", "~dlock_queue:shop:*", "&redisson_lock__channel:{shop:*"] {
        assert!(rules.contains(&rule.to_owned()), "{rule} of {rules:?}");
    }
    assert!(rules.contains(&"&dlock_inbox:*".to_owned()) && rules.contains(&"+evalsha".to_owned()));
    assert!(!rules.iter().any(|rule| rule == "~*" || rule == "~dlock_queue:*"));
    assert!(Kind::Semaphore.rules("a b*").contains(&"~{a?b?*:timeout".to_owned()));
    assert!(Kind::Lock.rules("").contains(&"~dlock_queue:*".to_owned()));
}

#[test]
fn every_companion_key_tells_its_kind_and_name() {
    fn check<S: State>(kind: Kind) {
        for given in ["jobs", "orders:{42}", "a:b"] {
            let name = ObjectName::new("", given).unwrap();
            for key in keys_of::<S>(&name).iter().filter(|key| key.starts_with("dlock_")) {
                assert_eq!(Kind::of_companion(key), Some((kind, given)), "{key}");
            }
        }
    }
    check::<crate::lock::LockState>(Kind::Lock);
    check::<crate::rw_lock::RwLockState>(Kind::RwLock);
    check::<crate::semaphore::SemaphoreState>(Kind::Semaphore);
    check::<crate::counting_semaphore::CountingState>(Kind::CountingSemaphore);
    check::<crate::latch::LatchState>(Kind::Latch);
    check::<crate::queue::QueueState>(Kind::Queue);
    check::<crate::limit::LimitState>(Kind::RateLimiter);
    check::<crate::bloom::BloomState>(Kind::BloomFilter);
    check::<crate::id::worker::WorkerState>(Kind::Worker);
    for key in ["dlock_limit_log:{api}", "dlock_limit:{api}"] {
        assert_eq!(Kind::of_companion(key), Some((Kind::RateLimiter, "api")), "{key}");
    }
    for key in ["dlock_queue:", "dlock_queue:{}", "dlock_queue:plain", "user:{42}", "plain", "dlock_nothing:{a}"] {
        assert_eq!(Kind::of_companion(key), None, "{key}");
    }
    for kind in Kind::ALL {
        assert_eq!(kind.as_str().parse::<Kind>().unwrap(), kind);
    }
}

#[tokio::test]
async fn objects_of_every_kind_are_found_and_other_keys_are_not() {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    let client = Client::connect(&format!("{}?key_prefix=app:", server.url())).await.unwrap();
    let lock = client.lock("l").unwrap();
    let held = lock.acquire().await.unwrap();
    let reading = client.rw_lock("rw").unwrap().read().acquire().await.unwrap();
    let permits = client.semaphore("s", 2).unwrap().acquire().await.unwrap();
    client.counting_semaphore("c").unwrap().try_set_permits(3).await.unwrap();
    client.latch("la").unwrap().try_set_count(2).await.unwrap();
    client.queue("q").unwrap().put("x").await.unwrap();
    client.rate_limiter("r", Rate::new(1, Duration::from_secs(60))).unwrap().try_acquire(1).await.unwrap();
    client.id_generator("i").unwrap().next_id().await.unwrap();
    client.bloom_filter("b", 100, 0.01).unwrap().add(["x"]).await.unwrap();
    let worker = client.worker("w").await.unwrap();
    for command in
        ["SET app:plain 1", "HSET app:user name ada", "SET l 1", "ZADD app:z 1 a", "HSET other x 1", "RPUSH app:list 1"]
    {
        server.cmd(&command.split(' ').collect::<Vec<_>>());
    }
    // A lock of Redisson's, with a thread's number.
    server.cmd(&["HSET", "app:theirs", "3e9b9a5c-6f34-4b9a-8d5e-0a1b2c3d4e5f:57", "1"]);

    let listing = client.survey().list("*", 100, u64::MAX).await.unwrap();
    let found: Vec<(&str, Kind)> = listing.objects.iter().map(|found| (found.name.as_str(), found.kind)).collect();
    let expected = [
        ("b", Kind::BloomFilter),
        ("c", Kind::CountingSemaphore),
        ("i", Kind::IdGenerator),
        ("l", Kind::Lock),
        ("la", Kind::Latch),
        ("q", Kind::Queue),
        ("r", Kind::RateLimiter),
        ("rw", Kind::RwLock),
        ("s", Kind::Semaphore),
        ("theirs", Kind::Lock),
        ("w", Kind::Worker),
    ];
    assert_eq!(found, expected);
    assert!(listing.is_complete);

    let some = client.survey().list("l*", 1, u64::MAX).await.unwrap();
    assert_eq!((some.objects.len(), some.is_complete), (1, false), "more than asked for");
    let none = client.survey().list("no*", 10, u64::MAX).await.unwrap();
    assert_eq!((none.objects.len(), none.is_complete), (0, true));
    drop((held, reading, permits, worker));
    client.close_releasing().await.unwrap();
}

#[tokio::test]
async fn a_list_visits_no_more_keys_than_it_may() {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    let script = "for i = 1, 20000 do redis.call('SET', 'k' .. i, '') end";
    server.cmd(&["EVAL", script, "0"]);
    let client = Client::connect(&server.url()).await.unwrap();
    let scans = || server.info("commandstats", "cmdstat_scan:calls");
    let listing = client.survey().list("*", 10, 2_000).await.unwrap();
    assert!(!listing.is_complete && listing.objects.is_empty());
    assert_eq!(scans(), 4);
    assert_eq!(server.info("commandstats", "cmdstat_keys:calls"), 0);
}

#[tokio::test]
async fn a_user_who_may_not_scan_is_told_what_it_needs() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let error = client.survey().list("*", 10, 10).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoPermission);
    assert!(error.message().contains("+scan"), "{error}");
    let memory = Client::connect("memory://").await.unwrap();
    assert_eq!(memory.survey().list("*", 1, 1).await.unwrap_err().kind(), ErrorKind::Unsupported);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiters_are_told_in_the_order_of_the_queue() {
    let server = Server::start();
    let clients = [
        Client::connect(&server.url()).await.unwrap(),
        Client::connect(&server.url()).await.unwrap(),
        Client::connect(&server.url()).await.unwrap(),
    ];
    let held = clients[0].lock("l").unwrap().acquire().await.unwrap();
    let mut waiting = Vec::new();
    for (number, client) in clients[1..].iter().enumerate() {
        let lock = client.lock("l").unwrap();
        waiting.push(tokio::spawn(async move { lock.acquire().await.map(drop) }));
        let queued = || server.cmd(&["ZCARD", "dlock_queue:{l}"]).int() == number as i64 + 1;
        libdlock_testkit::eventually(Duration::from_secs(10), "it stands in the queue", queued);
    }
    let began = Instant::now();
    tokio::time::sleep(Duration::from_millis(20)).await;
    let waiters = clients[0].survey().waiters(Kind::Lock, "l", 10).await.unwrap();
    assert!(waiters[1].waited >= began.elapsed().min(Duration::from_millis(20)), "{waiters:?}");
    assert!(waiters[0].waited >= waiters[1].waited && waiters[0].waited < Duration::from_secs(20), "{waiters:?}");
    let waiters: Vec<_> = waiters.into_iter().map(|waiter| waiter.client).collect();
    let ids: Vec<String> = clients[1..].iter().map(|client| client.survey().context.id().to_owned()).collect();
    assert_eq!(waiters, ids);
    assert_eq!(clients[0].survey().waiters(Kind::Lock, "l", 1).await.unwrap()[0].client, ids[0]);
    assert!(clients[0].survey().waiters(Kind::RateLimiter, "l", 1).await.unwrap().is_empty());
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    held.release().await.unwrap();
}

#[tokio::test]
async fn a_server_tells_how_it_is_set_up_and_what_its_user_lacks() {
    let (server, clock) = Server::with_clock();
    clock.offset(30_000_000);
    let client = Client::connect(&server.url()).await.unwrap();
    let facts = client.survey().facts(&Kind::ALL).await.unwrap().remove(0);
    assert_eq!(facts.address, server.address().to_string());
    let info = facts.info.unwrap();
    assert_eq!(info["maxmemory_policy"], "noeviction");
    assert!(info["redis_version"].contains('.'));
    assert!(facts.round_trip.unwrap() < Duration::from_secs(1));
    let ahead = facts.clock_ahead_us.unwrap();
    assert!((29_000_000..31_000_000).contains(&ahead), "{ahead}");
    assert!(facts.settings.is_empty(), "the user may not CONFIG");
    assert_eq!(facts.missing_rules, [""; 0]);
}

/// Two rounds of a walk, the second with what the first has found: the objects of each.
async fn rounds(walk: &mut Walk, known: &[&str]) -> [Vec<(String, Kind)>; 2] {
    let mut rounds = [Vec::new(), Vec::new()];
    for (number, found) in rounds.iter_mut().enumerate() {
        loop {
            let step = walk.step(|name| number > 0 && known.contains(&name)).await.unwrap();
            found.extend(step.objects.into_iter().map(|found| (found.name, found.kind)));
            if step.is_last {
                break;
            }
        }
        found.sort();
        found.dedup();
    }
    rounds
}

#[tokio::test(flavor = "multi_thread")]
async fn a_walk_goes_round_all_keys_and_asks_little_of_known_ones() {
    let server = Server::options().rights(vec!["+scan".to_owned()]).start();
    server.cmd(&["EVAL", "for i = 1, 2000 do redis.call('SET', 'app:k' .. i, '') end", "0"]);
    let client = Client::connect(&format!("{}?key_prefix=app:", server.url())).await.unwrap();
    let held = client.lock("l").unwrap().acquire().await.unwrap();
    client.queue("q").unwrap().put("x").await.unwrap();
    let mut walk = client.survey().walk("*");
    let [first, second] = rounds(&mut walk, &["l"]).await;
    assert_eq!(first, [("l".to_owned(), Kind::Lock), ("q".to_owned(), Kind::Queue)]);
    assert_eq!(second, first, "a known lock is found by its token");
    assert!(client.survey().processor_time().await.unwrap() > Duration::ZERO);
    let calls = server.info("commandstats", "cmdstat_hrandfield:calls");
    rounds(&mut walk, &["l"]).await;
    assert_eq!(server.info("commandstats", "cmdstat_hrandfield:calls"), calls + 1, "once a pair of rounds");
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_glance_sees_many_locks_in_one_round_trip() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    let held = client.lock("held").unwrap().acquire().await.unwrap();
    let freed = client.lock("freed").unwrap().acquire().await.unwrap();
    let last = freed.token();
    freed.release().await.unwrap();
    let reading = client.rw_lock("rw").unwrap().read().acquire().await.unwrap();
    server.cmd(&["HSET", "foreign", "x", "1"]);
    server.cmd(&["SET", "text", "1"]);
    let names = ["held", "freed", "never", "rw", "foreign", "text", "a{"];
    let Glance { mut locks, busy } = client.survey().glance(&names).await.unwrap();
    assert!(busy > Duration::ZERO && busy < Duration::from_secs(1));
    let kinds: Vec<_> = locks.drain(3..).map(|seen| seen.unwrap_err().kind()).collect();
    let wrong = ErrorKind::WrongType;
    assert_eq!(kinds, [wrong, wrong, wrong, ErrorKind::InvalidName]);
    let [seen, free, never] = [0, 1, 2].map(|at| locks[at].as_ref().unwrap());
    assert!(seen.holder.as_ref().unwrap().starts_with(client.survey().context.id()), "{seen:?}");
    assert!(seen.ttl.unwrap() > Duration::from_secs(20) && seen.queued == 0, "{seen:?}");
    assert!(seen.granted_ago.unwrap() < Duration::from_secs(10) && seen.token.unwrap() >= held.token(), "{seen:?}");
    assert!(free.holder.is_none() && free.ttl.is_none() && free.token.unwrap() >= last, "{free:?}");
    assert_eq!(never, &LockSeen::default());
    let memory = Client::connect("memory://").await.unwrap();
    assert_eq!(memory.survey().glance(&["a"]).await.unwrap_err().kind(), ErrorKind::Unsupported);
    reading.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limiter_tells_when_it_is_full_again() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    client.rate_limiter("r", Rate::new(1, Duration::from_secs(60))).unwrap().try_acquire(1).await.unwrap();
    let left = client.survey().time_left(Kind::RateLimiter, "r").await.unwrap().unwrap();
    assert!((50..=61).contains(&left.as_secs()), "{left:?}");
    assert_eq!(client.survey().time_left(Kind::RateLimiter, "none").await.unwrap(), None);
}
