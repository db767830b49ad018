use std::fmt;
use std::time::Duration;

use super::{AcquireOptions, RwHeld, RwLock, Side};
use crate::context::Context;
use crate::error::{ErrorKind, Result};
use crate::lease::{HolderId, Term};
use crate::wait::Wait;

/// One side of a read-write lock, [`RwLock::read`] or [`RwLock::write`], which is used as a [`Lock`](crate::Lock) is: by guard
/// ([`RwLockSide::acquire`] and its kin, each call a holder of its own) or by holder ([`RwLockSide::acquire_as`]).
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let prices = client.rw_lock("prices")?;
/// let (read, write) = (prices.read(), prices.write());
/// read.acquire().await?.release().await?;
/// write.acquire().await?.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct RwLockSide {
    pub(super) lock: RwLock,
    pub(super) side: Side,
}

impl RwLockSide {
    pub(super) fn new(lock: RwLock, side: Side) -> RwLockSide {
        RwLockSide { lock, side }
    }

    /// Which side it is.
    pub fn side(&self) -> Side {
        self.side
    }

    /// The lock of which it is a side.
    pub fn rw_lock(&self) -> &RwLock {
        &self.lock
    }

    /// Acquires this side, waiting as long as it takes, in the order of arrival.
    ///
    /// # Deadlock
    /// Each call is a holder of its own. A task that holds the guard of one side and acquires the write side, that holds the
    /// write side and acquires either, or that reads and acquires the read side again while a writer waits, waits for itself,
    /// without end: the library cannot tell. Bound the wait, or acquire by holder ([`RwLockSide::acquire_as`]), where a side
    /// that is held is entered again, a writer may read as well, and a reader that wants to write is refused.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] when the server could not be asked for `operation_timeout`; [`ErrorKind::OutcomeUnknown`] when
    /// it was asked and did not answer: this caller holds nothing, and what the server granted all the same is released in the
    /// background. [`ErrorKind::WrongType`], [`ErrorKind::NoPermission`], [`ErrorKind::OutOfMemory`],
    /// [`ErrorKind::Unsupported`] and [`ErrorKind::Server`] as the server says; [`ErrorKind::Clock`] when its clock jumps back
    /// and forth; [`ErrorKind::Closed`], [`ErrorKind::Forked`] and [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves neither a hold nor a place in the line: what the server granted meanwhile is
    /// released in the background.
    pub async fn acquire(&self) -> Result<RwHeld> {
        self.acquire_as(HolderId::fresh(), AcquireOptions::default()).await
    }

    /// Acquires this side if it is to be had now; `None` otherwise. May jump the queue, at most twice per queue head: after that
    /// it is `None` also when nobody holds the lock.
    ///
    /// # Errors and cancel safety
    /// As [`RwLockSide::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<RwHeld>> {
        match self.acquire_as(HolderId::fresh(), AcquireOptions::default().wait(Wait::Try)).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Acquires this side, waiting at most `wait`.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when it was not to be had in time, saying who writes or how many read; [`ErrorKind::Connection`] when
    /// the server could not be asked within a wait of 100 ms or more; else as [`RwLockSide::acquire`].
    ///
    /// # Cancel safety
    /// As [`RwLockSide::acquire`].
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<RwHeld> {
        self.acquire_as(HolderId::fresh(), AcquireOptions::default().wait(Wait::For(wait))).await
    }

    /// As [`RwLockSide::acquire`], with a wait and a lease of its own.
    ///
    /// # Errors
    /// As [`RwLockSide::acquire_timeout`]; [`ErrorKind::InvalidArgument`] for the lease.
    ///
    /// # Cancel safety
    /// As [`RwLockSide::acquire`].
    pub async fn acquire_with(&self, how: AcquireOptions) -> Result<RwHeld> {
        self.acquire_as(HolderId::fresh(), how).await
    }

    /// The name on the server, for errors.
    pub(super) fn key(&self) -> &str {
        self.lock.key()
    }

    pub(super) fn term(&self, how: &AcquireOptions) -> Term {
        how.lease.unwrap_or(self.lock.lease).term(self.lock.watchdog_lease)
    }

    pub(super) fn client(&self) -> &Context {
        self.lock.shared.client()
    }

    pub(super) fn is_forked(&self) -> bool {
        self.client().tasks.is_forked()
    }
}

impl fmt::Debug for RwLockSide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwLockSide").field("lock", &self.lock).field("side", &self.side).finish()
    }
}
