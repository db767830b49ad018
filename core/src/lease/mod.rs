//! A grant in time: how long it is valid, how it is renewed, and how its holder learns that it is lost.

mod due;
mod grant;
mod holder;
mod keeper;
mod loss;
mod options;
mod parcel;
mod part;
mod renewal;
mod schedule;
mod tenure;
mod verify;

use std::time::Duration;

pub use grant::Grant;
pub(crate) use grant::{GrantSpec, Source};
pub use holder::HolderId;
pub(crate) use keeper::Keeper;
pub use loss::{HoldState, LossReason};
pub use options::AcquireOptions;
pub(crate) use options::check_leases;
pub(crate) use parcel::Parcel;
pub(crate) use renewal::{GrantKind, Renewal, RenewedBy};

use crate::step::{Malformed, Reply, wire};
use crate::time::Tick;

/// What the server says to a renewal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// It lasts for `left_ms` from now.
    Prolonged { left_ms: u64 },
    /// There is no such key.
    Gone,
    /// Somebody else holds it.
    Taken,
    /// The key holds something else now.
    WrongType,
    /// Of several servers too few have answered, or said the same: the hold is as it was.
    Undecided,
}

impl Renewed {
    /// Reads what a script says of many holds: ms that are left, or why there are none.
    pub(crate) fn decode_each(reply: Reply) -> Result<Vec<Renewed>, Malformed> {
        let read = |item: &Reply| match wire::int(Some(item))? {
            left @ 1.. => Ok(Renewed::Prolonged { left_ms: left.unsigned_abs() }),
            0 => Ok(Renewed::Gone),
            -2 => Ok(Renewed::Taken),
            -3 => Ok(Renewed::WrongType),
            _ => Err(Malformed),
        };
        wire::list(reply)?.iter().map(read).collect()
    }
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

/// How long a hold lasts.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use std::time::Duration;
///
/// use libdlock::lease::Lease;
/// use libdlock::lock::LockOptions;
///
/// let options = LockOptions::default().lease(Lease::Fixed(Duration::from_secs(5)));
/// let held = client.lock_with("orders/42", options)?.acquire().await?;
/// assert!(held.remaining() <= Duration::from_secs(5));
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lease {
    /// The lock's [`watchdog_lease`](crate::lock::LockOptions::watchdog_lease), by default the client's `lease` option: renewed
    /// at a third of it until released or lost.
    #[default]
    Watchdog,
    /// This long, 100 ms to 24 h, and never renewed unless it is extended.
    Fixed(Duration),
}

impl Lease {
    /// With its length, given that of the lock's watchdog.
    pub(crate) fn term(self, watchdog: Duration) -> Term {
        match self {
            Lease::Watchdog => Term::Renewed(watchdog),
            Lease::Fixed(lease) => Term::Fixed(lease),
        }
    }
}

/// A [`Lease`] with its length: what an acquire asks for, and what two holds have in common when one can follow the other
/// without the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Term {
    /// By the watchdog, for this long each time.
    Renewed(Duration),
    /// This long, unless it is extended.
    Fixed(Duration),
}

impl Term {
    /// The length on the wire.
    pub(crate) fn lease(self) -> Duration {
        match self {
            Term::Renewed(lease) | Term::Fixed(lease) => lease,
        }
    }

    /// The lease with which the watchdog renews it, if it does.
    pub(crate) fn watchdog(self) -> Option<Duration> {
        match self {
            Term::Renewed(lease) => Some(lease),
            Term::Fixed(_) => None,
        }
    }

    pub(crate) fn is_renewed(self) -> bool {
        self.watchdog().is_some()
    }
}

/// The margin of a lease that the watchdog renews, in percent: more than the 8.3 % by which a clock may be slewed (chrony's
/// default limit). It costs nothing, since the renewals come at a third.
const RENEWED_MARGIN: u8 = 10;

/// By how much a client stops believing before the server does: the two clocks may differ in rate by `percent`, and a check
/// takes time.
fn margin(lease: Duration, percent: u8) -> Duration {
    Duration::from_millis(10) + lease * u32::from(percent) / 100
}

/// Until when a holder may believe in a lease that the watchdog renews and that was asked for at `sent`.
pub(crate) fn believed_until(sent: Tick, lease: Duration, clock_drift: u8) -> Tick {
    tenure::valid_until(sent, lease, true, clock_drift)
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
        assert!(margin(lease, RENEWED_MARGIN) + warning(lease) < lease / 3);
        assert!(margin(lease, 50) + warning(lease) < lease * 3 / 4, "the largest clock_drift");
    }
}
