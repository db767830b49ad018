//! The semaphore: so many permits among all processes, each acquire of which holds some of them under a lease.
//!
//! On the server it has the layout of Redisson's `RPermitExpirableSemaphore`: the string `<name>` says how many permits are
//! available, and the sorted set `{<name>}:timeout` which are taken and until when. The ids of the permits follow from the
//! owner that names an acquire, so that a retry of it finds its own.
//!
//! Waiting is the engine's (`contended`). Processes stand in a queue that says how many permits each of them wants. A request
//! is granted when what is available suffices for it and for all that stand in front of it: so neighbours are admitted
//! together, and one that wants many is not overtaken for ever by those that want few. The wire format is in `docs/protocol`.

mod acquire;
mod held;
mod holds;
mod inspection;
#[cfg(test)]
mod model_test;
mod options;
mod permits;
mod step;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use held::Permits;
pub(crate) use held::ids_of;
pub use inspection::Inspection;
pub use options::SemaphoreOptions;
pub(crate) use permits::Leased;
pub(crate) use step::Renew;
pub(crate) use step::SemaphoreState;

use crate::contended::{Contended, Home, available};
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
pub use crate::lease::AcquireOptions;
use crate::lease::{HolderId, Lease, Term};
use crate::wait::Wait;

/// What the semaphores of one client share.
pub(crate) type Semaphores = Home<Leased>;

/// What the semaphores of one name share in a client.
type SemaphoreObject = Contended<Leased>;

/// The most permits that one acquire takes.
pub const MAX_ACQUIRED: u32 = step::MAX_ACQUIRED;

/// The most permits that a semaphore has: Redisson counts them in an `int`.
pub const MAX_PERMITS: u32 = available::MAX_PERMITS;

/// A named semaphore. Cheap to clone; clones, and all semaphores that one client makes of one name, are the same semaphore.
///
/// Unlike a semaphore in memory, what it gives out is leased: permits of a process that died come back when its lease ends, and
/// a hold says whether it was lost. There is no fencing token: several hold at once, so no order of theirs could protect
/// anything.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let downloads = client.semaphore("downloads", 2)?;
/// let (one, two) = (downloads.acquire().await?, downloads.acquire().await?);
/// assert!(downloads.try_acquire().await?.is_none());
/// one.release().await?;
/// assert!(downloads.try_acquire().await?.is_some());
/// two.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Semaphore {
    shared: Arc<SemaphoreObject>,
    permits: u32,
    lease: Lease,
    watchdog_lease: Duration,
}

impl Semaphore {
    /// The semaphore of this name. No I/O.
    pub(crate) fn open(semaphores: &Arc<Semaphores>, name: &str, options: SemaphoreOptions) -> Result<Semaphore> {
        let shared = semaphores.open(name)?;
        options.check().map_err(|error| error.on(shared.name().as_str()))?;
        let watchdog_lease = options.watchdog_lease.unwrap_or(shared.client().options.lease);
        Ok(Semaphore { shared, permits: options.permits, lease: options.lease, watchdog_lease })
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

    /// Acquires one permit, waiting as long as it takes.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] when the server could not be asked for `operation_timeout`; [`ErrorKind::OutcomeUnknown`] when
    /// it was asked and did not answer: this caller holds nothing, and what the server granted all the same is released in the
    /// background. [`ErrorKind::WrongType`], [`ErrorKind::NoPermission`], [`ErrorKind::OutOfMemory`],
    /// [`ErrorKind::Unsupported`] and [`ErrorKind::Server`] as the server says; [`ErrorKind::Clock`] when its clock jumps back
    /// and forth; [`ErrorKind::Closed`], [`ErrorKind::Forked`] and [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves neither permits nor a place in the line: what the server granted meanwhile is
    /// released in the background.
    pub async fn acquire(&self) -> Result<Permits> {
        self.acquire_many(1).await
    }

    /// Acquires so many permits, all at once, waiting as long as it takes. In the order of arrival: who wants few does not
    /// overtake for ever who wants many.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for 0 permits, for more than [`MAX_ACQUIRED`], and for more than there are in all; else
    /// as [`Semaphore::acquire`].
    ///
    /// # Cancel safety
    /// As [`Semaphore::acquire`].
    pub async fn acquire_many(&self, permits: u32) -> Result<Permits> {
        self.acquire_as(HolderId::fresh(), permits, AcquireOptions::default()).await
    }

    /// Acquires one permit if one is available now; `None` otherwise.
    ///
    /// # Errors and cancel safety
    /// As [`Semaphore::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<Permits>> {
        self.try_acquire_many(1).await
    }

    /// Acquires so many permits if they are available now; `None` otherwise. May jump the queue, at most twice per queue head:
    /// after that it is `None` also when so many are available.
    ///
    /// # Errors and cancel safety
    /// As [`Semaphore::acquire_many`].
    pub async fn try_acquire_many(&self, permits: u32) -> Result<Option<Permits>> {
        match self.acquire_as(HolderId::fresh(), permits, AcquireOptions::default().wait(Wait::Try)).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Acquires one permit, waiting at most `wait`.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when none was available in time; [`ErrorKind::Connection`] when the server could not be asked within
    /// a wait of 100 ms or more; else as [`Semaphore::acquire`].
    ///
    /// # Cancel safety
    /// As [`Semaphore::acquire`].
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<Permits> {
        self.acquire_as(HolderId::fresh(), 1, AcquireOptions::default().wait(Wait::For(wait))).await
    }

    fn term(&self, how: &AcquireOptions) -> Term {
        how.lease.unwrap_or(self.lease).term(self.watchdog_lease)
    }

    fn client(&self) -> &Context {
        self.shared.client()
    }

    fn is_forked(&self) -> bool {
        self.client().tasks.is_forked()
    }
}

/// The error of a number of permits that is out of range.
pub(crate) fn refuse_permits(op: &'static str, permits: impl fmt::Display, most: u32) -> Error {
    let given = format_args!("{permits} permits are out of range");
    Error::refused(ErrorKind::InvalidArgument, op, given, format!("1 to {most}"))
}

impl Drop for Semaphore {
    fn drop(&mut self) {
        self.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Semaphore")
            .field("name", self.shared.name())
            .field("permits", &self.permits)
            .field("lease", &self.lease)
            .field("watchdog_lease", &self.watchdog_lease)
            .finish()
    }
}
