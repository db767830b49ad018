//! What a limiter answers.

use std::time::{Duration, SystemTime};

use super::rate::Rate;
use super::step::Judged;
use super::tat::Span;

/// A limiter's answer, with what there is to know about the bucket after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// Whether the tokens were granted; for a cost of 0, whether one could be had.
    pub allowed: bool,
    /// How many were: the cost, or 0.
    pub granted: u64,
    /// How many could be had at once now.
    pub remaining: u64,
    /// How long until the same cost can be granted, at the soonest: zero when it was (for a cost of 0: when one token is
    /// there), `None` for never, under a rate of 0 tokens. In whole microseconds, rounded up.
    pub retry_after: Option<Duration>,
    /// How long until the bucket is full again. In whole microseconds, rounded up.
    pub reset_after: Duration,
    /// The most that can be had at once: the burst, or this process's share of it when a policy granted that.
    pub limit: u64,
    /// When it was decided, on the server's clock to the microsecond; `None` when it was decided without the server, by a
    /// policy or because the wait was over before the turn came.
    pub server_time: Option<SystemTime>,
}

impl Decision {
    /// The answer to `cost` that follows from what the server's script says.
    pub(super) fn of(rate: Rate, cost: u64, judged: Judged) -> Decision {
        let now = SystemTime::UNIX_EPOCH + Duration::from_micros(judged.now.0);
        let used = judged.tat.work(rate.unit()).saturating_sub(Span::at(judged.now).work(rate.unit()));
        Decision { server_time: Some(now), ..Decision::from_used(rate, cost, judged.allowed, used) }
    }

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
