//! How a queue is made.

use std::time::Duration;

use super::jobs::Jobs;
use crate::contended::Primitive;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Lease, check_leases};

/// The most deliveries of one job.
const MAX_ATTEMPTS: u32 = 1_000_000;

/// The largest payload: a script must not hold the server up, and a client takes no reply of any length.
const MAX_PAYLOAD: usize = 2 << 20;

/// How a [`Queue`](super::Queue) is made.
///
/// ```
/// # use libdlock::queue::QueueOptions;
/// let options = QueueOptions::default().max_attempts(3).max_length(10_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueOptions {
    /// The lease of a delivery.
    pub lease: Lease,
    /// The lease with which the watchdog renews what is taken through this queue, 100 ms to 24 h; the client's `lease` when
    /// `None`. Cannot be given together with a fixed [`lease`](QueueOptions::lease), which nothing renews.
    pub watchdog_lease: Option<Duration>,
    /// How often a job that is put through this queue is delivered, 1 to 1,000,000; then it is dead. 16 unless it is set.
    pub max_attempts: u32,
    /// The largest payload, in bytes, up to 2 MiB; 1 MiB unless it is set.
    pub max_payload: usize,
    /// How many jobs the queue may hold when one is put through it, dead ones among them; 0, unless it is set: any number.
    pub max_length: u64,
}

impl Default for QueueOptions {
    fn default() -> QueueOptions {
        QueueOptions {
            lease: Lease::Watchdog,
            watchdog_lease: None,
            max_attempts: 16,
            max_payload: 1 << 20,
            max_length: 0,
        }
    }
}

impl QueueOptions {
    /// Sets the lease of a delivery.
    pub const fn lease(mut self, lease: Lease) -> QueueOptions {
        self.lease = lease;
        self
    }

    /// Sets the lease with which the watchdog renews what is taken.
    pub const fn watchdog_lease(mut self, lease: Duration) -> QueueOptions {
        self.watchdog_lease = Some(lease);
        self
    }

    /// Sets how often a job is delivered.
    pub const fn max_attempts(mut self, attempts: u32) -> QueueOptions {
        self.max_attempts = attempts;
        self
    }

    /// Sets the largest payload.
    pub const fn max_payload(mut self, bytes: usize) -> QueueOptions {
        self.max_payload = bytes;
        self
    }

    /// Sets how many jobs the queue may hold.
    pub const fn max_length(mut self, jobs: u64) -> QueueOptions {
        self.max_length = jobs;
        self
    }

    pub(super) fn check(&self) -> Result<()> {
        const OP: &str = Jobs::KIND;
        if !(1..=MAX_ATTEMPTS).contains(&self.max_attempts) {
            let given = format_args!("{} attempts are out of range", self.max_attempts);
            return Err(Error::refused(ErrorKind::InvalidArgument, OP, given, format!("1 to {MAX_ATTEMPTS}")));
        }
        if self.max_payload > MAX_PAYLOAD {
            let given = format_args!("a max_payload of {} bytes is out of range", self.max_payload);
            return Err(Error::refused(ErrorKind::InvalidArgument, OP, given, format!("0 to {MAX_PAYLOAD}")));
        }
        check_leases(OP, self.lease, self.watchdog_lease)
    }
}
