//! What a Bloom filter does, on `memory://` and on a real server.

use std::time::Duration;

use super::{BloomFilter, BloomFilterOptions, Items, MAX_BATCH, MAX_COUNT, MAX_EXPECTED, MAX_SIZE};
use crate::Client;
use crate::contended::place::{Place, still_client};
use crate::error::{Error, ErrorKind};

impl Place {
    /// A filter `seen` of a client of its own.
    async fn filter(&self, expected: u64, rate: f64) -> BloomFilter {
        self.client().await.bloom_filter("seen", expected, rate).unwrap()
    }
}

fn says(error: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.to_string().contains(word), "{word:?} is not in {error}");
    }
}

fn numbers(from: u64, to: u64) -> Items {
    (from..to).map(|number| number.to_string()).collect()
}

#[tokio::test]
async fn what_was_added_is_found_by_every_client() {
    for place in Place::both() {
        let (ours, theirs) = (place.filter(1_000, 0.01).await, place.filter(1_000, 0.01).await);
        assert_eq!(theirs.contains(["ada", ""]).await.unwrap(), [false, false], "there is no filter yet");
        assert_eq!(ours.add(["ada", "grace", "ada", ""]).await.unwrap(), [true, true, false, true]);
        assert_eq!(theirs.contains(["ada", "nobody", "grace", ""]).await.unwrap(), [true, false, true, true]);
        assert_eq!(theirs.add([&b"\xff\x00"[..], b"ada"]).await.unwrap(), [true, false]);
        assert_eq!(ours.contains([[0xff, 0x00]]).await.unwrap(), [true]);
        assert_eq!((ours.count().await.unwrap(), ours.size(), ours.hashes()), (4, 9_585, 7));
        assert_eq!((ours.name(), ours.key()), ("seen", "seen"));
    }
}

#[tokio::test]
async fn the_keys_are_those_of_redisson() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let filter = place.filter(1_000, 1e-4).await;
    filter.add(["a"]).await.unwrap();
    let config = server.cmd(&["HGETALL", "{seen}:config"]);
    let config: Vec<&str> = config.array().iter().map(|word| word.text()).collect();
    let expected =
        ["size", "19170", "hashIterations", "13", "expectedInsertions", "1000", "falseProbability", "1.0E-4"];
    assert_eq!(config, expected);
    assert_eq!(server.cmd(&["BITCOUNT", "seen"]).int(), 13);
    assert_eq!(server.cmd(&["TTL", "seen"]).int(), -1);
}

/// Adds so many items to a filter that is for so many, and looks for others. Redisson's bits of one item depend on one another, so
/// that more items than asked for are found by mistake, `factor` times at most.
async fn promises(filter: &BloomFilter, items: u64, rate: f64, factor: f64) {
    let at_once = 50_000;
    for from in (0..items).step_by(at_once as usize) {
        filter.add_items(&numbers(from, from + at_once)).await.unwrap();
    }
    let mut false_positives = 0;
    for from in (0..items).step_by(at_once as usize) {
        let found = filter.contains_items(&numbers(from, from + at_once)).await.unwrap();
        assert!(found.iter().all(|found| *found), "a false negative");
        let found = filter.contains_items(&numbers(items + from, items + from + at_once)).await.unwrap();
        false_positives += found.iter().filter(|found| **found).count();
    }
    let measured = false_positives as f64 / items as f64;
    assert!(measured < rate * factor, "{measured} instead of {rate}");
    let now = filter.false_positive_rate().await.unwrap();
    assert!((rate * 0.9..rate * 1.1).contains(&now), "{now} instead of {rate}");
    let count = filter.count().await.unwrap() as f64 / items as f64;
    assert!((0.99..1.01).contains(&count), "{count} times as many");
}

#[tokio::test]
async fn none_is_missed_and_few_are_found_by_mistake() {
    for place in Place::both() {
        promises(&place.filter(100_000, 0.1).await, 100_000, 0.1, 1.1).await;
    }
}

#[tokio::test]
#[ignore = "long: make check-long"]
async fn none_of_a_million_is_missed() {
    for place in Place::both() {
        promises(&place.filter(1_000_000, 0.01).await, 1_000_000, 0.01, 1.3).await;
    }
}

#[tokio::test]
async fn another_configuration_is_an_error_that_shows_both() {
    for place in Place::both() {
        let (ours, theirs) = (place.filter(1_000, 0.01).await, place.filter(2_000, 0.02).await);
        ours.add(["a"]).await.unwrap();
        let words =
            ["9585 bits and 7 hashes, for 1000 items at a rate of 0.01", "16284 bits and 6 hashes, for 2000 items"];
        says(&theirs.add(["b"]).await.unwrap_err(), ErrorKind::WrongType, &words);
        says(&theirs.contains(["b"]).await.unwrap_err(), ErrorKind::WrongType, &words);
        says(&theirs.count().await.unwrap_err(), ErrorKind::WrongType, &words);
        says(&theirs.false_positive_rate().await.unwrap_err(), ErrorKind::WrongType, &["clear the filter"]);
        assert_eq!(ours.count().await.unwrap(), 1, "nothing was added");
        assert!(theirs.clear().await.unwrap());
        assert_eq!(theirs.add(["b"]).await.unwrap(), [true]);
        says(&ours.contains(["a"]).await.unwrap_err(), ErrorKind::WrongType, &words);
    }
}

#[tokio::test]
async fn a_filter_that_is_cleared_is_empty() {
    for place in Place::both() {
        let filter = place.filter(1_000, 0.01).await;
        assert!(!filter.clear().await.unwrap());
        filter.add(["a"]).await.unwrap();
        assert!(filter.clear().await.unwrap());
        assert_eq!(filter.contains(["a"]).await.unwrap(), [false]);
        assert_eq!((filter.count().await.unwrap(), filter.false_positive_rate().await.unwrap()), (0, 0.0));
        if let Some(server) = &place.server {
            assert_eq!(server.cmd(&["EXISTS", "seen", "{seen}:config"]).int(), 0);
        }
    }
}

#[tokio::test]
async fn a_filter_with_an_end_is_gone_after_it() {
    let (client, clock) = still_client().await;
    let options = BloomFilterOptions::new(100, 0.03).ttl(Duration::from_secs(60));
    let filter = client.bloom_filter_with("seen", options).unwrap();
    filter.add(["a"]).await.unwrap();
    clock.advance(Duration::from_secs(59));
    assert_eq!(filter.add(["b"]).await.unwrap(), [true], "it does not put the end off");
    clock.advance(Duration::from_secs(2));
    assert_eq!(filter.contains(["a", "b"]).await.unwrap(), [false, false]);
    let place = Place::server();
    let (server, client) = (place.server.as_ref().unwrap(), place.client().await);
    client.bloom_filter_with("seen", options).unwrap().add(["a"]).await.unwrap();
    let ends = |key| (50_000..=60_000).contains(&server.cmd(&["PTTL", key]).int());
    assert!(ends("seen") && ends("{seen}:config"));
    // Bits that somebody removed come back with the same end.
    server.cmd(&["DEL", "seen"]);
    client.bloom_filter("seen", 100, 0.03).unwrap().add(["a"]).await.unwrap();
    assert!(ends("seen"));
}

#[tokio::test]
async fn what_is_no_filter_is_left_alone() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let filter = place.filter(100, 0.03).await;
    let wrong = async |words: &[&str]| {
        says(&filter.add(["a"]).await.unwrap_err(), ErrorKind::WrongType, words);
        says(&filter.contains(["a"]).await.unwrap_err(), ErrorKind::WrongType, words);
        says(&filter.count().await.unwrap_err(), ErrorKind::WrongType, words);
    };
    let no_filter = ["no Bloom filter", "{seen}:config"];
    let refuse_to_clear = async || says(&filter.clear().await.unwrap_err(), ErrorKind::WrongType, &no_filter);
    // A counter, or bits without a configuration.
    server.cmd(&["SET", "seen", "5"]);
    wrong(&no_filter).await;
    refuse_to_clear().await;
    assert_eq!(server.cmd(&["GET", "seen"]).text(), "5");
    server.cmd(&["DEL", "seen"]);
    for config in [&["SET", "{seen}:config", "5"][..], &["HSET", "{seen}:config", "field", "1"]] {
        server.cmd(config);
        wrong(&no_filter).await;
        refuse_to_clear().await;
        server.cmd(&["DEL", "{seen}:config"]);
    }
    server.cmd(&["HSET", "{seen}:config", "size", "729"]);
    wrong(&no_filter).await;
    refuse_to_clear().await;
    server.cmd(&["HSET", "{seen}:config", "hashIterations", "\u{1b}[31m", "falseProbability", "NaN"]);
    wrong(&["729 bits and ? hashes, for ? items at a rate of ?;"]).await;
    // Another kind of object where the bits are.
    server.cmd(&["HSET", "{seen}:config", "hashIterations", "5"]);
    server.cmd(&["LPUSH", "seen", "1"]);
    wrong(&no_filter).await;
    refuse_to_clear().await;
    server.cmd(&["DEL", "seen"]);
    assert_eq!(filter.add(["a"]).await.unwrap(), [true], "a configuration is enough");
    // A lock has no bits, and the other way round.
    for place in Place::both() {
        let client = place.client().await;
        let held = client.lock("seen").unwrap().acquire().await.unwrap();
        let filter = client.bloom_filter("seen", 100, 0.03).unwrap();
        says(&filter.add(["a"]).await.unwrap_err(), ErrorKind::WrongType, &no_filter);
        held.release().await.unwrap();
        filter.add(["a"]).await.unwrap();
        assert_eq!(client.lock("seen").unwrap().acquire().await.unwrap_err().kind(), ErrorKind::WrongType);
    }
}

#[tokio::test]
async fn arguments_out_of_range_are_refused_with_value_and_range() {
    let client = Place::memory().client().await;
    let refused = |expected, rate, words: &[&str]| {
        says(&client.bloom_filter("seen", expected, rate).unwrap_err(), ErrorKind::InvalidArgument, words);
    };
    refused(0, 0.01, &["0 expected items", "1 to 9007199254740991", "seen"]);
    refused(MAX_EXPECTED + 1, 0.01, &["9007199254740992 expected items"]);
    for rate in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        refused(100, rate, &[&format!("a false positive rate of {rate}"), "above 0 and below 1"]);
    }
    refused(1, 0.9, &["need no bit", "a lower rate"]);
    refused(
        500_000_000,
        0.01,
        &["need 4792529189 bits", "4294967294 bits, which is 448089842 items", "several filters"],
    );
    let largest = client.bloom_filter("largest", 448_089_842, 0.01).unwrap();
    assert!((MAX_SIZE - 10..=MAX_SIZE).contains(&largest.size()), "{}", largest.size());
    for ttl in [Duration::ZERO, Duration::from_secs(101 * 31_557_600)] {
        let options = BloomFilterOptions::new(100, 0.03).ttl(ttl);
        let error = client.bloom_filter_with("seen", options).unwrap_err();
        says(&error, ErrorKind::InvalidArgument, &[&format!("{ttl:?}"), "1 ms to 100 years"]);
    }
    says(&client.bloom_filter("", 100, 0.03).unwrap_err(), ErrorKind::InvalidName, &["empty"]);
    let filter = client.bloom_filter("seen", 100, 0.03).unwrap();
    let many = numbers(0, MAX_BATCH as u64 + 1);
    for error in [filter.add_items(&many).await.unwrap_err(), filter.contains_items(&many).await.unwrap_err()] {
        says(&error, ErrorKind::InvalidArgument, &["a batch of 1000001 items", "0 to 1000000"]);
    }
}

#[tokio::test]
async fn no_item_asks_nobody_and_a_long_one_is_an_item() {
    for place in Place::both() {
        let filter = place.filter(100, 0.03).await;
        let none: [&str; 0] = [];
        assert!(filter.add(none).await.unwrap().is_empty());
        assert!(filter.contains(none).await.unwrap().is_empty());
        if let Some(server) = &place.server {
            assert_eq!(server.info("commandstats", "cmdstat_evalsha:calls"), 0);
        }
        let long = vec![b'x'; 1 << 20];
        assert_eq!(filter.add([&long[..], &long[1..]]).await.unwrap(), [true, true]);
        assert_eq!(filter.contains([&long[..], &long[2..]]).await.unwrap(), [true, false]);
    }
}

#[tokio::test]
async fn a_thousand_items_are_one_script_and_more_are_several() {
    let place = Place::server();
    let server = place.server.as_ref().unwrap();
    let filter = place.filter(100_000, 0.001).await;
    let calls =
        || ["evalsha", "eval"].map(|c| server.info("commandstats", &format!("cmdstat_{c}:calls"))).iter().sum::<u64>();
    filter.add(["first"]).await.unwrap();
    filter.contains(["first"]).await.unwrap();
    for (items, scripts) in [(1, 1), (1_000, 1), (1_638, 1), (1_639, 2), (10_000, 7)] {
        let before = calls();
        let new = filter.add_items(&numbers(0, items)).await.unwrap();
        assert_eq!((new.len() as u64, calls() - before), (items, scripts));
        let found = filter.contains_items(&numbers(0, items)).await.unwrap();
        assert_eq!((found.len() as u64, calls() - before), (items, 2 * scripts));
        assert!(found.iter().all(|found| *found));
    }
}

#[tokio::test]
async fn the_largest_filter_takes_memory_as_it_fills() {
    let client = Place::memory().client().await;
    let filter = client.bloom_filter("seen", 448_089_842, 0.01).unwrap();
    let began = std::time::Instant::now();
    filter.add_items(&numbers(0, 1_000)).await.unwrap();
    assert_eq!(
        (filter.count().await.unwrap(), filter.contains(["999", "1000"]).await.unwrap()),
        (1_000, vec![true, false])
    );
    // To write 512 MiB takes several times as long.
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_filter_that_is_full_finds_everything() {
    for place in Place::both() {
        let filter = place.filter(10, 0.5).await;
        filter.add_items(&numbers(0, 1_000)).await.unwrap();
        assert_eq!((filter.count().await.unwrap(), filter.false_positive_rate().await.unwrap()), (MAX_COUNT, 1.0));
        assert_eq!(filter.contains(["none of them"]).await.unwrap(), [true]);
    }
}

#[tokio::test]
async fn a_closed_client_has_no_filter() {
    for place in Place::both() {
        let client: Client = place.client().await;
        let filter = client.bloom_filter("seen", 100, 0.03).unwrap();
        client.close().await;
        let none: [&str; 0] = [];
        says(&filter.add(none).await.unwrap_err(), ErrorKind::Closed, &["seen"]);
        says(&filter.contains(["a"]).await.unwrap_err(), ErrorKind::Closed, &["seen"]);
        says(&filter.count().await.unwrap_err(), ErrorKind::Closed, &["seen"]);
        says(&filter.clear().await.unwrap_err(), ErrorKind::Closed, &["seen"]);
    }
}
