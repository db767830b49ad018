//! A model of a lock on several independent servers, of which a majority grants it (Redlock), with tokens that grow.
//!
//! A client asks all servers at once. If a majority grants, it writes the largest of their tokens back to a majority, and only
//! then gives out the hold; otherwise it releases everywhere. `server` holds the scripts of one server as pure functions, and
//! `client` the rounds of a client. `faults` is what happens to servers, clients and the network, and `properties` is what holds
//! in every state all the same. `config` lists the rules, each of which can be removed.
//!
//! Time passes in ticks, about a third of a lease. All instants are relative to now. As in the other models, a tick comes only
//! when nothing is due: a network that works takes no time, and one that does not is a fault. The clocks of the servers may
//! differ from one another, and may run fast by at most [`DRIFT`](config::DRIFT) in a lease.

pub mod client;
pub mod config;
pub mod faults;
pub mod model;
pub mod properties;
pub mod server;
pub mod state;
pub mod symmetry;

pub use config::{Config, Kinds, Rules};
pub use model::Action;
pub use state::State;
