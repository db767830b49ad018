//! A model of objects that several callers can hold at once: the semaphore, and the admission rules of the read-write lock.
//!
//! It has the queue, the inboxes and the timers of the lock's model. What is new: an object has a number of permits, each
//! caller wants some of them, and neighbours in the queue are admitted together if their wants fit into what is available. A
//! read lock is one permit, a write lock is all of them ([`Config::read_write`]).
//!
//! A process has one place in the queue and one request under way, and may hold several grants beside that. A release is one
//! event: a release that is sent at one time and carried out later equals a release that is sent later, because the caller
//! chooses when, and its bytes can only remove the permits of its own attempt.

pub mod client;
pub mod config;
pub mod faults;
pub mod keys;
pub mod model;
pub mod properties;
pub mod queue;
pub mod server;
pub mod state;
pub mod symmetry;

pub use config::{Config, Rules};
pub use model::Action;
pub use state::State;
