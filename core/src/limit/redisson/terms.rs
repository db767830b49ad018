//! What a limiter of Redisson lets through: what stands in its hash.

use std::fmt;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::limit::Rate;
use crate::limit::object::LimitObject;
use crate::objects::ObjectKind;
use crate::time::millis;

/// The most permits of one acquire, and so of a rate that we make: a member of the log has 32 bits for them.
pub(crate) const MAX_PERMITS: u64 = u32::MAX as u64;

/// The longest interval: a hundred years, as of other rates.
const LONGEST_MS: u64 = crate::limit::rate::LONGEST_US / 1_000;

/// How long the keys that we make outlive their last use, beyond an interval.
const IDLE_MS: u64 = 86_400_000;

/// So many permits in any interval, of all clients together or of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// Redisson's `rate`.
    pub(crate) permits: u64,
    pub(crate) interval_ms: u64,
    /// Redisson's type `PER_CLIENT`, and not `OVERALL`.
    pub(crate) per_client: bool,
}

impl Terms {
    /// Those of a rate that was checked by [`Terms::check`].
    pub(crate) fn of(rate: Rate, per_client: bool) -> Terms {
        Terms { permits: rate.tokens(), interval_ms: millis(rate.per()), per_client }
    }

    /// Whether Redisson can have such a rate.
    pub(crate) fn check(rate: Rate) -> Result<()> {
        let refuse = |what: String, allowed: String| {
            Err(Error::refused(ErrorKind::InvalidArgument, LimitObject::KIND, what, allowed))
        };
        let (tokens, per) = (rate.tokens(), rate.per());
        if !(1..=MAX_PERMITS).contains(&tokens) {
            let what = format!("rate of {tokens} tokens is out of range for a limiter of Redisson");
            return refuse(what, format!("1 to {MAX_PERMITS}"));
        }
        if per.subsec_nanos() % 1_000_000 != 0 || !(1..=LONGEST_MS).contains(&millis(per)) {
            let allowed = "1 ms to 100 years, in whole milliseconds".to_owned();
            return refuse(format!("period {per:?} is out of range for a limiter of Redisson"), allowed);
        }
        if rate.limit() != tokens {
            let what =
                format!("a burst of {} at a rate of {tokens}: a limiter of Redisson has none of its own", rate.limit());
            return refuse(what, format!("{tokens}, or no burst"));
        }
        Ok(())
    }

    /// `keepAliveTime` of a limiter that we make.
    pub(crate) fn keep_alive_ms(self) -> u64 {
        self.interval_ms + IDLE_MS
    }

    pub(crate) fn interval(self) -> Duration {
        Duration::from_millis(self.interval_ms)
    }

    /// Redisson's number of the type.
    pub(crate) fn kind(self) -> &'static str {
        if self.per_client { "1" } else { "0" }
    }
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = if self.per_client { " for each client" } else { "" };
        write!(f, "{} in {:?}{whose}", self.permits, self.interval())
    }
}
