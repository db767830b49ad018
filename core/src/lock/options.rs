//! How a lock is made, and how an acquire is.

use std::time::Duration;

use super::Exclusive;
use crate::config::{check_lease, check_watchdog_lease};
use crate::contended::Primitive;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::Lease;
use crate::wait::Wait;

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
    /// [`ErrorKind::Deadlock`] at once instead of waiting for itself.
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
        const OP: &str = Exclusive::KIND;
        let fixed = match self.lease {
            Lease::Watchdog => None,
            Lease::Fixed(lease) => Some(check_lease(OP, lease)?),
        };
        let watchdog = self.watchdog_lease.map(|lease| check_watchdog_lease(OP, lease)).transpose()?;
        let (Some(fixed), Some(watchdog)) = (fixed, watchdog) else { return Ok(()) };
        let given = format_args!("a lease of {fixed:?} and a watchdog lease of {watchdog:?} were given");
        let allowed = "one of them: a lease is not renewed, a watchdog lease is what the watchdog renews";
        Err(Error::refused(ErrorKind::InvalidArgument, OP, given, allowed))
    }
}

/// How an acquire is made.
///
/// ```
/// # use libdlock::lock::AcquireOptions;
/// # use libdlock::Wait;
/// # use std::time::Duration;
/// let how = AcquireOptions::default().wait(Wait::For(Duration::from_secs(2)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcquireOptions {
    /// How long to wait; for ever by default.
    pub wait: Wait,
    /// The lease of this hold; the lock's own when `None`.
    pub lease: Option<Lease>,
}

impl AcquireOptions {
    /// Sets how long to wait.
    pub const fn wait(mut self, wait: Wait) -> AcquireOptions {
        self.wait = wait;
        self
    }

    /// Sets the lease of this hold.
    pub const fn lease(mut self, lease: Lease) -> AcquireOptions {
        self.lease = Some(lease);
        self
    }
}
