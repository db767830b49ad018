//! The algorithm of Redisson's `RRateLimiter`, on its keys: a log of what was acquired, of which each entry counts for one
//! interval. At most the rate is granted in any interval.
//!
//! The rate stands on the server, and what stands there counts. The number of permits that are available stands beside the
//! log, so that a call need not add up the log: `log.rs` says when it does all the same. Everything is judged by the server's
//! clock, where Redisson's clients use their own: `docs/protocol/rate-limiter.md` tells what follows.

mod asking;
mod log;
#[cfg(test)]
mod model_test;
#[cfg(test)]
mod oracle_test;
mod shared;
mod step;
mod terms;
#[cfg(test)]
mod tests;

pub(super) use shared::{Known, Shared};
pub(crate) use step::RedissonState;
pub(super) use terms::Terms;
