//! What the tests of libdlock stand on: real servers, a fault proxy, a steered server clock, worker processes and the
//! checker of lock histories. Nothing here depends on libdlock, so that a test can look at the server with other eyes.
//!
//! | module | answers |
//! |---|---|
//! | [`access`] | the rights that every test server gives its users |
//! | [`program`] | which server the tests start: Redis or Valkey, and which version |
//! | [`server`] | a private redis-server: start, restart, pause, stop |
//! | [`cluster`] | several primaries that share the slots, and their replicas |
//! | [`sentinels`] | three sentinels, a master and two replicas |
//! | [`replicated`] | a primary and its replicas |
//! | [`certificates`] | what a server and a client with TLS show one another |
//! | [`clock`] | the wall clock of such a server or of a client, frozen or shifted by the test |
//! | [`resp`] | one command to the server, without libdlock |
//! | [`scripted`] | a server whose replies the test writes |
//! | [`proxy`] | a network that misbehaves on demand |
//! | [`process`] | a worker in a process of its own that can be killed and stopped |
//! | [`own_process`] | a test that needs a process to itself |
//! | [`lateness`] | the delay with which this machine runs what is due |
//! | [`checker`] | whether a recorded history of holds was lawful |
//! | [`resource`] | what locks protect: an unprotected counter, a register that checks fencing tokens |
//! | [`wait`] | waiting for something observable, within a bound |

pub mod access;
pub mod certificates;
pub mod checker;
pub mod clock;
pub mod cluster;
pub mod lateness;
pub mod own_process;
pub mod port;
pub mod process;
pub mod program;
pub mod proxy;
pub mod replicated;
pub mod resource;
pub mod resp;
pub mod scripted;
pub mod sentinels;
pub mod server;
mod sys;
pub mod temp;
pub mod wait;

pub use certificates::{Authority, Certificate};
pub use checker::{Hold, check};
pub use clock::ClockHandle;
pub use cluster::Cluster;
pub use lateness::lateness;
pub use process::Worker;
pub use proxy::{Action, Proxy, Side};
pub use replicated::Replicated;
pub use resp::{Conn, Reply};
pub use scripted::Scripted;
pub use sentinels::Sentinels;
pub use server::Server;
pub use wait::{eventually, within};
