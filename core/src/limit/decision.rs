//! What a limiter answers.

use std::time::{Duration, SystemTime};

use super::rate::Rate;
use super::rates::Rates;
use super::step::{Judged, outlook};

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
    /// How many could be had at once now; zero while a block refuses all.
    pub remaining: u64,
    /// How long until the same cost can be granted, at the soonest: zero when it was (for a cost of 0: when one token
    /// is there), `None` for never, under a rate of 0 tokens. In whole microseconds, rounded up.
    pub retry_after: Option<Duration>,
    /// How long until the bucket is full again, and a block over. In whole microseconds, rounded up.
    pub reset_after: Duration,
    /// The most that can be had at once: the burst, or this client's share of it when a policy granted that.
    pub limit: u64,
    /// Which of the limiter's rates is the last to have the tokens of a request that was refused, counted from 0;
    /// `None` when it was granted, and when a block or a policy refused it.
    pub refused_by: Option<u64>,
    /// How long until the tokens that were granted may be used: zero except after `reserve`.
    pub usable_after: Duration,
    /// When it was decided, or from when on the tokens that were waited for may be used: on the server's clock, to
    /// the microsecond. `None` when a policy decided without the server.
    pub server_time: Option<SystemTime>,
    // </api:decision>
}

impl Decision {
    /// What was judged, as it is at `at`, in us since 2025: at once, or when what was reserved may be used.
    pub(super) fn of(rates: &Rates, cost: u64, judged: &Judged, at: u64) -> Decision {
        let never = rates.limit() < cost.max(1);
        let allowed = judged.allowed && !never;
        let outlooks = rates.iter().zip(&judged.standings).map(|(rate, standing)| (rate, outlook(rate, *standing, at)));
        let (limit, remaining) = outlooks
            .clone()
            .map(|(rate, (remaining, _))| (rate.limit(), remaining.min(rate.limit())))
            .min_by_key(|(_, remaining)| *remaining)
            .unwrap_or_default();
        let reset_us = outlooks.map(|(_, (_, reset_us))| reset_us).max().unwrap_or(0);
        // A mark is the last that says when, and its time has not come: until then there is nothing to be had.
        let blocked_us = if judged.which as usize > rates.len() { judged.at.saturating_sub(at) } else { 0 };
        let (remaining, reset_us) = if blocked_us > 0 { (0, reset_us.max(blocked_us)) } else { (remaining, reset_us) };
        Decision {
            allowed,
            granted: if allowed { cost } else { 0 },
            remaining,
            retry_after: match (allowed, never) {
                (true, _) => Some(Duration::ZERO),
                (false, false) => Some(Duration::from_micros(judged.at.saturating_sub(at))),
                (false, true) => None,
            },
            reset_after: Duration::from_micros(reset_us),
            limit,
            refused_by: match (allowed, never) {
                (true, _) => None,
                (false, false) => (judged.which as usize).checked_sub(1).filter(|which| *which < rates.len()),
                (false, true) => rates.iter().position(|rate| rate.limit() < cost.max(1)),
            }
            .map(|which| which as u64),
            usable_after: Duration::ZERO,
            server_time: None,
        }
    }

    /// The answer of a limiter with one rate, by GCRA, whose bucket lacks `used` parts of the time that it takes to fill.
    pub(super) fn from_used(rate: Rate, cost: u64, allowed: bool, used: u128) -> Decision {
        let unit = u128::from(rate.unit());
        let whole = rate.work(rate.limit());
        let remaining = whole.saturating_sub(used) / rate.work(1).max(1);
        let asked = cost.max(1);
        let never = asked > rate.limit();
        let allowed = allowed && !never && (cost > 0 || remaining > 0);
        let missing = (used + rate.work(asked)).saturating_sub(whole);
        Decision {
            allowed,
            granted: if allowed { cost } else { 0 },
            remaining: remaining as u64,
            retry_after: match allowed {
                true => Some(Duration::ZERO),
                false => (!never).then(|| Duration::from_micros(missing.div_ceil(unit) as u64)),
            },
            reset_after: Duration::from_micros(used.div_ceil(unit) as u64),
            limit: rate.limit(),
            refused_by: (!allowed).then_some(0),
            usable_after: Duration::ZERO,
            server_time: None,
        }
    }

    /// Refused by a policy that says no to everything.
    pub(super) fn deny(rates: &Rates, cost: u64) -> Decision {
        let whole = rates.iter().map(Rate::refill_us).max().unwrap_or(0);
        let one = Duration::from_micros(rates.iter().map(|rate| rate.refill_part_us(cost.max(1))).max().unwrap_or(0));
        Decision {
            allowed: false,
            granted: 0,
            remaining: 0,
            retry_after: (rates.limit() >= cost.max(1)).then_some(one),
            reset_after: Duration::from_micros(whole),
            limit: rates.limit(),
            refused_by: None,
            usable_after: Duration::ZERO,
            server_time: None,
        }
    }

    /// Granted by a policy that says yes to everything.
    pub(super) fn allow(rates: &Rates, cost: u64) -> Decision {
        let allowed = rates.limit() >= cost.max(1);
        Decision {
            allowed,
            granted: if allowed { cost } else { 0 },
            remaining: rates.limit(),
            retry_after: allowed.then_some(Duration::ZERO),
            reset_after: Duration::ZERO,
            limit: rates.limit(),
            refused_by: None,
            usable_after: Duration::ZERO,
            server_time: None,
        }
    }
}
