//! How a worker number is leased.

use std::time::Duration;

use super::{MAX_BITS, OP};
use crate::config::check_watchdog_lease;
use crate::error::{Error, ErrorKind, Result};

/// How a worker number is leased; see [`Client::worker_with`](crate::Client::worker_with).
///
/// ```
/// # use libdlock::id::WorkerOptions;
/// # use std::time::Duration;
/// let options = WorkerOptions::default().bits(5).lease(Duration::from_secs(10));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerOptions {
    /// How many bits the numbers of the pool have: 1 to [`MAX_BITS`], 10 by default, which is 1,024 numbers. As many as the
    /// datacenter and the worker of the layout have together, at most.
    pub bits: u32,
    /// For how long a number stays taken when its process dies: 100 ms to 24 h, the client's `lease` when `None`. It is renewed at
    /// a third of it.
    pub lease: Option<Duration>,
}

impl Default for WorkerOptions {
    fn default() -> WorkerOptions {
        WorkerOptions { bits: 10, lease: None }
    }
}

impl WorkerOptions {
    /// Sets how many bits the numbers have.
    pub const fn bits(mut self, bits: u32) -> WorkerOptions {
        self.bits = bits;
        self
    }

    /// Sets the lease.
    pub const fn lease(mut self, lease: Duration) -> WorkerOptions {
        self.lease = Some(lease);
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        if !(1..=MAX_BITS).contains(&self.bits) {
            let given = format_args!("a pool of {} bits is out of range", self.bits);
            return Err(Error::refused(ErrorKind::InvalidArgument, OP, given, format!("1 to {MAX_BITS}")));
        }
        self.lease.map_or(Ok(()), |lease| check_watchdog_lease(OP, lease).map(drop))
    }

    pub(super) fn size(&self) -> u64 {
        1 << self.bits
    }
}
