//! Bloom filters: opened by name, added to, looked into.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, BloomItems};
use napi::bindgen_prelude::{Either, Uint8Array};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

/// A text without lone surrogates, or bytes.
type Item = Either<String, Uint8Array>;

#[napi]
impl Environment {
    /// The filter's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn bloom_filter_open(
        &self,
        client: Given,
        name: String,
        expected: i64,
        rate: f64,
        ttl_ms: Option<i64>,
    ) -> Answer<Given> {
        answer("bloomFilterOpen", |state| {
            let filter = ops::bloom_filter_open(state, handle(client), name.as_bytes(), expected, rate, ttl_ms)?;
            self.inner.lend(HandleKind::BloomFilter, filter);
            Ok(give(filter))
        })
    }

    #[napi(catch_unwind)]
    pub fn bloom_filter_size(&self, filter: Given) -> Answer<i64> {
        answer("bloomFilterSize", |state| ops::bloom_filter_size(state, handle(filter)))
    }

    #[napi(catch_unwind)]
    pub fn bloom_filter_hashes(&self, filter: Given) -> Answer<i64> {
        answer("bloomFilterHashes", |state| ops::bloom_filter_hashes(state, handle(filter)))
    }

    #[napi(catch_unwind)]
    pub fn bloom_filter_add(&self, id: i64, filter: Given, items: Vec<Item>) -> Answer<Given> {
        self.submit("bloomFilterAdd", id, |state| ops::bloom_filter_add(state, handle(filter), hashed(&items)))
    }

    #[napi(catch_unwind)]
    pub fn bloom_filter_contains(&self, id: i64, filter: Given, items: Vec<Item>) -> Answer<Given> {
        self.submit("bloomFilterContains", id, |state| {
            ops::bloom_filter_contains(state, handle(filter), hashed(&items))
        })
    }

    #[napi(catch_unwind)]
    pub fn bloom_filter_count(&self, id: i64, filter: Given) -> Answer<Given> {
        self.submit("bloomFilterCount", id, |state| ops::bloom_filter_count(state, handle(filter)))
    }

    #[napi(catch_unwind)]
    pub fn bloom_filter_false_positive_rate(&self, id: i64, filter: Given) -> Answer<Given> {
        self.submit("bloomFilterFalsePositiveRate", id, |state| {
            ops::bloom_filter_false_positive_rate(state, handle(filter))
        })
    }

    #[napi(catch_unwind)]
    pub fn bloom_filter_clear(&self, id: i64, filter: Given) -> Answer<Given> {
        self.submit("bloomFilterClear", id, |state| ops::bloom_filter_clear(state, handle(filter)))
    }
}

fn hashed(items: &[Item]) -> BloomItems {
    let mut all = BloomItems::new();
    for item in items {
        match item {
            Either::A(text) => all.push(text),
            Either::B(bytes) => all.push(bytes),
        }
    }
    all
}
