//! How a limiter is made.

use super::absent::Absent;
use super::rate::Rate;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimiterOptions {
    /// What it lets through.
    pub rate: Rate,
    /// What it answers while the server cannot be reached; an error by default.
    pub absent: Absent,
}

impl LimiterOptions {
    /// This rate, and an error while the server cannot be reached.
    pub fn new(rate: Rate) -> LimiterOptions {
        LimiterOptions { rate, absent: Absent::default() }
    }

    /// Sets what it answers while the server cannot be reached.
    pub fn absent(mut self, absent: Absent) -> LimiterOptions {
        self.absent = absent;
        self
    }
}
