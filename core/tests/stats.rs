//! The names of the statistics, as every language has them.

use libdlock::{HISTOGRAM_BUCKETS, Histogram, Stats};

/// How many `name: ` a value shows.
fn names(shown: &str) -> usize {
    shown.matches(": ").count()
}

#[test]
fn they_are_those_of_the_vectors_in_their_order() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../tests/vectors/stats.json")).unwrap();
    let words = |of: &str| -> Vec<String> {
        vectors[of].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let (counters, histograms) = (words("counters"), words("histograms"));
    let shown = format!("{:?}", Stats::default());
    let place = |name: &String| shown.find(&format!(" {name}: ")).unwrap_or_else(|| panic!("Stats has no {name}"));
    let places: Vec<usize> = counters.iter().chain(&histograms).map(place).collect();
    assert!(places.is_sorted(), "in another order: {shown}");
    let inner = histograms.len() * names(&format!("{:?}", Histogram::default()));
    assert_eq!(places.len(), names(&shown) - inner, "Stats has more: {shown}");
    assert_eq!(vectors["buckets"], HISTOGRAM_BUCKETS);
}
