//! Distributed locks and rate limiters on Redis or Valkey that every language of a company can share, in Redisson's layout.
//!
//! ```
//! # tokio::runtime::Runtime::new().unwrap().block_on(async {
//! use libdlock::Client;
//!
//! let client = Client::connect("memory://").await?; // or redis://host:port/db
//! let held = client.lock("orders/42")?.acquire().await?;
//! // Act only while held.is_valid(), and send held.token() along with every write.
//! assert!(held.is_valid() && held.token() > 0);
//! held.release().await?;
//! # Ok::<(), libdlock::Error>(()) }).unwrap();
//! ```
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
mod client;
pub mod config;
mod contended;
mod context;
#[doc(hidden)]
pub mod embed;
mod ended;
pub mod error;
pub mod event;
pub mod id;
pub mod lease;
pub mod limit;
pub mod lock;
mod name;
mod objects;
pub mod stats;
mod step;
mod task;
mod text;
mod time;
mod wait;

pub use client::Client;
pub use config::Config;
pub use error::{Error, ErrorKind, Result};
pub use id::Snowflake;
pub use limit::{Decision, Rate, RateLimiter};
pub use lock::{Held, Lock};
pub use name::MAX_NAME_BYTES;
pub use time::ManualClock;
pub use wait::Wait;
