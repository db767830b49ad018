//! How a lock is made.

use std::time::Duration;

use super::Exclusive;
use crate::contended::Primitive;
use crate::error::Result;
use crate::lease::{Lease, check_leases};

/// How a [`Lock`](super::Lock) is made.
///
/// ```
/// # use libdlock::lease::Lease;
/// # use libdlock::lock::LockOptions;
/// # use std::time::Duration;
/// let options = LockOptions::default().lease(Lease::Fixed(Duration::from_secs(10))).reentrant(false);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockOptions {
    /// The lease of an acquire that names none.
    pub lease: Lease,
    /// The lease with which the watchdog renews what is held through this lock, 100 ms to 24 h; the client's `lease` when
    /// `None`. Cannot be given together with a fixed [`lease`](LockOptions::lease), which nothing renews.
    pub watchdog_lease: Option<Duration>,
    /// Whether a holder may acquire again what it holds; the client's option when `None`. Where it may not, it gets
    /// [`ErrorKind::Deadlock`](crate::ErrorKind::Deadlock) at once instead of waiting for itself.
    pub reentrant: Option<bool>,
}

impl LockOptions {
    /// Sets the lease of an acquire that names none.
    pub const fn lease(mut self, lease: Lease) -> LockOptions {
        self.lease = lease;
        self
    }

    /// Sets the lease with which the watchdog renews what is held through this lock, also what this lock attaches. Callers
    /// whose locks have different watchdog leases are not handed a hold within the process: it goes by way of the server.
    pub const fn watchdog_lease(mut self, lease: Duration) -> LockOptions {
        self.watchdog_lease = Some(lease);
        self
    }

    /// Sets whether a holder may acquire again what it holds.
    pub const fn reentrant(mut self, reentrant: bool) -> LockOptions {
        self.reentrant = Some(reentrant);
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        check_leases(Exclusive::KIND, self.lease, self.watchdog_lease)
    }
}
