//! The lock: one holder at a time among all processes, each grant with a fencing token.
//!
//! A hold is a lease on the server in Redisson's layout: the hash `<name>` with one field, the owner. An owner names one
//! acquire of one client, so that a retry of it is recognised; re-entry is counted in the process and costs no round trip.
//!
//! Waiting is the engine's (`contended`), to which the lock brings its steps and its holds (`exclusive`). On the server
//! processes stand in a queue, and a release wakes the first of them. Within a process a hold may be handed on without the
//! server, as often and for as long as options allow. The wire format is in `docs/protocol`.

mod acquire;
pub(crate) mod all;
mod by_holder;
mod exclusive;
mod held;
mod inspection;
#[cfg(test)]
mod loss_tests;
#[cfg(test)]
mod model_test;
mod options;
mod quorum;
mod reentry;
mod release;
mod step;
mod transfer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use all::{HeldAll, LockAll, LostMember, MAX_LOCKS};
pub(crate) use exclusive::Exclusive;
pub use held::Held;
pub use inspection::Inspection;
pub use options::LockOptions;
#[cfg(test)]
pub(crate) use step::Inspect;
pub(crate) use step::LockState;
pub(crate) use step::Renew;

use crate::contended::{Contended, Home};
use crate::context::Context;
use crate::error::{ErrorKind, Result};
pub use crate::lease::AcquireOptions;
use crate::lease::{HolderId, Lease, Term};
use crate::wait::Wait;

/// What the locks of one client share.
pub(crate) type Locks = Home<Exclusive>;

/// What the locks of one name share in a client.
type LockObject = Contended<Exclusive>;

/// A named lock. Cheap to clone; clones, and all locks that one client makes of one name, are the same lock.
///
/// Two ways to use it: by guard ([`Lock::acquire`] and its kin: each call is a holder of its own, and the guard ends the
/// hold), and by holder ([`Lock::acquire_as`], [`Lock::release_as`]: re-entrant, as `ReentrantLock` is).
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let lock = client.lock("orders/42")?;
/// let held = lock.acquire().await?;
/// assert!(lock.try_acquire().await?.is_none(), "each call is a holder of its own");
/// held.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Lock {
    shared: Arc<LockObject>,
    lease: Lease,
    watchdog_lease: Duration,
    reentrant: bool,
}

impl Lock {
    /// The lock of this name. No I/O.
    pub(crate) fn open(locks: &Arc<Locks>, name: &str, options: LockOptions) -> Result<Lock> {
        let shared = locks.open(name)?;
        options.check().map_err(|error| error.on(shared.name().as_str()))?;
        let of_client = &shared.client().options;
        let watchdog_lease = options.watchdog_lease.unwrap_or(of_client.lease);
        let reentrant = options.reentrant.unwrap_or(of_client.reentrant);
        Ok(Lock { shared, lease: options.lease, watchdog_lease, reentrant })
    }

    /// The lease that an acquire asks for.
    fn term(&self, how: &AcquireOptions) -> Term {
        how.lease.unwrap_or(self.lease).term(self.watchdog_lease)
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

    /// Acquires, waiting as long as it takes.
    ///
    /// # Deadlock
    /// Each call is a holder of its own, and a guard may be moved to another task. So a task that already holds the guard of
    /// this lock and acquires again waits for itself, without end: the library cannot tell this from two futures of one
    /// task that take turns. Bound the wait with [`Lock::acquire_timeout`], or acquire by holder
    /// ([`Lock::acquire_as`]): there a second acquire of the same holder re-enters, or fails with
    /// [`ErrorKind::Deadlock`] where [`LockOptions::reentrant`] is false.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] when the server could not be asked for `operation_timeout`;
    /// [`ErrorKind::OutcomeUnknown`] when it was asked and did not answer: this caller holds nothing, and what the server
    /// granted all the same is released in the background. [`ErrorKind::WrongType`], [`ErrorKind::NoPermission`],
    /// [`ErrorKind::OutOfMemory`], [`ErrorKind::Unsupported`] and [`ErrorKind::Server`] as the server says, the last one also
    /// when fewer replicas have the grant than the option `replicas` requires; [`ErrorKind::Clock`] when its clock jumps back and forth; [`ErrorKind::Closed`], [`ErrorKind::Forked`] and
    /// [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves neither a hold nor a place in the line: what the server granted meanwhile is
    /// released in the background.
    pub async fn acquire(&self) -> Result<Held> {
        self.acquire_as(HolderId::fresh(), AcquireOptions::default()).await
    }

    /// Acquires if nobody holds it now; `None` when somebody does. May jump the queue, at most twice per queue head: after
    /// that it is `None` also when the lock is free. On a server that is gone it tries for `operation_timeout`, 10 s by
    /// default.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<Held>> {
        match self.acquire_as(HolderId::fresh(), AcquireOptions { wait: Wait::Try, lease: None }).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Acquires, waiting at most `wait`.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when it was not free in time, saying who holds it and for how long; [`ErrorKind::Connection`] when
    /// the server could not be asked within a wait of 100 ms or more; else as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<Held> {
        self.acquire_as(HolderId::fresh(), AcquireOptions { wait: Wait::For(wait), lease: None }).await
    }

    fn client(&self) -> &Context {
        self.shared.client()
    }

    fn is_forked(&self) -> bool {
        self.client().tasks.is_forked()
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", self.shared.name())
            .field("lease", &self.lease)
            .field("watchdog_lease", &self.watchdog_lease)
            .field("reentrant", &self.reentrant)
            .finish()
    }
}
