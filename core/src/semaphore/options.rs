//! How a semaphore is made.

use std::time::Duration;

use super::{Leased, MAX_PERMITS, refuse_permits};
use crate::contended::Primitive;
use crate::error::Result;
use crate::lease::{Lease, check_leases};

/// How a [`Semaphore`](super::Semaphore) is made.
///
/// ```
/// # use libdlock::lease::Lease;
/// # use libdlock::semaphore::SemaphoreOptions;
/// # use std::time::Duration;
/// let options = SemaphoreOptions::new(10).lease(Lease::Fixed(Duration::from_secs(10)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SemaphoreOptions {
    /// How many permits the semaphore has, 1 to [`MAX_PERMITS`], when it is made on the server. One that is there keeps its own
    /// number, which [`set_permits`](super::Semaphore::set_permits) changes; a client that was given another one warns.
    pub permits: u32,
    /// The lease of an acquire that names none.
    pub lease: Lease,
    /// The lease with which the watchdog renews what is held through this semaphore, 100 ms to 24 h; the client's `lease` when
    /// `None`. Cannot be given together with a fixed [`lease`](SemaphoreOptions::lease), which nothing renews.
    pub watchdog_lease: Option<Duration>,
}

impl SemaphoreOptions {
    /// A semaphore of so many permits.
    pub const fn new(permits: u32) -> SemaphoreOptions {
        SemaphoreOptions { permits, lease: Lease::Watchdog, watchdog_lease: None }
    }

    /// Sets the lease of an acquire that names none.
    pub const fn lease(mut self, lease: Lease) -> SemaphoreOptions {
        self.lease = lease;
        self
    }

    /// Sets the lease with which the watchdog renews what is held through this semaphore.
    pub const fn watchdog_lease(mut self, lease: Duration) -> SemaphoreOptions {
        self.watchdog_lease = Some(lease);
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        const OP: &str = Leased::KIND;
        if !(1..=MAX_PERMITS).contains(&self.permits) {
            return Err(refuse_permits(OP, self.permits, MAX_PERMITS));
        }
        check_leases(OP, self.lease, self.watchdog_lease)
    }
}
