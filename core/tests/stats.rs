//! The names of the statistics, as every language has them.

use libdlock::stats::{HISTOGRAM_BUCKETS, Histogram, Stats};

/// How many `name: ` a value shows.
fn names(shown: &str) -> usize {
    shown.matches(": ").count()
}

/// The names in the vectors are all that a value shows, in this order.
fn check(of: &serde_json::Value, shown: &str, blocks: &[String]) {
    let words = |part: &str| -> Vec<String> {
        of[part].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let histograms = words("histograms");
    let all = [words("counters"), histograms.clone(), blocks.to_vec()].concat();
    let place = |name: &String| shown.find(&format!(" {name}: ")).unwrap_or_else(|| panic!("no {name} in {shown}"));
    let places: Vec<usize> = all.iter().map(place).collect();
    assert!(places.is_sorted(), "in another order: {shown}");
    let inner = histograms.len() * names(&format!("{:?}", Histogram::default()));
    assert_eq!(places.len(), names(shown) - inner, "there are more: {shown}");
}

#[test]
fn they_are_those_of_the_vectors_in_their_order() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../tests/vectors/stats.json")).unwrap();
    let stats = Stats::default();
    let (lock, limiter) = (format!("{:?}", stats.lock), format!("{:?}", stats.limiter));
    let blocks: Vec<String> = vectors["blocks"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(blocks.len(), 2);
    check(&vectors["blocks"]["lock"], &lock, &[]);
    check(&vectors["blocks"]["limiter"], &limiter, &[]);
    let own = format!("{stats:?}").replace(&lock, "LockStats").replace(&limiter, "LimiterStats");
    check(&vectors, &own, &["lock".to_owned(), "limiter".to_owned()]);
    assert_eq!(vectors["buckets"], HISTOGRAM_BUCKETS);
}
