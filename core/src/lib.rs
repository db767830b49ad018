//! Distributed locks and rate limiters on Redis or Valkey, in Redisson's layout, and unique ids that need no server. Processes
//! in any language of libdlock share them.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use std::time::Duration;
//!
//! use libdlock::{Client, Rate, Snowflake};
//!
//! let client = Client::connect("memory://").await?; // or redis://host:port/db
//!
//! // A lock: one holder at a time among all processes.
//! let held = client.lock("orders/42")?.acquire_timeout(Duration::from_secs(2)).await?;
//! // Act only while held.is_valid(), and send held.token() along with every write.
//! assert!(held.is_valid() && held.token() > 0);
//! held.release().await?; // dropping it releases too, in the background
//!
//! // A rate limiter: 100 requests a second for all processes together, at most 20 at once.
//! let api = client.rate_limiter("api", Rate::new(100, Duration::from_secs(1)).burst(20))?;
//! assert!(api.try_acquire(1).await?.allowed);
//!
//! // Ids that grow with time. No other process may have this pair of numbers.
//! let ids = Snowflake::new(1, 7)?;
//! assert!(ids.next_id()? < ids.next_id()?);
//! # Ok::<(), libdlock::Error>(()) }).unwrap();
//! ```
//!
//! # What there is
//!
//! | | |
//! |---|---|
//! | [`Client`], [`config`] | the connection, its options and its URL, also without a runtime ([`Client::blocking_connect`]) |
//! | [`lock`] | [`Lock`] and what an acquire returns, [`Held`]: wait, extend, re-enter, hand to another process, inspect |
//! | [`LockAll`] | several locks as one, all or none: [`HeldAll`] is held as long as each of them is |
//! | [`rw_lock`] | [`RwLock`]: many readers or one writer, in order; [`RwHeld`] is what an acquire of either side returns |
//! | [`counting_semaphore`] | [`CountingSemaphore`]: permits without owner or lease, for those who share them with Redisson |
//! | [`lease`] | what a hold is: its fencing token, its validity, and why it was lost |
//! | [`queue`] | [`Queue`]: a delayed queue of jobs, each delivered at least once |
//! | [`latch`] | [`Latch`]: wait until a count has come down to zero |
//! | [`limit`] | [`RateLimiter`]: ask or wait for tokens, and what to answer while the server is away |
//! | [`bloom`] | [`BloomFilter`]: whether an item was added, without keeping the items, as Redisson's `RBloomFilter` |
//! | [`id_generator`] | [`IdGenerator`]: numbers from a sequence on the server, which a process takes in blocks |
//! | [`id`] | [`Snowflake`]: layouts, single ids and batches, decoding, text; [`Worker`]: numbers under leases for it |
//! | [`survey`] | what tools ask: which objects there are, how a server is set up, which rights a user needs |
//! | [`error`], [`event`], [`stats`] | what went wrong, what a client says while it works, what it has counted |
//!
//! `memory://` needs no server and [`ManualClock`] no sleep: for tests. `rediss://` has TLS ([`Config::from_url`]), unless the
//! cargo feature `tls`, which is on by default, is off.
//!
//! # What a lock promises
//!
//! At any instant the *server* grants a name to at most one owner. No lock with a lease can promise more: a process may
//! stop for a minute between its check and its write. So every grant carries a *fencing token*, larger than any before it
//! for that name; give it to the resource, and let the resource refuse a token lower than the highest it has seen.

#![forbid(unsafe_code)]

#[cfg(test)]
mod access_test;
mod backend;
mod blocking;
pub mod bloom;
mod client;
pub mod config;
mod contended;
mod context;
pub mod counting_semaphore;
#[doc(hidden)]
pub mod embed;
mod ended;
pub mod error;
pub mod event;
pub mod id;
pub mod id_generator;
pub mod latch;
pub mod lease;
pub mod limit;
pub mod lock;
mod name;
mod objects;
pub mod queue;
pub mod rw_lock;
pub mod semaphore;
mod span;
pub mod stats;
mod step;
pub mod survey;
mod task;
mod text;
mod time;
mod wait;

pub use bloom::BloomFilter;
pub use client::Client;
pub use config::Config;
pub use counting_semaphore::CountingSemaphore;
pub use error::{Error, ErrorKind, Result};
pub use id::{Snowflake, Worker};
pub use id_generator::IdGenerator;
pub use latch::Latch;
pub use limit::{Decision, Rate, RateLimiter};
pub use lock::{Held, HeldAll, Lock, LockAll};
pub use name::MAX_NAME_BYTES;
pub use queue::Queue;
pub use rw_lock::{RwHeld, RwLock};
pub use semaphore::{Permits, Semaphore};
pub use time::ManualClock;
pub use wait::Wait;
