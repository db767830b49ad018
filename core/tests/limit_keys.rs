//! Many keys of one rate limiter: a bucket for each, one by one and in batches.

use std::time::{Duration, Instant};

use crate::common::{client, settle};
use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Decision, ErrorKind, Rate, RateLimiter, Result, Wait};
use libdlock_testkit::{Cluster, Proxy, Server, Side, lateness};

/// Long enough that no token comes back while a test runs.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// A limiter of `burst` a day on a server, and on memory.
async fn limiters(server: &Server, burst: u64) -> [RateLimiter; 2] {
    let rate = Rate::new(1, A_DAY).burst(burst);
    let (redis, memory) = (Client::connect(&server.url()).await.unwrap(), Client::connect("memory://").await.unwrap());
    [redis, memory].map(|client| client.rate_limiter("api", rate).unwrap())
}

/// What was granted to each, or the kind of the error.
fn granted(answers: Vec<Result<Decision>>) -> Vec<Result<u64, ErrorKind>> {
    answers.into_iter().map(|answer| answer.map(|decision| decision.granted).map_err(|error| error.kind())).collect()
}

#[tokio::test]
async fn each_key_has_a_bucket_of_its_own_in_every_call() {
    let server = Server::start();
    for api in limiters(&server, 2).await {
        let (one, two) = (api.keyed("user:1").unwrap(), api.keyed("user:2").unwrap());
        assert_eq!((one.name(), one.key(), one.rates()), ("api:user:1", "api:user:1", api.rates()));
        assert!(one.try_acquire(2).await.unwrap().allowed);
        assert!(!one.acquire(1, Wait::For(Duration::from_secs(1))).await.unwrap().allowed);
        assert_eq!(two.peek().await.unwrap().remaining, 2);
        assert_eq!(api.peek().await.unwrap().remaining, 2, "the limiter itself is no key");
        assert!(!api.keyed("user:1").unwrap().peek().await.unwrap().allowed);
        one.reset().await.unwrap();
        assert_eq!(api.keyed("user:1").unwrap().peek().await.unwrap().remaining, 2);
    }
    assert!(server.keys().is_empty());
}

#[tokio::test]
async fn a_key_is_the_limiter_of_the_longer_name() {
    let server = Server::start();
    let client = Client::connect(&format!("{}?key_prefix=app:", server.url())).await.unwrap();
    let rate = Rate::new(1, A_DAY);
    let key = client.rate_limiter("a", rate).unwrap().keyed("b:c").unwrap();
    assert!(key.try_acquire(1).await.unwrap().allowed);
    assert_eq!((key.name(), key.key()), ("a:b:c", "app:a:b:c"));
    assert_eq!(server.keys(), ["dlock_limit:{app:a:b:c}"]);
    for other in [
        client.rate_limiter("a:b:c", rate).unwrap(),
        client.rate_limiter("a:b", rate).unwrap().keyed("c").unwrap(),
        client.rate_limiter("a", rate).unwrap().keyed("b").unwrap().keyed("c").unwrap(),
    ] {
        assert!(!other.try_acquire(1).await.unwrap().allowed, "{other:?}");
    }
}

#[tokio::test]
async fn what_no_key_can_be_is_refused_with_a_sentence() {
    let client = Client::connect("memory://?key_prefix=app:").await.unwrap();
    let api = client.rate_limiter("api", Rate::new(1, A_DAY)).unwrap();
    let long = "k".repeat(10_000);
    for (key, says) in [
        ("", "the key is empty; allowed: 1 to 512 bytes"),
        (&*long, "with this key, the name is 10008 bytes long, key prefix included; allowed: 1 to 512 bytes"),
        ("{", "with this key, the braces in the name form no usable hash tag"),
        ("{}", "with this key, the braces in the name form no usable hash tag"),
        ("}", "with this key, the braces in the name form no usable hash tag"),
        ("a\0b", "with this key, the name holds a NUL at byte 9"),
    ] {
        let error = api.keyed(key).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidName);
        assert!(error.message().contains(says) && error.allowed().is_some(), "{error}");
        assert!(error.name().is_some_and(|name| name.contains("api") && name.len() < 80), "{error}");
        assert!(error.to_string().len() < 400, "{error}");
    }
    for key in ["a\nb", "{42}", "x{user}y", "\u{1f511}", " ", ":"] {
        assert!(api.keyed(key).unwrap().try_acquire(1).await.unwrap().allowed, "{key:?}");
        assert!(!api.keyed(key).unwrap().try_acquire(1).await.unwrap().allowed, "{key:?}");
    }
}

#[tokio::test]
async fn a_batch_answers_each_item_by_itself_and_in_order() {
    let server = Server::start();
    for api in limiters(&server, 3).await {
        let long = "k".repeat(10_000);
        let items = [("a", 1), ("b", 3), ("a", 2), ("", 1), ("c", 4), ("a", 1), (&*long, 1), ("b", 0), ("d", 1)];
        let answers = api.try_acquire_many(&items).await.unwrap();
        assert_eq!(answers[4].as_ref().unwrap().retry_after, None, "more than the burst");
        assert_eq!(answers[5].as_ref().unwrap().remaining, 0, "a was asked for 3 before");
        assert!(answers.iter().flatten().all(|decision| decision.server_time.is_some()));
        use ErrorKind::InvalidName;
        let expected = [Ok(1), Ok(3), Ok(2), Err(InvalidName), Ok(0), Ok(0), Err(InvalidName), Ok(0), Ok(1)];
        assert_eq!(granted(answers), expected);
    }
}

#[tokio::test]
async fn a_batch_has_1_to_10_000_items() {
    let server = Server::start();
    for api in limiters(&server, 1).await {
        let keys: Vec<(String, u64)> = (0..10_001).map(|number| (format!("user:{}", number % 9_999), 1)).collect();
        for batch in [&keys[..0], &keys] {
            let error = api.try_acquire_many(batch).await.unwrap_err();
            assert_eq!((error.kind(), error.allowed()), (ErrorKind::InvalidArgument, Some("1 to 10000 items")));
        }
        assert_eq!(granted(api.try_acquire_many(&keys[..1]).await.unwrap()), [Ok(1)]);
        let answers = granted(api.try_acquire_many(&keys[..10_000]).await.unwrap());
        let refused: Vec<usize> = (0..10_000).filter(|at| answers[*at] == Ok(0)).collect();
        assert_eq!(refused, [0, 9_999], "the one that was asked for before, and the one that comes twice");
    }
}

/// Requests of the script, which the first of them brings along where the server does not have it.
#[tokio::test]
async fn a_batch_brings_its_script_along_once() {
    let server = Server::start();
    let [api, _] = limiters(&server, 1).await;
    let keys: Vec<(String, u64)> = (0..100).map(|number| (format!("user:{number}"), 1)).collect();
    server.cmd(&["SCRIPT", "FLUSH"]);
    server.cmd(&["CONFIG", "RESETSTAT"]);
    assert_eq!(granted(api.try_acquire_many(&keys).await.unwrap()), [Ok(1); 100]);
    let calls = |command: &str| server.info("commandstats", &format!("cmdstat_{command}:calls"));
    assert_eq!(calls("evalsha"), 199, "once by their hash, then all but the first, which brings the text");
    server.cmd(&["CONFIG", "RESETSTAT"]);
    assert_eq!(granted(api.try_acquire_many(&keys).await.unwrap()), [Ok(0); 100]);
    assert_eq!(calls("evalsha"), 100);
}

#[tokio::test]
async fn a_key_of_another_kind_fails_only_its_own_item() {
    let server = Server::start();
    let [api, _] = limiters(&server, 1).await;
    server.cmd(&["LPUSH", "dlock_limit:{api:b}", "x"]);
    server.cmd(&["SET", "dlock_limit:{api:c}", "no time"]);
    let answers = api.try_acquire_many(&[("a", 1), ("b", 1), ("c", 1), ("d", 1)]).await.unwrap();
    assert_eq!(answers[1].as_ref().unwrap_err().name(), Some("api:b"));
    assert_eq!(granted(answers), [Ok(1), Err(ErrorKind::WrongType), Err(ErrorKind::WrongType), Ok(1)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_leaves_each_item_unknown() {
    let server = Server::start();
    let proxy = Proxy::start(server.address());
    let client = Client::connect(&format!("{}?operation_timeout=1500", proxy.url())).await.unwrap();
    let api = client.rate_limiter("api", Rate::new(1, A_DAY).burst(5)).unwrap();
    let keys: Vec<(String, u64)> = (0..300).map(|number| (format!("user:{number}"), 1)).collect();
    // So that the server has the script.
    assert!(api.keyed("other").unwrap().try_acquire(1).await.unwrap().allowed);
    proxy.hold(Side::Replies);
    let start = Instant::now();
    let answers = api.try_acquire_many(&keys).await.unwrap();
    let took = start.elapsed();
    // A response_timeout of 1 s for the first write, the rest of the operation_timeout for what was not sent, and as much for a
    // busy machine.
    assert!(took < Duration::from_secs(3) + lateness(), "{took:?}");
    let kinds: Vec<_> = answers.iter().map(|answer| answer.as_ref().unwrap_err().kind()).collect();
    let unknown = kinds.iter().filter(|kind| **kind == ErrorKind::OutcomeUnknown).count();
    let unreached = kinds.iter().filter(|kind| **kind == ErrorKind::Connection).count();
    assert!(kinds[..256].iter().all(|kind| *kind == ErrorKind::OutcomeUnknown), "{kinds:?}");
    assert_eq!(unknown + unreached, 300, "{kinds:?}");
    let named = answers[7].as_ref().unwrap_err();
    assert_eq!(named.name(), Some("api:user:7"), "{named}");
    proxy.heal();
    let left = api.keyed("user:7").unwrap().peek().await.unwrap().remaining;
    assert_eq!(left, 4, "it was asked for once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_decides_each_item_while_the_server_is_away() {
    let server = Server::start();
    let url = server.url();
    let rate = Rate::new(4, A_DAY);
    let client = Client::connect(&url).await.unwrap();
    let share = LimiterOptions::new(rate).absent(Absent::LocalShare { of: 2 });
    let api = client.rate_limiter_with("api", share).unwrap();
    assert_eq!(granted(api.try_acquire_many(&[("a", 4)]).await.unwrap()), [Ok(4)]);
    drop(server);
    let start = Instant::now();
    let answers = api.try_acquire_many(&[("a", 1), ("b", 2), ("a", 1), ("a", 1), ("b", 1), ("c", 3)]).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1) + lateness(), "{:?}", start.elapsed());
    assert!(answers.iter().flatten().all(|decision| decision.server_time.is_none()));
    assert_eq!(granted(answers), [1, 2, 1, 0, 0, 0].map(Ok), "each key has a share of its own");
}

#[tokio::test]
async fn keys_of_a_batch_lie_on_every_node_of_a_cluster() {
    let cluster = Cluster::start();
    let client = Client::connect(&cluster.url()).await.unwrap();
    let api = client.rate_limiter("api", Rate::new(1, A_DAY)).unwrap();
    let keys: Vec<(String, u64)> = (0..100).map(|number| (format!("user:{number}"), 1)).collect();
    assert_eq!(granted(api.try_acquire_many(&keys).await.unwrap()), [Ok(1); 100]);
    for node in &cluster.nodes {
        assert!(node.keys().len() > 10, "{:?}", node.keys());
    }
    assert_eq!(granted(api.try_acquire_many(&keys).await.unwrap()), [Ok(0); 100]);
    for (key, _) in &keys[..10] {
        assert!(!api.keyed(key).unwrap().try_acquire(1).await.unwrap().allowed);
    }
}

#[tokio::test]
async fn a_batch_is_sent_on_while_a_slot_is_being_moved() {
    let cluster = Cluster::start();
    let client = Client::connect(&cluster.url()).await.unwrap();
    let api = client.rate_limiter("{api}", Rate::new(1, A_DAY)).unwrap();
    let slot = cluster.slot("{api}");
    let from = cluster.owner_seen_by(0, slot).unwrap();
    let to = (from + 1) % 3;
    let keys: Vec<(String, u64)> = (0..20).map(|number| (number.to_string(), 1)).collect();
    assert_eq!(granted(api.try_acquire_many(&keys[..10]).await.unwrap()), [Ok(1); 10]);
    cluster.begin_to_move(slot, from, to);
    let answers = granted(api.try_acquire_many(&keys).await.unwrap());
    assert_eq!(answers, [[Ok(0); 10], [Ok(1); 10]].concat());
    cluster.finish_moving(slot, from, to);
    assert_eq!(granted(api.try_acquire_many(&keys).await.unwrap()), [Ok(0); 20]);
}

#[tokio::test]
async fn a_key_that_somebody_waits_for_is_one_for_all() {
    let (client, clock) = client().await;
    let api = client.rate_limiter("api", Rate::new(1, Duration::from_secs(1))).unwrap();
    assert!(api.keyed("a").unwrap().try_acquire(1).await.unwrap().allowed);
    let waiting = tokio::spawn({
        let key = api.keyed("a").unwrap();
        async move { key.acquire(1, Wait::Forever).await }
    });
    settle().await;
    // Behind the one that waits.
    assert!(!api.keyed("a").unwrap().try_acquire(1).await.unwrap().allowed);
    clock.advance(Duration::from_secs(1));
    settle().await;
    assert!(waiting.is_finished() && waiting.await.unwrap().unwrap().allowed);
    client.close().await;
    let closed = [api.keyed("a").unwrap_err(), api.try_acquire_many(&[("a", 1)]).await.unwrap_err()];
    assert!(closed.iter().all(|error| error.kind() == ErrorKind::Closed), "{closed:?}");
}
