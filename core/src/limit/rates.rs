//! The rates of one limiter: one, or several of which each decision needs all.

use std::ops::Deref;

use smallvec::SmallVec;

use super::rate::{Algorithm, Rate, refuse};
use crate::error::Result;

/// The most rates that a limiter may have: each makes every decision longer.
const MOST: usize = 8;

/// What a limiter lets through: one [`Rate`], or several, all of which must grant a request for any of them to be charged.
///
/// 1 to 8 rates. None of them may be one that another makes pointless: of two, the one with the longer period has more
/// tokens. One by [`Algorithm::Redisson`] is alone. Checked where a limiter is made.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use std::time::Duration;
///
/// use libdlock::Rate;
///
/// let rates = [Rate::new(10, Duration::from_secs(1)), Rate::new(300, Duration::from_secs(60))];
/// let api = client.rate_limiter("api", rates)?;
/// assert!(api.try_acquire(10).await?.allowed);
/// let refused = api.try_acquire(1).await?;
/// assert_eq!(refused.refused_by, Some(0), "the first: 10 a second");
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rates(SmallVec<[Rate; 1]>);

impl Rates {
    pub(super) fn check(&self) -> Result<()> {
        if self.is_empty() || self.len() > MOST {
            return refuse(format!("{} rates were given", self.len()), format!("1 to {MOST} rates"));
        }
        self.iter().try_for_each(Rate::check)?;
        if self.len() > 1 && self.iter().any(|rate| matches!(rate.algorithm(), Algorithm::Redisson { .. })) {
            let what = format!("{} rates were given, one of them by redisson", self.len());
            return refuse(what, "one rate by redisson, or several by other algorithms".to_owned());
        }
        for (at, rate) in self.iter().enumerate() {
            let others = self.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| other);
            if let Some(other) = others.into_iter().find(|other| rate.never_exceeds(other)) {
                let what = format!("the rates {} and {} contradict each other", other.words(), rate.words());
                let allowed = "rates of different periods, the longer with more tokens";
                return refuse(format!("{what}: the first is never reached"), allowed.to_owned());
            }
        }
        Ok(())
    }

    /// As a warning says it: "10 per 1s with a burst of 20 by gcra, 300 per 60s by sliding_log".
    pub(super) fn words(&self) -> String {
        let of_one = |rate: &Rate| {
            let burst = if rate.limit() == rate.tokens() {
                String::new()
            } else {
                format!(" with a burst of {}", rate.limit())
            };
            format!("{}{burst} by {}", rate.words(), rate.algorithm().as_str())
        };
        self.iter().map(of_one).collect::<Vec<_>>().join(", ")
    }

    /// The most tokens that can ever be had at once.
    pub(super) fn limit(&self) -> u64 {
        self.iter().map(Rate::limit).min().unwrap_or(0)
    }

    /// The cost, or 0 if it can never be granted: then the limiter is only looked at.
    pub(super) fn grantable(&self, cost: u64) -> u64 {
        if cost <= self.limit() { cost } else { 0 }
    }
}

impl Deref for Rates {
    type Target = [Rate];

    fn deref(&self) -> &[Rate] {
        &self.0
    }
}

impl From<Rate> for Rates {
    fn from(rate: Rate) -> Rates {
        Rates(SmallVec::from_buf([rate]))
    }
}

impl<const N: usize> From<[Rate; N]> for Rates {
    fn from(rates: [Rate; N]) -> Rates {
        Rates(rates.into_iter().collect())
    }
}

impl From<Vec<Rate>> for Rates {
    fn from(rates: Vec<Rate>) -> Rates {
        Rates(rates.into())
    }
}

impl From<&[Rate]> for Rates {
    fn from(rates: &[Rate]) -> Rates {
        Rates(rates.into())
    }
}
