//! Ids: 64-bit numbers that grow with time and that no two workers ever share, made without asking a server for each.
//!
//! A worker needs a number that nobody else has. [`Client::worker`](crate::Client::worker) leases one, and is the recommended
//! way: numbers need not be handed out, and are free again when a process dies.
//!
//! ```
//! # let client = libdlock::Client::blocking_connect("memory://")?;
//! # client.block_on(async {
//! let worker = client.worker("orders").await?;
//! let ids = worker.snowflake(libdlock::id::Layout::DEFAULT)?;
//! assert!(ids.next_id()? < ids.next_id()?);
//! # Ok::<(), libdlock::Error>(()) })?;
//! # Ok::<(), libdlock::Error>(())
//! ```
//!
//! A program that has numbers of its own to give, such as the ordinal of a pod, needs no server at all:
//!
//! ```
//! use libdlock::id::{Snowflake, encode, parse};
//!
//! let ids = Snowflake::new(1, 7)?; // datacenter 1, worker 7: of this process and of no other
//! let id = ids.next_id()?;
//! assert!(ids.next_id()? > id);
//! let parts = ids.decode(id)?;
//! assert_eq!((parts.datacenter, parts.worker), (1, 7));
//! assert_eq!(parse(&encode(id, 62)?, 62)?, id);
//! # Ok::<(), libdlock::Error>(())
//! ```
//!
//! # The algorithm
//!
//! An id is a time in milliseconds, the numbers of the datacenter and of the worker, and a sequence that counts within the
//! millisecond (Twitter's Snowflake, 2010). Time and sequence together are one number, the *slot* (`slots.rs`): the next slot
//! is the larger of "one more than the last" and "the first of this millisecond", taken by one atomic compare-and-exchange.
//! So slots only ever grow, whatever the clock says.
//!
//! The clock is the wall clock when the generator starts, and from then on a monotonic one (`timeline.rs`) that follows the wall
//! clock slowly (`watch.rs`): a running generator never sees a step. A start looks at what this process has used before under the same identity (`identity.rs`) and
//! waits until the wall clock is past it, or refuses.
//!
//! # What it takes from you
//!
//! What follows is about numbers that are given, not leased. A datacenter and worker number belongs to one process at a time. Two processes that use the same one make duplicates, and
//! nothing here can see it. A process that starts again within a millisecond of its predecessor's end (10 more if that borrowed
//! ahead), or after the clock was set back at any time since that *started*, is a second process too: the predecessor went on
//! by the clock that it started with, and followed the new one at 500 millionths. Let it wait for as long as the clock was set back, or give it another number.
//!
//! What generators of one process share, they share within one loaded copy of the library. Two copies, as two class loaders
//! of a JVM load them, are two processes.

#[cfg(test)]
mod clock_tests;
mod generator;
mod identity;
mod layout;
mod slots;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod watch;
pub(crate) mod worker;

pub use generator::{MAX_BATCH, MAX_BORROW, MAX_START_WAIT, Snowflake, SnowflakeBuilder};
pub use layout::{Layout, Parts};
pub use text::{encode, parse};
pub use worker::{MAX_BITS, Worker, WorkerOptions};
