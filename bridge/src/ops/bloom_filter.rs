//! Bloom filters: opened by name, added to, looked into.

use std::sync::Arc;
use std::time::Duration;

use libdlock::bloom::BloomFilterOptions;
pub use libdlock::bloom::Items as BloomItems;
use libdlock::{Error, ErrorKind, Result};

use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::BloomFilterEntry;
use crate::outcome::{Flags, Real};
use crate::state::State;

impl HandleEnd for BloomFilterEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// The filter `name` of `client`, for so many items and with this rate of false positives. `ttl_ms`: none stays. No I/O.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Closed`.
pub fn bloom_filter_open(
    state: &State,
    client: Handle,
    name: &[u8],
    expected: i64,
    rate: f64,
    ttl_ms: Option<i64>,
) -> Result<Handle> {
    let op = "bloom filter";
    let client = state.get::<ClientEntry>(client, op)?;
    let name = libdlock::embed::name_from_utf8(name)?;
    let expected = u64::try_from(expected).map_err(|_| {
        let given = format_args!("{expected} expected items are out of range");
        Error::refused(ErrorKind::InvalidArgument, op, given, "1 to 9007199254740991").on(name)
    })?;
    let mut options = BloomFilterOptions::new(expected, rate);
    if let Some(ttl_ms) = ttl_ms {
        let ttl = u64::try_from(ttl_ms).map_err(|_| {
            let given = format_args!("a time to live of {ttl_ms} ms is out of range");
            Error::refused(ErrorKind::InvalidArgument, op, given, "1 ms to 100 years").on(name)
        })?;
        options = options.ttl(Duration::from_millis(ttl));
    }
    let filter = client.client.bloom_filter_with(name, options)?;
    state.insert(Arc::new(BloomFilterEntry { filter, client }))
}

/// The name that it was made with.
pub fn bloom_filter_name(state: &State, filter: Handle) -> Result<String> {
    Ok(find(state, filter, "name")?.filter.name().to_owned())
}

/// The name on the server, as errors say it.
pub fn bloom_filter_key(state: &State, filter: Handle) -> Result<String> {
    Ok(find(state, filter, "name")?.filter.key().to_owned())
}

/// How many bits it has.
pub fn bloom_filter_size(state: &State, filter: Handle) -> Result<i64> {
    Ok(find(state, filter, "size")?.filter.size().cast_signed())
}

/// How many bits an item has.
pub fn bloom_filter_hashes(state: &State, filter: Handle) -> Result<i64> {
    Ok(find(state, filter, "hashes")?.filter.hashes().into())
}

/// Adds items: of each whether it is new.
///
/// # Errors and cancel safety
/// As `BloomFilter::add` of core.
pub async fn bloom_filter_add(state: &'static State, filter: Handle, items: BloomItems) -> Result<Flags> {
    find(state, filter, "add to bloom filter")?.filter.add_items(&items).await.map(Flags)
}

/// Adds one item: whether it is new.
///
/// # Errors and cancel safety
/// As `BloomFilter::add` of core.
pub async fn bloom_filter_add_one(state: &'static State, filter: Handle, item: BloomItems) -> Result<bool> {
    Ok(bloom_filter_add(state, filter, item).await?.0.contains(&true))
}

/// Looks for items: of each whether it was added.
///
/// # Errors and cancel safety
/// As `BloomFilter::contains` of core.
pub async fn bloom_filter_contains(state: &'static State, filter: Handle, items: BloomItems) -> Result<Flags> {
    find(state, filter, "look into bloom filter")?.filter.contains_items(&items).await.map(Flags)
}

/// Looks for one item: whether it was added.
///
/// # Errors and cancel safety
/// As `BloomFilter::contains` of core.
pub async fn bloom_filter_contains_one(state: &'static State, filter: Handle, item: BloomItems) -> Result<bool> {
    Ok(bloom_filter_contains(state, filter, item).await?.0.contains(&true))
}

/// How many items were added, as far as the bits tell.
///
/// # Errors and cancel safety
/// As `BloomFilter::count` of core.
pub async fn bloom_filter_count(state: &'static State, filter: Handle) -> Result<i64> {
    // Below 2^53.
    find(state, filter, "look at bloom filter")?.filter.count().await.map(u64::cast_signed)
}

/// The rate of false positives now.
///
/// # Errors and cancel safety
/// As `BloomFilter::false_positive_rate` of core.
pub async fn bloom_filter_false_positive_rate(state: &'static State, filter: Handle) -> Result<Real> {
    find(state, filter, "look at bloom filter")?.filter.false_positive_rate().await.map(Real)
}

/// Removes it; whether it was there.
///
/// # Errors and cancel safety
/// As `BloomFilter::clear` of core.
pub async fn bloom_filter_clear(state: &'static State, filter: Handle) -> Result<bool> {
    find(state, filter, "clear bloom filter")?.filter.clear().await
}

fn find(state: &State, filter: Handle, op: &'static str) -> Result<Arc<BloomFilterEntry>> {
    state.get(filter, op)
}
