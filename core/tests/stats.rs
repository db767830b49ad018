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

/// The part of what `all` shows that is the value of `field`, braces included.
fn value_of<'a>(all: &'a str, field: &str) -> &'a str {
    let begin = all.find(&format!(" {field}: ")).unwrap_or_else(|| panic!("no {field} in {all}"));
    let value = &all[begin + field.len() + 3..];
    let mut depth = 0;
    let closes = |letter: char| {
        depth += i32::from(letter == '{') - i32::from(letter == '}');
        letter == '}' && depth == 0
    };
    let end = value.find(closes).unwrap_or_else(|| panic!("{field} is no block in {all}"));
    &value[..=end]
}

#[test]
fn they_are_those_of_the_vectors_in_their_order() {
    let vectors: serde_json::Value = serde_json::from_str(include_str!("../../tests/vectors/stats.json")).unwrap();
    let all = format!("{:?}", Stats::default());
    let mut own = all.clone();
    let mut blocks = Vec::new();
    let tables = ["blocks", "only_in_core"].map(|part| vectors[part].as_object().unwrap());
    for (block, names) in tables.into_iter().flatten() {
        let shown = value_of(&all, block);
        check(names, shown, &[]);
        own = own.replacen(&format!("{block}: {shown}"), &format!("{block}: ..."), 1);
        blocks.push(block.clone());
    }
    // In what order: serde_json sorts the names of an object.
    blocks.sort_by_key(|block| own.find(&format!(" {block}: ")));
    check(&vectors, &own, &blocks);
    assert_eq!(vectors["buckets"], HISTOGRAM_BUCKETS);
}
