//! How an acquire is made, of whatever is held under a lease; and which leases go together.

use std::time::Duration;

use super::Lease;
use crate::config::{check_lease, check_watchdog_lease};
use crate::error::{Error, ErrorKind, Result};
use crate::wait::Wait;

/// How an acquire is made.
///
/// ```
/// # use libdlock::lease::AcquireOptions;
/// # use libdlock::Wait;
/// # use std::time::Duration;
/// let how = AcquireOptions::default().wait(Wait::For(Duration::from_secs(2)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct AcquireOptions {
    /// How long to wait; for ever by default.
    pub wait: Wait,
    /// The lease of this hold; the object's own when `None`.
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

/// Refuses leases of an object that are out of range, or of which one excludes the other. `op`: the call that opens it.
pub(crate) fn check_leases(op: &'static str, lease: Lease, watchdog_lease: Option<Duration>) -> Result<()> {
    let fixed = match lease {
        Lease::Watchdog => None,
        Lease::Fixed(lease) => Some(check_lease(op, lease)?),
    };
    let watchdog = watchdog_lease.map(|lease| check_watchdog_lease(op, lease)).transpose()?;
    let (Some(fixed), Some(watchdog)) = (fixed, watchdog) else { return Ok(()) };
    let given = format_args!("a lease of {fixed:?} and a watchdog lease of {watchdog:?} were given");
    let allowed = "one of them: a lease is not renewed, a watchdog lease is what the watchdog renews";
    Err(Error::refused(ErrorKind::InvalidArgument, op, given, allowed))
}
