//! How a read-write lock is made.

use std::time::Duration;

use super::ReadWrite;
use crate::contended::Primitive;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Lease, check_leases};

/// How old a hold of readers may be to be joined, unless the option says otherwise.
const SHARED_AGE: Duration = Duration::from_millis(10);

/// The largest value of the option.
const LONGEST_SHARED_AGE: Duration = Duration::from_secs(10);

/// How an [`RwLock`](super::RwLock) is made.
///
/// ```
/// # use libdlock::lease::Lease;
/// # use libdlock::rw_lock::RwLockOptions;
/// # use std::time::Duration;
/// let options = RwLockOptions::default().lease(Lease::Fixed(Duration::from_secs(10)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RwLockOptions {
    /// The lease of an acquire that names none.
    pub lease: Lease,
    /// The lease with which the watchdog renews what is held through this lock, 100 ms to 24 h; the client's `lease` when
    /// `None`. Cannot be given together with a fixed [`lease`](RwLockOptions::lease), which nothing renews.
    pub watchdog_lease: Option<Duration>,
    /// Whether a holder may acquire again a side that it holds; the client's option when `None`. Where it may not, it gets
    /// [`ErrorKind::Deadlock`] at once.
    pub reentrant: Option<bool>,
    /// How long after the server's grant a reader of the same process joins it without a round trip, 0 to 10 s; 10 ms by
    /// default. Readers that come later ask the server, where a writer that waits is in front of them. Readers that wait
    /// together get one hold together in any case; those with a fixed lease never do.
    pub shared_age: Duration,
}

impl Default for RwLockOptions {
    fn default() -> RwLockOptions {
        RwLockOptions { lease: Lease::Watchdog, watchdog_lease: None, reentrant: None, shared_age: SHARED_AGE }
    }
}

impl RwLockOptions {
    /// Sets the lease of an acquire that names none.
    pub const fn lease(mut self, lease: Lease) -> RwLockOptions {
        self.lease = lease;
        self
    }

    /// Sets the lease with which the watchdog renews what is held through this lock. Readers share a hold only with readers of
    /// the same watchdog lease.
    pub const fn watchdog_lease(mut self, lease: Duration) -> RwLockOptions {
        self.watchdog_lease = Some(lease);
        self
    }

    /// Sets whether a holder may acquire again a side that it holds.
    pub const fn reentrant(mut self, reentrant: bool) -> RwLockOptions {
        self.reentrant = Some(reentrant);
        self
    }

    /// Sets how long after the server's grant a reader of the same process joins it without a round trip.
    pub const fn shared_age(mut self, age: Duration) -> RwLockOptions {
        self.shared_age = age;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        const OP: &str = ReadWrite::KIND;
        if self.shared_age > LONGEST_SHARED_AGE {
            let given = format_args!("shared_age of {:?} is out of range", self.shared_age);
            return Err(Error::refused(ErrorKind::InvalidArgument, OP, given, "0 to 10 s".to_owned()));
        }
        check_leases(OP, self.lease, self.watchdog_lease)
    }
}
