//! What a limiter answers.

use std::time::{Duration, SystemTime};

use super::rate::Rate;

/// A limiter's answer, with what there is to know about the bucket after it.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use std::time::Duration;
///
/// use libdlock::Rate;
///
/// let api = client.rate_limiter("api", Rate::new(1, Duration::from_secs(60)))?;
/// assert!(api.try_acquire(1).await?.allowed);
/// let refused = api.try_acquire(1).await?;
/// assert!(!refused.allowed && refused.retry_after.is_some_and(|wait| wait <= Duration::from_secs(60)));
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    // <api:decision> written by `python3 api/write.py` from api/records.json
    /// Whether the tokens were granted; for a cost of 0, whether one could be had.
    pub allowed: bool,
    /// How many were: the cost, or 0.
    pub granted: u64,
    /// How many could be had at once now.
    pub remaining: u64,
    /// How long until the same cost can be granted, at the soonest: zero when it was (for a cost of 0: when one token
    /// is there), `None` for never, under a rate of 0 tokens. In whole microseconds, rounded up.
    pub retry_after: Option<Duration>,
    /// How long until the bucket is full again. In whole microseconds, rounded up.
    pub reset_after: Duration,
    /// The most that can be had at once: the burst, or this client's share of it when a policy granted that.
    pub limit: u64,
    /// When it was decided, or from when on the tokens that were waited for may be used: on the server's clock, to
    /// the microsecond. `None` when a policy decided without the server.
    pub server_time: Option<SystemTime>,
    // </api:decision>
}

impl Decision {
    /// The answer when the bucket lacks `used` parts of the time that it takes to fill.
    pub(super) fn from_used(rate: Rate, cost: u64, allowed: bool, used: u128) -> Decision {
        let unit = u128::from(rate.unit());
        let whole = rate.work(rate.limit());
        let remaining = whole.saturating_sub(used) / rate.work(1).max(1);
        let asked = cost.max(1);
        let allowed = allowed && rate.limit() > 0 && (cost > 0 || remaining > 0);
        let missing = (used + rate.work(asked)).saturating_sub(whole);
        Decision {
            allowed,
            granted: if allowed { cost } else { 0 },
            remaining: remaining as u64,
            retry_after: match allowed {
                true => Some(Duration::ZERO),
                false => (rate.limit() > 0).then(|| Duration::from_micros(missing.div_ceil(unit) as u64)),
            },
            reset_after: Duration::from_micros(used.div_ceil(unit) as u64),
            limit: rate.limit(),
            server_time: None,
        }
    }

    /// Refused by a policy that says no to everything.
    pub(super) fn deny(rate: Rate, cost: u64) -> Decision {
        Decision::from_used(rate, cost, false, rate.work(rate.limit()))
    }

    /// Granted by a policy that says yes to everything.
    pub(super) fn allow(rate: Rate, cost: u64) -> Decision {
        Decision::from_used(rate, cost, true, 0)
    }
}
