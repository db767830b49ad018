//! Rates: what a limiter lets through.

use std::time::Duration;

use super::object::LimitObject;
use super::redisson::Terms;
use super::tat::Span;
use crate::error::{Error, ErrorKind, Result};
use crate::objects::ObjectKind;

/// The most tokens that a rate or a burst may have.
const MAX_TOKENS: u64 = 1_000_000_000_000;

/// The longest period, and the longest that a burst may take to come back: a hundred years of 365.25 days.
pub(super) const LONGEST_US: u64 = 100 * 31_557_600 * 1_000_000;

/// So many tokens in each period, and so many at once.
///
/// The *burst* is the whole bucket: that many can be had at once after a quiet time, and no more. (redis-cell counts one less
/// and calls it `max_burst`.) It is the tokens of one period unless [`Rate::burst`] says otherwise.
///
/// Tokens: 0 (refuses everything) to 10^12. Burst: 1 to 10^12, and such that the empty bucket is full again within 100 years.
/// Period: 1 us to 100 years, in whole microseconds. Checked where a limiter is made.
///
/// ```
/// use std::time::Duration;
///
/// use libdlock::Rate;
///
/// // 100 a second on average, and never more than 20 at once.
/// let rate = Rate::new(100, Duration::from_secs(1)).burst(20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    tokens: u64,
    per: Duration,
    burst: u64,
    algorithm: Algorithm,
}

/// How a rate is kept, and in which keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// A token bucket: no more than the burst, and what the rate brings, in any interval.
    #[default]
    Gcra,
    /// That of Redisson's `RRateLimiter`, on its keys, for fleets that share limiters with Redisson: at most the rate in any
    /// interval of the period.
    ///
    /// The rate stands on the server. A limiter that is not there is made with the given one, as by `trySetRate`, and ends a
    /// day and a period after its last use. Of one that is there the rate on the server counts, whoever has set it; where the
    /// given one differs, an event says so, once.
    ///
    /// Tokens: 1 to 2^32 - 1. Period: 1 ms to 100 years, in whole milliseconds. Its burst is its tokens.
    ///
    /// Its price on the server is some 100 bytes for each acquire within the last period. Its waiters ask again when their
    /// tokens should be there: in order within one client, and against other clients as it comes.
    Redisson {
        /// Whether each client has the rate for itself (`PER_CLIENT`), and not all together (`OVERALL`).
        per_client: bool,
    },
}

impl Rate {
    /// `tokens` in each period of `per`, with a burst of as many.
    pub const fn new(tokens: u64, per: Duration) -> Rate {
        Rate { tokens, per, burst: tokens, algorithm: Algorithm::Gcra }
    }

    /// The same rate with another burst.
    #[must_use]
    pub const fn burst(self, burst: u64) -> Rate {
        Rate { burst, ..self }
    }

    /// The same rate, kept by this algorithm.
    ///
    /// ```
    /// # let client = libdlock::Client::blocking_connect("memory://")?;
    /// # client.block_on(async {
    /// use std::time::Duration;
    ///
    /// use libdlock::Rate;
    /// use libdlock::limit::Algorithm;
    ///
    /// // The RRateLimiter of this name, of all clients together.
    /// let shared = Rate::new(100, Duration::from_secs(1)).algorithm(Algorithm::Redisson { per_client: false });
    /// let decision = client.rate_limiter("api", shared)?.try_acquire(1).await?;
    /// assert!(decision.allowed && decision.remaining == 99);
    /// # Ok::<(), libdlock::Error>(()) })?;
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    #[must_use]
    pub const fn algorithm(self, algorithm: Algorithm) -> Rate {
        Rate { algorithm, ..self }
    }

    /// The algorithm that keeps it.
    pub const fn kept_by(&self) -> Algorithm {
        self.algorithm
    }

    /// The tokens of one period.
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The period.
    pub const fn per(&self) -> Duration {
        self.per
    }

    /// The most tokens that can be had at once; what a limiter calls its limit.
    pub const fn limit(&self) -> u64 {
        if self.tokens == 0 { 0 } else { self.burst }
    }

    pub(super) fn check(&self) -> Result<()> {
        let refuse = |what: String, allowed: String| {
            Err(Error::refused(ErrorKind::InvalidArgument, LimitObject::KIND, what, allowed))
        };
        let Rate { tokens, per, burst, algorithm } = *self;
        if matches!(algorithm, Algorithm::Redisson { .. }) {
            return Terms::check(*self);
        }
        if tokens > MAX_TOKENS {
            return refuse(format!("rate of {tokens} tokens is out of range"), format!("0 to {MAX_TOKENS}"));
        }
        if per.is_zero() || per.as_micros() > u128::from(LONGEST_US) || per.subsec_nanos() % 1_000 != 0 {
            let allowed = "1 us to 100 years, in whole microseconds".to_owned();
            return refuse(format!("period {per:?} is out of range"), allowed);
        }
        if tokens == 0 {
            return Ok(());
        }
        if burst == 0 || burst > MAX_TOKENS {
            return refuse(format!("burst {burst} is out of range"), format!("1 to {MAX_TOKENS}"));
        }
        if self.work(burst) > u128::from(LONGEST_US) * u128::from(tokens) {
            let most = u128::from(LONGEST_US) * u128::from(tokens) / per.as_micros();
            let what = format!("a burst of {burst} at {tokens} per {per:?} takes more than 100 years to come back");
            return refuse(what, format!("a burst of 1 to {most}"));
        }
        Ok(())
    }

    pub(super) fn check_cost(&self, op: &'static str, cost: u64) -> Result<()> {
        // A rate of nothing refuses whatever is asked; there is no cost that would be right.
        if self.tokens == 0 || cost <= self.burst {
            return Ok(());
        }
        let what = format_args!("a cost of {cost} can never be granted: the burst is {}", self.burst);
        Err(Error::refused(ErrorKind::InvalidArgument, op, what, format!("0 to {}", self.burst)))
    }

    /// In how many parts a microsecond is counted: exact for every cost.
    pub(super) fn unit(&self) -> u64 {
        self.tokens.max(1)
    }

    /// The time in which `cost` tokens come back, in parts of [`Rate::unit`].
    pub(super) fn work(&self, cost: u64) -> u128 {
        u128::from(cost) * self.per.as_micros()
    }

    /// The same in microseconds and parts.
    pub(super) fn span(&self, cost: u64) -> Span {
        Span::of(self.work(cost), self.unit())
    }
}
