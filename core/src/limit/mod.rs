//! The rate limiter: so many tokens a period, a burst of so many at once, shared by every process that uses the name.
//!
//! The algorithm is GCRA, the generic cell rate algorithm of ATM networks: one stored instant, the *theoretical arrival
//! time* (TAT) at which the bucket will be full again. A request pushes it on by its cost and is refused when it would then
//! lie further ahead than the whole burst takes to refill. A wait pushes it further, and may use its tokens when that is within
//! reach: a reservation. Everything is judged by the server's clock, in exact fractions of a microsecond (`tat.rs`), so a
//! limiter neither drifts nor depends on who asks.
//!
//! A limiter that is shared with Redisson has the algorithm and the keys of that, a log: see `redisson`.
//!
//! A decision is never asked for twice: one whose reply was lost counts as spent. `docs/protocol` tells what stands on
//! the server.

mod absent;
mod adjust;
mod ahead;
#[cfg(test)]
mod ahead_test;
mod answer;
mod asking;
mod clocks;
mod decision;
mod each;
#[cfg(test)]
mod given_back_test;
mod giving_back;
mod keyed;
mod limiter;
mod limits;
mod many;
#[cfg(test)]
mod model_test;
mod object;
mod options;
#[cfg(test)]
mod oracle_test;
#[cfg(test)]
mod oracles_test;
mod prefetch;
mod queue;
mod rate;
mod rates;
mod redisson;
mod reservations;
mod shares;
mod step;
mod tat;
mod times;
mod together;
#[cfg(test)]
mod together_test;
mod waiter;

pub use absent::Absent;
pub use decision::Decision;
pub use limiter::RateLimiter;
pub(crate) use limits::Limits;
pub use options::LimiterOptions;
pub use rate::{Algorithm, Rate};
pub use rates::Rates;
pub(crate) use redisson::RedissonState;
pub(crate) use step::LimitState;
