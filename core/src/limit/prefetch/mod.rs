//! Tokens that a client fetches ahead, so that it decides most calls by itself, without the server.
//!
//! On the server a token has a place on the axis of the theoretical arrival time: a charge pushes the TAT on, and what lies
//! between where it was and where it is now belongs to that charge alone. A client that fetches ahead has a longer piece
//! charged than one call needs (`stretch.rs`), and runs the same algorithm on it, with the TAT inside of the piece. A part of it
//! that was not used by its own time is gone: the bucket has as much more by then. So the promise of the limiter holds
//! exactly, and by the time at which each token is used, whoever fetched it.
//!
//! How much is fetched is told by what was used a moment ago (`demand.rs`). When the server had less, the client does not ask
//! again for some 30 ms. When no call has come for a while, and when the client closes, what is left is given back; a process
//! that dies keeps from others, for good, what the rate brings in a second at the very most.

mod asking;
mod demand;
mod known;
#[cfg(test)]
mod oracle_test;
mod pocket;
mod share;
mod stretch;

pub(super) use pocket::Pocket;
pub(super) use share::{Pockets, Share};
