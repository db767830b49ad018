//! The read-write lock: any number of readers or one writer among all processes, each under a lease.
//!
//! On the server it has the layout of Redisson's `RReadWriteLock`: the hash `<name>` says which side is held and by whom, and
//! a key for each hold ends with its lease. Tokens come from the sequence of the lock of that name.
//!
//! Waiting is the engine's (`contended`). A reader wants one of very many permits and a writer all of them, so the queue of
//! processes admits neighbouring readers together, and nobody is overtaken: a reader that comes while a writer waits stands
//! behind it. Readers of one process share a hold on the server, as long as that is young. The wire format is in
//! `docs/protocol`.

mod acquire;
mod held;
mod holds;
mod inspection;
#[cfg(test)]
mod model_test;
mod options;
mod read_write;
mod release;
mod side;
mod steal;
mod step;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use held::RwHeld;
pub use inspection::Inspection;
pub use options::RwLockOptions;
pub(crate) use read_write::ReadWrite;
pub use side::RwLockSide;
pub(crate) use step::Renew;
pub(crate) use step::RwLockState;

use crate::contended::{Contended, Home};
use crate::error::Result;
pub use crate::lease::AcquireOptions;
use crate::lease::Lease;

/// What the read-write locks of one client share.
pub(crate) type RwLocks = Home<ReadWrite>;

/// What the read-write locks of one name share in a client.
type RwLockObject = Contended<ReadWrite>;

/// One side of a read-write lock.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// use libdlock::rw_lock::Side;
///
/// assert_eq!(client.rw_lock("prices")?.write().side(), Side::Write);
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Any number may hold it at a time, while nobody else writes.
    Read,
    /// One may hold it at a time.
    Write,
}

impl Side {
    const fn other(self) -> Side {
        match self {
            Side::Read => Side::Write,
            Side::Write => Side::Read,
        }
    }
}

/// A named read-write lock: many readers or one writer. Cheap to clone; clones, and all that one client makes of one name, are
/// the same lock.
///
/// It is served in the order of arrival: readers that stand next to one another are admitted together, and a reader that comes
/// while a writer waits stands behind it. So neither readers nor writers starve.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let prices = client.rw_lock("prices")?;
/// let (one, two) = (prices.read().acquire().await?, prices.read().acquire().await?);
/// assert!(prices.write().try_acquire().await?.is_none());
/// one.release().await?;
/// two.release().await?;
/// let held = prices.write().acquire().await?;
/// assert!(held.token() > 0 && prices.read().try_acquire().await?.is_none());
/// held.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct RwLock {
    shared: Arc<RwLockObject>,
    lease: Lease,
    watchdog_lease: Duration,
    reentrant: bool,
    shared_age: Duration,
}

impl RwLock {
    /// The read-write lock of this name. No I/O.
    pub(crate) fn open(rw_locks: &Arc<RwLocks>, name: &str, options: RwLockOptions) -> Result<RwLock> {
        let shared = rw_locks.open(name)?;
        options.check().map_err(|error| error.on(shared.name().as_str()))?;
        let of_client = &shared.client().options;
        let watchdog_lease = options.watchdog_lease.unwrap_or(of_client.lease);
        let reentrant = options.reentrant.unwrap_or(of_client.reentrant);
        Ok(RwLock { shared, lease: options.lease, watchdog_lease, reentrant, shared_age: options.shared_age })
    }

    /// The side that any number may hold at a time.
    pub fn read(&self) -> RwLockSide {
        RwLockSide::new(self.clone(), Side::Read)
    }

    /// The side that one may hold at a time, while nobody reads.
    pub fn write(&self) -> RwLockSide {
        RwLockSide::new(self.clone(), Side::Write)
    }

    /// The name that it was made with. On the server the client's `key_prefix` stands before it, and so it does in errors and
    /// events, for whoever looks for the key there.
    pub fn name(&self) -> &str {
        self.shared.name().as_given()
    }

    /// The name on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.shared.name().as_str()
    }
}

impl Drop for RwLock {
    fn drop(&mut self) {
        self.shared.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for RwLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLock")
            .field("name", self.shared.name())
            .field("lease", &self.lease)
            .field("watchdog_lease", &self.watchdog_lease)
            .field("reentrant", &self.reentrant)
            .field("shared_age", &self.shared_age)
            .finish()
    }
}
