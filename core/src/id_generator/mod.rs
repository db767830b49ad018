//! Ids in blocks: numbers that a server counts, of which a process takes a block at a time.
//!
//! On the server it has the layout of Redisson's `RIdGenerator`: the string `<name>` is the first id of the next block, and
//! `{<name>}:allocation` is how many ids a block has. One script takes a block; no other step is needed.
//!
//! The process hands the ids of its blocks out one by one, without asking anybody. When a fifth of a block is left the next one
//! is fetched in the background, so that callers do not wait as long as that fifth lasts longer than a round trip. Callers that
//! find too few wait in the order of their arrival for one fetch, which takes as many blocks as they want together.
//!
//! A fetch whose reply is lost is sent again: the block that it took is a gap. Nothing else could be a duplicate, since what
//! the server counts only grows. The wire format is in `docs/protocol`.

#[cfg(test)]
mod model_test;
mod object;
mod step;
mod stock;
#[cfg(test)]
mod tests;

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use object::{Fetching, IdGeneratorObject};
use step::Fetch;
pub(crate) use step::IdGeneratorState;

use crate::context::Context;
use crate::ended::{cut_off, while_open};
use crate::error::{Error, ErrorKind, Result};
use crate::objects::ObjectKind;
use crate::step::Step;

/// The most ids that one call takes.
pub const MAX_BATCH: usize = 1_000_000;

/// How many ids a block has if nobody says otherwise, as Redisson's.
pub const DEFAULT_BLOCK: u64 = 5_000;

/// The largest block: 2^53 - 1.
pub const MAX_BLOCK: u64 = (1 << 53) - 1;

/// How an [`IdGenerator`] begins. What the server knows already counts instead.
///
/// ```
/// use libdlock::id_generator::IdGeneratorOptions;
///
/// let client = libdlock::Client::blocking_connect("memory://")?;
/// let orders = client.id_generator_with("orders", IdGeneratorOptions::default().block(100).start(7_000_000))?;
/// assert_eq!(client.block_on(orders.next_id())?, 7_000_000);
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct IdGeneratorOptions {
    /// How many ids a process takes at a time, 1 to [`MAX_BLOCK`]; [`DEFAULT_BLOCK`] by default.
    pub block: u64,
    /// The first id of all, 1 by default.
    pub start: i64,
}

impl Default for IdGeneratorOptions {
    fn default() -> IdGeneratorOptions {
        IdGeneratorOptions { block: DEFAULT_BLOCK, start: 1 }
    }
}

impl IdGeneratorOptions {
    /// Sets how many ids a process takes at a time.
    pub fn block(mut self, block: u64) -> IdGeneratorOptions {
        self.block = block;
        self
    }

    /// Sets the first id of all.
    pub fn start(mut self, start: i64) -> IdGeneratorOptions {
        self.start = start;
        self
    }
}

/// A named generator of numbers, each given out once among all processes. Cheap to clone; all generators that any process makes
/// of one name count as one, Redisson's `RIdGenerator` among them.
///
/// It is what a sequence with a cache is in a database. Ids of one process grow, but those of two processes interleave in
/// blocks: an id says nothing about when it was made. There are gaps: what a process has of a block is lost when its client is
/// closed, when the last generator of the name is dropped, and when it ends; so is a block whose reply was lost.
///
/// The size of a block and the first id are kept on the server. Whoever asks first, or Redisson's `tryInit`, decides; options
/// that come later change nothing. [`IdGenerator::block_size`] says what counts.
///
/// A server that loses its data begins anew, at the start, and makes ids that were given out before; a replica that takes over
/// without the last writes gives those blocks out again. Where that must not happen, have the server write its data to disk,
/// and give a generator whose keys are lost a higher start.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let orders = client.id_generator("orders")?;
/// assert_eq!(orders.next_id().await?, 1);
/// assert_eq!(orders.next_ids(3).await?, [2, 3, 4]);
/// assert_eq!(orders.block_size(), 5_000);
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct IdGenerator {
    shared: Arc<IdGeneratorObject>,
    options: IdGeneratorOptions,
}

impl IdGenerator {
    /// The generator of this name. No I/O.
    pub(crate) fn open(context: &Arc<Context>, name: &str, options: IdGeneratorOptions) -> Result<IdGenerator> {
        let name = context.name_of::<IdGeneratorState>(IdGeneratorObject::KIND, name)?;
        if !(1..=MAX_BLOCK).contains(&options.block) {
            let given = format_args!("a block of {} ids is out of range", options.block);
            let range = format!("1 to {MAX_BLOCK}");
            let refused = Error::refused(ErrorKind::InvalidArgument, IdGeneratorObject::KIND, given, range);
            return Err(refused.on(name.as_str()));
        }
        let make = || IdGeneratorObject::new(name.clone(), context.clone());
        Ok(IdGenerator { shared: context.objects.get_or_insert(&name, make), options })
    }

    /// The name that it was made with. On the server the client's `key_prefix` stands before it, and so it does in errors and
    /// events, for whoever looks for the key there.
    pub fn name(&self) -> &str {
        self.shared.name().as_given()
    }

    /// The name on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.shared.name().as_str()
    }

    /// How many ids a block has: what the server said with the last one that this client fetched, and the option before the
    /// first. No I/O.
    pub fn block_size(&self) -> u64 {
        // In a forked child a thread that is not there may have the ids locked.
        let known = (!self.client().tasks.is_forked()).then(|| self.shared.stock().block());
        known.flatten().unwrap_or(self.options.block)
    }

    /// The next id. From the block of this process, without asking the server, as long as that has one.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] when there is no id left and the server was not reached, or did not answer, within
    /// `operation_timeout`: the call may be repeated, and a block that was taken for nobody is a gap.
    /// [`ErrorKind::Unsupported`] when the ids are used up: the next block would end beyond 2^63 - 1.
    /// [`ErrorKind::WrongType`] when one of the keys holds something else; [`ErrorKind::NoPermission`],
    /// [`ErrorKind::OutOfMemory`] and [`ErrorKind::Server`] as the server says; [`ErrorKind::Closed`],
    /// [`ErrorKind::Forked`] and [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future may leave a gap. What is being fetched stays with this process, for its next caller.
    pub async fn next_id(&self) -> Result<i64> {
        let mut id = 0;
        if self.take(std::slice::from_mut(&mut id))? {
            return Ok(id);
        }
        let ids = self.wait(1).await?;
        ids.first().copied().ok_or_else(|| self.let_down())
    }

    /// The next `count` ids, 1 to [`MAX_BATCH`], in increasing order. They need not follow one another without gaps.
    ///
    /// # Errors
    /// As [`IdGenerator::next_id`]; [`ErrorKind::InvalidArgument`] for the count.
    ///
    /// # Cancel safety
    /// As [`IdGenerator::next_id`].
    pub async fn next_ids(&self, count: usize) -> Result<Vec<i64>> {
        if !(1..=MAX_BATCH).contains(&count) {
            let given = format_args!("a batch of {count} is out of range");
            let refused = Error::refused(ErrorKind::InvalidArgument, "next ids", given, format!("1 to {MAX_BATCH}"));
            return Err(refused.on(self.key()));
        }
        let mut ids = vec![0; count];
        if self.take(&mut ids)? {
            return Ok(ids);
        }
        self.wait(count).await
    }

    /// Takes ids of this process, if there are enough; whether there were. Has more fetched when few are left.
    fn take(&self, ids: &mut [i64]) -> Result<bool> {
        self.client().check_open(Fetch::OP).map_err(|error| error.on(self.key()))?;
        let mut stock = self.shared.stock();
        let taken = stock.take(ids);
        if taken {
            self.shared.fetch_ahead(&mut stock, false, self.options);
        }
        Ok(taken)
    }

    /// Waits for so many.
    async fn wait(&self, count: usize) -> Result<Vec<i64>> {
        let tasks = &self.client().tasks;
        let waiting = pin!(self.wait_for_fetch(count));
        while_open(Fetch::OP, tasks, waiting).await.map_err(|error| error.on(self.key()))?
    }

    async fn wait_for_fetch(&self, count: usize) -> Result<Vec<i64>> {
        let tasks = &self.client().tasks;
        let (mut answer, begun) = {
            let mut stock = self.shared.stock();
            (stock.wait(count), stock.begin())
        };
        if begun {
            // Carried out here, and in the background once this caller has its ids, or is gone.
            let fetch = tasks.operation(Fetching::new(&self.shared).run(self.options));
            tokio::select! {
                biased;
                answer = &mut answer => return answer.unwrap_or_else(|_| Err(self.let_down())),
                _ = fetch => {}
            }
        }
        answer.await.unwrap_or_else(|_| Err(self.let_down()))
    }

    fn let_down(&self) -> Error {
        cut_off(Fetch::OP, &self.client().tasks, "the fetch").on(self.key())
    }

    fn client(&self) -> &Context {
        self.shared.client()
    }
}

impl Drop for IdGenerator {
    fn drop(&mut self) {
        self.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for IdGenerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdGenerator").field("name", self.shared.name()).field("options", &self.options).finish()
    }
}
