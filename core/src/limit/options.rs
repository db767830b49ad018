//! How a limiter is made.

use super::absent::Absent;
use super::prefetch::Share;
use super::rates::Rates;

/// How a [`RateLimiter`](super::RateLimiter) is made.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// use std::time::Duration;
///
/// use libdlock::limit::{Absent, LimiterOptions};
/// use libdlock::Rate;
///
/// // While the server is away, each of about four processes goes on with a quarter of the rate.
/// let rate = Rate::new(100, Duration::from_secs(1));
/// let api = client.rate_limiter_with("api", LimiterOptions::new(rate).absent(Absent::LocalShare { of: 4 }))?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimiterOptions {
    /// What it lets through.
    pub rates: Rates,
    /// What it answers while the server cannot be reached; an error by default.
    pub absent: Absent,
    /// See [`LimiterOptions::prefetch`].
    pub(super) prefetch: Option<Share>,
}

impl LimiterOptions {
    /// This [`Rate`](super::Rate), or these, an error while the server cannot be reached, and every decision the server's.
    pub fn new(rates: impl Into<Rates>) -> LimiterOptions {
        LimiterOptions { rates: rates.into(), absent: Absent::default(), prefetch: None }
    }

    /// Sets what it answers while the server cannot be reached.
    pub fn absent(mut self, absent: Absent) -> LimiterOptions {
        self.absent = absent;
        self
    }

    /// Has this client fetch tokens ahead and decide most calls by itself, in a fraction of a microsecond: for a key that is
    /// asked for thousands of times a second. `share` is the largest part of the burst that this client may have fetched and
    /// not used, more than 0 and no more than 1. Off by default.
    ///
    /// The rate is kept as without it: what was fetched is charged already, and each token is used no later than its own time,
    /// so that no interval t holds more than the burst and what the rate brings in t. How much is fetched follows from what was
    /// used in the last 100 ms, and is never more than the rate brings in 0.9 s. What is not used is given back 100 ms after the
    /// last call, when the last limiter of this name is dropped, and when the client closes. What others have charged
    /// behind it cannot be passed by: then it is lost, as is all of what a process has that is killed, once.
    ///
    /// The price:
    /// - Fairness among clients. One that has fetched its share goes on while another one is refused, for 80 ms or so. A client
    ///   that is refused asks again after 22 to 34 ms, and is refused without being asked for until then, though others may
    ///   have given something back meanwhile; [`Decision::retry_after`](super::Decision::retry_after) says so.
    /// - What [`RateLimiter::peek`](super::RateLimiter::peek) and other clients see as remaining is less by what has been
    ///   fetched and not used. Decisions of this client count what it has itself.
    /// - After a [`RateLimiter::reset`](super::RateLimiter::reset), or when the server loses its data or its clock jumps, what
    ///   other clients have fetched comes on top, for a second at most. For as long they go on after a
    ///   [`RateLimiter::block`](super::RateLimiter::block).
    ///
    /// A client asks the server some 25 times a second for a limiter that is in demand, up to 45 times when there is less
    /// than is wanted; more often only if its share of the burst lasts for less than 60 ms at the rate. It changes nothing
    /// where the share has less than two tokens, or fewer than two come in 0.9 s.
    ///
    /// ```
    /// # let client = libdlock::Client::blocking_connect("memory://")?;
    /// # client.block_on(async {
    /// use std::time::Duration;
    ///
    /// use libdlock::limit::LimiterOptions;
    /// use libdlock::Rate;
    ///
    /// let rate = Rate::new(1_000_000, Duration::from_secs(1));
    /// let api = client.rate_limiter_with("api", LimiterOptions::new(rate).prefetch(0.1))?;
    /// for _ in 0..10_000 {
    ///     assert!(api.try_acquire(1).await?.allowed);
    /// }
    /// # Ok::<(), libdlock::Error>(()) })?;
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    pub fn prefetch(mut self, share: f64) -> LimiterOptions {
        self.prefetch = Some(Share::new(share));
        self
    }
}
