//! The Bloom filter: whether an item was added before, in a few bits for each, whatever its length. What was added is always
//! found; of what was not, a share is found all the same, the rate of false positives.
//!
//! On the server it has the layout of Redisson's `RBloomFilter`, bit for bit: the string `<name>` has the bits, and the hash
//! `{<name>}:config` says how many there are and how many of them an item has. Which ones, the client finds by HighwayHash. One
//! script looks whether the configuration is the caller's, and then sets or reads the bits of many items.
//!
//! A script that adds leaves the same bits behind when it is sent again, but which items were new only the first one can tell. So
//! it is not sent again when its reply is lost: the caller decides. The wire format is in `docs/protocol`.

mod items;
#[cfg(test)]
mod model_test;
mod sizing;
mod step;
#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

pub use items::Items;
pub(crate) use sizing::Sizing;
pub(crate) use step::BloomState;
use step::{Add, Answer, Clear, Contains, Found, Look};

use crate::context::Context;
use crate::ended::while_open;
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::millis;

/// The most bits that a filter has, as Redisson's: 2^32 - 2, which are 512 MiB.
pub const MAX_SIZE: u64 = u32::MAX as u64 - 1;

/// The most items that a filter can be made for: 2^53 - 1. [`MAX_SIZE`] is the tighter limit, except at rates near 1.
pub const MAX_EXPECTED: u64 = (1 << 53) - 1;

/// The largest [`BloomFilter::count`], which stands for a filter that is full: 2^53 - 1.
pub const MAX_COUNT: u64 = (1 << 53) - 1;

/// The most items that one call adds or looks for.
pub const MAX_BATCH: usize = 1_000_000;

/// The longest time to live: 100 years of 365.25 days.
pub const MAX_TTL: Duration = Duration::from_secs(100 * 31_557_600);

/// So many bits are set or read by one script, which takes a server 6 ms at most: the items of a larger call go in several.
const BITS_AT_ONCE: usize = 16_384;

/// The kind of object in errors.
const KIND: &str = "bloom filter";

/// How a [`BloomFilter`] is made.
///
/// ```
/// use std::time::Duration;
///
/// use libdlock::bloom::BloomFilterOptions;
///
/// let client = libdlock::Client::blocking_connect("memory://")?;
/// let day = BloomFilterOptions::new(1_000, 0.01).ttl(Duration::from_secs(86_400));
/// let seen = client.bloom_filter_with("seen/2026-11-26", day)?;
/// assert_eq!(client.block_on(seen.add(["a", "b", "a"]))?, [true, true, false]);
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct BloomFilterOptions {
    /// For how many items: as long as no more were added, false positives stay below the rate. 1 to [`MAX_EXPECTED`].
    pub expected: u64,
    /// The share of items that were not added and are found all the same, once all those that are expected were added. Above 0
    /// and below 1. It decides on the size by Redisson's formula, which takes the bits of an item for independent. They are not
    /// quite: the real rate lies a fifth above 1 %, and two to four times above 0.01 %, as `docs/bloom-filter.md` has measured.
    pub false_positive_rate: f64,
    /// How long the filter lives from when its first item is added on, 1 ms to [`MAX_TTL`]; without, it stays until it is
    /// cleared. It counts for whoever makes the filter on the server.
    pub ttl: Option<Duration>,
}

impl BloomFilterOptions {
    /// For so many items, with this rate of false positives, without an end.
    pub fn new(expected: u64, false_positive_rate: f64) -> BloomFilterOptions {
        BloomFilterOptions { expected, false_positive_rate, ttl: None }
    }

    /// Sets how long the filter lives from when its first item is added on.
    pub fn ttl(mut self, ttl: Duration) -> BloomFilterOptions {
        self.ttl = Some(ttl);
        self
    }
}

/// A named Bloom filter. Cheap to clone; all filters that any process makes of one name are the same filter, Redisson's
/// `RBloomFilter` among them.
///
/// It is made on the server when the first item is added. From then on it has the size and the number of hashes that follow
/// from the options of whoever added it. A filter with other ones is refused with [`ErrorKind::WrongType`], by an error that shows both
/// configurations, until it is [cleared](BloomFilter::clear). One that is not on the server contains nothing.
///
/// More items than expected are taken, too; the rate of false positives then grows beyond the one that was asked for, and
/// [`BloomFilter::false_positive_rate`] says where it is. No item can be removed.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let users = client.bloom_filter("users", 1_000_000, 0.01)?;
/// assert_eq!(users.add(["ada", "grace"]).await?, [true, true]);
/// assert_eq!(users.contains(["ada", "nobody"]).await?, [true, false]);
/// assert_eq!(users.count().await?, 2);
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct BloomFilter {
    context: Arc<Context>,
    name: ObjectName,
    sizing: Sizing,
    ttl: Option<Duration>,
}

impl BloomFilter {
    /// The filter of this name. No I/O.
    pub(crate) fn open(context: &Arc<Context>, name: &str, options: BloomFilterOptions) -> Result<BloomFilter> {
        let name = context.name_of::<BloomState>(KIND, name)?;
        let BloomFilterOptions { expected, false_positive_rate, ttl } = options;
        let sizing = Sizing::new(KIND, expected, false_positive_rate).map_err(|error| error.on(name.as_str()))?;
        if let Some(ttl) = ttl.filter(|ttl| !(Duration::from_millis(1)..=MAX_TTL).contains(ttl)) {
            let given = format_args!("a time to live of {ttl:?} is out of range");
            let refused = Error::refused(ErrorKind::InvalidArgument, KIND, given, "1 ms to 100 years");
            return Err(refused.on(name.as_str()));
        }
        Ok(BloomFilter { context: context.clone(), name, sizing, ttl })
    }

    /// The name that it was made with. On the server the client's `key_prefix` stands before it, and so it does in errors and
    /// events, for whoever looks for the key there.
    pub fn name(&self) -> &str {
        self.name.as_given()
    }

    /// The name on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.name.as_str()
    }

    /// How many bits the filter has: an eighth of its bytes on the server. No I/O.
    pub fn size(&self) -> u64 {
        self.sizing.size()
    }

    /// How many bits an item has. No I/O.
    pub fn hashes(&self) -> u32 {
        self.sizing.hashes()
    }

    /// Adds items, bytes or texts; of each whether it is new: whether one of its bits was not set before. False may be a false
    /// positive. Of an item that is given twice, the first is new.
    ///
    /// One script adds them all, or one for each 16,384 bits: 2,340 items with 7 hashes. Others may see a part of a larger call, and
    /// an error may leave a part of it added. No item answers none, and asks nobody.
    ///
    /// # Errors
    /// [`ErrorKind::WrongType`] when the filter on the server has another configuration, and when the keys hold something
    /// else. [`ErrorKind::InvalidArgument`] for more than [`MAX_BATCH`] items. [`ErrorKind::Connection`] when the server was
    /// not reached within `operation_timeout`. [`ErrorKind::OutcomeUnknown`] when no reply came within
    /// `response_timeout`: it is unknown what was added and which items were new. Adding them again adds what is missing.
    /// [`ErrorKind::NoPermission`], [`ErrorKind::OutOfMemory`] and [`ErrorKind::Server`] as the server says;
    /// [`ErrorKind::Closed`], [`ErrorKind::Forked`] and [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future may leave none, some or all of the items added.
    pub async fn add<I: AsRef<[u8]>>(&self, items: impl IntoIterator<Item = I>) -> Result<Vec<bool>> {
        self.add_items(&items.into_iter().collect()).await
    }

    /// As [`BloomFilter::add`], of items whose hashes are known.
    ///
    /// # Errors and cancel safety
    /// As [`BloomFilter::add`].
    pub async fn add_items(&self, items: &Items) -> Result<Vec<bool>> {
        self.check(Add::OP, items)?;
        let ttl_ms = self.ttl.map_or(0, millis);
        let mut answers = Vec::with_capacity(items.len());
        for bits in items.bits(self.sizing, self.items_at_once()) {
            let (step, wanted) = (Add { sizing: self.sizing, ttl_ms, bits }, answers.len());
            answers.extend(self.ask(&step).await?);
            self.check_count(Add::OP, &step.bits, answers.len() - wanted)?;
        }
        Ok(answers)
    }

    /// Looks for items, bytes or texts; of each whether it was added. True may be a false positive, false is certain.
    ///
    /// As many scripts as [`BloomFilter::add`] has look for them. No item answers none, and asks nobody.
    ///
    /// # Errors
    /// As [`BloomFilter::add`], but for [`ErrorKind::OutcomeUnknown`] and [`ErrorKind::OutOfMemory`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn contains<I: AsRef<[u8]>>(&self, items: impl IntoIterator<Item = I>) -> Result<Vec<bool>> {
        self.contains_items(&items.into_iter().collect()).await
    }

    /// As [`BloomFilter::contains`], of items whose hashes are known.
    ///
    /// # Errors and cancel safety
    /// As [`BloomFilter::contains`].
    pub async fn contains_items(&self, items: &Items) -> Result<Vec<bool>> {
        self.check(Contains::OP, items)?;
        let mut answers = Vec::with_capacity(items.len());
        for bits in items.bits(self.sizing, self.items_at_once()) {
            let (step, wanted) = (Contains { sizing: self.sizing, bits }, answers.len());
            answers.extend(self.ask(&step).await?);
            self.check_count(Contains::OP, &step.bits, answers.len() - wanted)?;
        }
        Ok(answers)
    }

    /// How many different items were added, as the bits that are set let expect: within a percent or so as long as no more were
    /// added than expected. [`MAX_COUNT`] when all bits are set.
    ///
    /// The server counts all bits: 50 ms for a filter of 512 MiB, during which it does nothing else.
    ///
    /// # Errors and cancel safety
    /// As [`BloomFilter::contains`].
    pub async fn count(&self) -> Result<u64> {
        Ok(self.sizing.count(self.ones().await?))
    }

    /// The rate of false positives now, by the bits that are set: from 0 of an empty filter over the rate that was asked for, once
    /// all items were added that are expected, to 1 of a full one. As for [`BloomFilterOptions::false_positive_rate`], the real
    /// share lies above it.
    ///
    /// The server counts all bits, as for [`BloomFilter::count`].
    ///
    /// # Errors and cancel safety
    /// As [`BloomFilter::contains`].
    pub async fn false_positive_rate(&self) -> Result<f64> {
        Ok(self.sizing.rate_now(self.ones().await?))
    }

    /// Removes the filter, whatever configuration it has; false when it was not there. Whoever adds the next item makes it anew, with
    /// its own configuration.
    ///
    /// # Errors
    /// As [`BloomFilter::add`], but for another configuration, and [`ErrorKind::OutOfMemory`]: it works on a server that is
    /// full. [`ErrorKind::OutcomeUnknown`] when a request was sent and no repeat could find out what became of it.
    /// [`ErrorKind::Clock`] when the server's clock jumps back and forth.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn clear(&self) -> Result<bool> {
        self.check_open(Clear::OP)?;
        let clear = self.context.operate_once(&self.name, |once| Clear { once });
        self.while_open(Clear::OP, pin!(clear)).await?.map_err(|failed| self.explained(failed.error))
    }

    async fn ones(&self) -> Result<u64> {
        self.check_open(Look::OP)?;
        self.ask(&Look { sizing: self.sizing }).await
    }

    /// What the server answers.
    async fn ask<T, S: Step<Reply = Answer<T>>>(&self, step: &S) -> Result<T> {
        let asked = pin!(self.context.operate(&self.name, step));
        let done = self.while_open(S::OP, asked).await?.map_err(|failed| self.explained(failed.error))?;
        done.reply.map_err(|found| self.other(S::OP, &found))
    }

    /// How many items one script takes.
    fn items_at_once(&self) -> usize {
        (BITS_AT_ONCE / self.hashes() as usize).max(1)
    }

    fn check(&self, op: &'static str, items: &Items) -> Result<()> {
        self.check_open(op)?;
        if items.len() <= MAX_BATCH {
            return Ok(());
        }
        let given = format_args!("a batch of {} items is out of range", items.len());
        Err(Error::refused(ErrorKind::InvalidArgument, op, given, format!("0 to {MAX_BATCH}")).on(self.key()))
    }

    /// The server has to have answered for each item.
    fn check_count(&self, op: &'static str, bits: &[u32], answers: usize) -> Result<()> {
        if answers * self.hashes() as usize == bits.len() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Server, op, "the server's reply has another number of answers").on(self.key()))
    }

    fn check_open(&self, op: &'static str) -> Result<()> {
        self.context.check_open(op).map_err(|error| error.on(self.key()))
    }

    async fn while_open<T>(&self, op: &'static str, work: Pin<&mut impl Future<Output = T>>) -> Result<T> {
        while_open(op, &self.context.tasks, work).await.map_err(|error| error.on(self.key()))
    }

    /// The filter on the server is another one.
    fn other(&self, op: &'static str, found: &Found) -> Error {
        fn shown(number: Option<impl fmt::Display>) -> String {
            number.map_or_else(|| "?".to_owned(), |number| number.to_string())
        }
        let message = format!(
            "the filter on the server has another configuration: {} bits and {} hashes, for {} items at a rate of {}; this one has {} \
             bits and {} hashes, for {} items at a rate of {}; use the same, clear the filter, or choose another name",
            shown(found.size),
            shown(found.hashes),
            shown(found.expected),
            shown(found.rate),
            self.size(),
            self.hashes(),
            self.sizing.expected(),
            self.sizing.rate(),
        );
        Error::new(ErrorKind::WrongType, op, message).on(self.key())
    }

    /// Names the keys that hold something else.
    fn explained(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::WrongType {
            return error;
        }
        let config = self.name.suffixed_parts(step::CONFIG).concat();
        let message = format!(
            "this key and {config} hold no Bloom filter, and were left untouched: another kind of object, or bits whose \
             configuration is gone; choose another name, or delete both keys"
        );
        error.retold(error.op(), message)
    }
}

impl Drop for BloomFilter {
    fn drop(&mut self) {
        self.context.tasks.leak_if_forked(&self.context);
    }
}

impl fmt::Debug for BloomFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BloomFilter").field("name", &self.name).field("size", &self.size()).finish_non_exhaustive()
    }
}
