//! Rates: what a limiter lets through, and how it counts.

use std::str::FromStr;
use std::time::Duration;

use super::object::LimitObject;
use super::redisson::Terms;
use super::tat::Span;
use crate::error::{Error, ErrorKind, Result};
use crate::objects::ObjectKind;

/// The most tokens that a rate or a burst may have.
const MAX_TOKENS: u64 = 1_000_000_000_000;

/// The most tokens of a sliding log, which keeps an entry for each.
const MAX_LOG: u64 = 100_000;

/// The longest period, and the longest that a burst may take to come back: a hundred years of 365.25 days.
pub(super) const LONGEST_US: u64 = 100 * 31_557_600 * 1_000_000;

/// How a [`Rate`] counts. All count on the server's clock; waiting, reservations and several rates in one decision work with
/// every one.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// use std::time::Duration;
///
/// use libdlock::Rate;
/// use libdlock::limit::Algorithm;
///
/// // Never more than 100 in any minute, whenever it begins.
/// let rate = Rate::new(100, Duration::from_secs(60)).by(Algorithm::SlidingLog);
/// let exports = client.rate_limiter("exports", rate)?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// A bucket of `burst` tokens that fills evenly (the generic cell rate algorithm): never more than the burst and what the
    /// rate brings in any interval. One number for each limiter.
    #[default]
    Gcra,
    /// At most the tokens of a period in each window of that length. A window begins with the first request after the last
    /// one is over. Around the border of two windows up to twice as many can pass. Two numbers for each limiter.
    FixedWindow,
    /// As [`Algorithm::FixedWindow`], with windows at the multiples of the period since 2025-01-01 00:00 UTC on the server's
    /// clock: full minutes, hours, days.
    AlignedWindow,
    /// At most the tokens of a period in *any* interval of that length, exactly. The server keeps an entry for each request
    /// that was granted in the last period, so the tokens are 100,000 at most.
    SlidingLog,
    /// As a sliding log in about, in four numbers for each limiter: what was granted in the last aligned window counts for as
    /// much as of that window lies within one period before now. At most the tokens of a period in each aligned window, and less
    /// than twice as many in any interval of that length.
    SlidingCounter,
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

impl Algorithm {
    /// All that have keys of their own.
    #[cfg(test)]
    pub(super) const OWN: [Algorithm; 5] = [
        Algorithm::Gcra,
        Algorithm::FixedWindow,
        Algorithm::AlignedWindow,
        Algorithm::SlidingLog,
        Algorithm::SlidingCounter,
    ];

    /// Its name in every language: `gcra`, `fixed_window`, `aligned_window`, `sliding_log`, `sliding_counter` or
    /// `redisson`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Algorithm::Gcra => "gcra",
            Algorithm::FixedWindow => "fixed_window",
            Algorithm::AlignedWindow => "aligned_window",
            Algorithm::SlidingLog => "sliding_log",
            Algorithm::SlidingCounter => "sliding_counter",
            Algorithm::Redisson { .. } => "redisson",
        }
    }
}

/// From its name, as [`Algorithm::as_str`] gives it; `redisson_per_client` is Redisson's `PER_CLIENT`.
///
/// ```
/// use libdlock::limit::Algorithm;
///
/// assert_eq!("sliding_log".parse::<Algorithm>()?, Algorithm::SlidingLog);
/// # Ok::<(), libdlock::Error>(())
/// ```
impl FromStr for Algorithm {
    type Err = Error;

    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for any other word.
    fn from_str(word: &str) -> Result<Algorithm> {
        match word {
            "gcra" => Ok(Algorithm::Gcra),
            "fixed_window" => Ok(Algorithm::FixedWindow),
            "aligned_window" => Ok(Algorithm::AlignedWindow),
            "sliding_log" => Ok(Algorithm::SlidingLog),
            "sliding_counter" => Ok(Algorithm::SlidingCounter),
            "redisson" => Ok(Algorithm::Redisson { per_client: false }),
            "redisson_per_client" => Ok(Algorithm::Redisson { per_client: true }),
            _ => {
                const WORDS: &str = "gcra, fixed_window, aligned_window, sliding_log, sliding_counter, redisson and \
                    redisson_per_client";
                refuse(format!("there is no algorithm {word:?}"), WORDS.to_owned())
            }
        }
    }
}

/// So many tokens in each period, and so many at once.
///
/// The *burst* is the whole bucket: that many can be had at once after a quiet time, and no more. (redis-cell counts one less
/// and calls it `max_burst`.) It is the tokens of one period unless [`Rate::burst`] says otherwise, and always with another
/// [`Algorithm`] than GCRA.
///
/// Tokens: 0 (refuses everything) to 10^12, with a sliding log to 100,000. Burst: 1 to 10^12, and such that the empty bucket is
/// full again within 100 years. Period: 1 us to 100 years, in whole microseconds. Checked where a limiter is made.
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

    /// The same rate, counted by another algorithm.
    #[must_use]
    pub const fn by(self, algorithm: Algorithm) -> Rate {
        Rate { algorithm, ..self }
    }

    /// The tokens of one period.
    pub const fn tokens(&self) -> u64 {
        self.tokens
    }

    /// The period.
    pub const fn per(&self) -> Duration {
        self.per
    }

    /// How it counts.
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The most tokens that can be had at once; what a limiter calls its limit.
    pub const fn limit(&self) -> u64 {
        if self.tokens == 0 { 0 } else { self.burst }
    }

    pub(super) fn check(&self) -> Result<()> {
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
        if algorithm == Algorithm::SlidingLog && tokens > MAX_LOG {
            let what = format!("rate of {tokens} tokens is out of range for a sliding log, which keeps each of them");
            return refuse(what, format!("0 to {MAX_LOG}, or the algorithm sliding_counter"));
        }
        if algorithm != Algorithm::Gcra && burst != tokens {
            let what = format!("a burst of {burst} was given with the algorithm {}", algorithm.as_str());
            return refuse(what, "a burst with gcra alone".to_owned());
        }
        if tokens == 0 || algorithm != Algorithm::Gcra {
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

    /// Whether whatever this one allows, the other allows too: no more tokens, in no less time.
    pub(super) fn never_exceeds(&self, other: &Rate) -> bool {
        self.tokens <= other.tokens && self.per >= other.per && self.limit() <= other.limit()
    }

    pub(super) fn per_us(&self) -> u64 {
        self.per.as_micros() as u64
    }

    /// In how many us all that can be had at once comes back.
    pub(super) fn refill_us(&self) -> u64 {
        self.refill_part_us(self.limit())
    }

    /// In how many us so many tokens come back at the latest.
    pub(super) fn refill_part_us(&self, cost: u64) -> u64 {
        match self.algorithm {
            Algorithm::Gcra => self.work(cost).div_ceil(u128::from(self.unit())) as u64,
            _ => self.per_us(),
        }
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

    pub(super) fn words(&self) -> String {
        format!("{} per {:?}", self.tokens, self.per)
    }
}

pub(super) fn refuse<T>(what: String, allowed: String) -> Result<T> {
    Err(Error::refused(ErrorKind::InvalidArgument, LimitObject::KIND, what, allowed))
}
