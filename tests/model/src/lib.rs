//! A model of ordered waiting between processes: the queue, the stamps, the inboxes, the timers, and what can go wrong.
//!
//! `server` holds the scripts as pure functions of the keys, `client` what a process does on each reply, message and timer,
//! `faults` what the world does to both. `model` puts them together for stateright, which tries every order of events in a
//! bounded space and looks at every state with `properties`. `config` says how large the space is and which rules are in force:
//! each rule that the protocol rests on can be taken out, and the tests show that something then breaks.
//! `permits` is the same for objects that several can hold, and `once` has the requests that leave nothing but a number behind.
//! `latch` is small, and by itself. `jobs` is the delayed queue. `quorum` is a lock on several servers, of which a majority grants it.
//!
//! # Time
//!
//! Time passes in ticks, one for the timer of the head (about a second). All instants are kept as ticks *from now*, so that a
//! state that comes back after a second is the same state. Between two ticks everything that is under way arrives and every
//! timer that is due fires, in every order: a network that works takes no time compared with a timer, one that does not is a
//! fault. A process may use any time for what is its caller's: to come, to give up, to hold the lock and to release it.

pub mod check;
pub mod client;
pub mod config;
pub mod faults;
pub mod jobs;
pub mod latch;
pub mod model;
pub mod once;
pub mod permits;
pub mod properties;
pub mod quorum;
pub mod server;
pub mod sets;
pub mod state;
pub mod symmetry;
pub mod worker;

pub use config::{Config, Kinds, Rules};
pub use model::Action;
pub use state::State;
