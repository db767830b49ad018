//! A grant in time: how long it is valid, how it is renewed, and how its holder learns that it is lost.

mod grant;
mod keeper;
mod loss;
mod schedule;
mod tenure;

use std::time::Duration;

pub use grant::Grant;
pub(crate) use grant::{GrantSpec, OnLost};
pub(crate) use keeper::Keeper;
pub use loss::{HoldState, LossReason};

use crate::step::BatchStep;
use crate::time::Tick;

/// What the server says to a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// It lasts for `left_ms` from now.
    Prolonged { left_ms: u64 },
    /// There is no such key.
    Absent,
    /// Somebody else holds it.
    Taken,
    /// The key holds something else now.
    WrongType,
}

/// What the keeper of leases has to do next for a grant.
enum Watch {
    /// Nothing more: it is over.
    Over,
    Renew {
        at: Tick,
        lease: Duration,
        lose_at: Tick,
    },
    Expire {
        lose_at: Tick,
    },
}

/// The step by which a primitive prolongs its holds.
pub(crate) trait Renewal: BatchStep<Reply = Renewed> {
    fn of(grant: &Grant, lease: Duration) -> Self;
}

/// How long a hold lasts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lease {
    /// The client's `lease` option, renewed at a third of it until released or lost.
    #[default]
    Watchdog,
    /// This long, 100 ms to 24 h, and never renewed unless it is extended.
    Fixed(Duration),
}

impl Lease {
    /// The duration on the wire, given the watchdog's.
    pub(crate) fn duration(self, watchdog: Duration) -> Duration {
        match self {
            Lease::Watchdog => watchdog,
            Lease::Fixed(lease) => lease,
        }
    }
}

/// By how much a client stops believing before the server does: the two clocks may differ in rate, and a check takes time.
fn margin(lease: Duration) -> Duration {
    Duration::from_millis(10) + lease / 100
}

/// How long before the end of validity the lost signal fires, so that it is delivered in time.
fn warning(lease: Duration) -> Duration {
    Duration::from_millis(25).min(lease / 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_the_shortest_lease_leaves_time_to_work() {
        let lease = crate::config::MIN_LEASE;
        assert!(margin(lease) + warning(lease) < lease / 3);
    }
}
