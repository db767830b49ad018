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

mod backend;
mod client;
mod config;
mod deadline;
mod error;
mod event;
pub mod id;
mod lease;
mod limit;
mod lock;
mod name;
mod registry;
mod stats;
mod step;
mod task;
mod time;
mod wait;

pub use client::Client;
pub use config::{Config, MAX_LEASE, MIN_LEASE};
pub use deadline::Wait;
pub use error::{Error, ErrorKind, Result};
pub use event::{Event, EventSink, Level};
pub use id::Snowflake;
pub use lease::{Grant, HoldState, Lease, LossReason};
pub use limit::{Absent, Decision, LimiterOptions, Rate, RateLimiter};
pub use lock::{Acquire, Held, HolderId, Inspection, Lock, LockOptions};
pub use name::{MAX_NAME_BYTES, name_from_utf8};
pub use stats::{HISTOGRAM_BUCKETS, Histogram, Stats};
pub use time::ManualClock;
