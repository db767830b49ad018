//! The lock: one holder at a time among all processes, each grant with a fencing token.
//!
//! A hold is a lease on the server in Redisson's layout: the hash `<name>` with one field, the owner. An owner names one
//! attempt of one client, so that a retry of it is recognised; re-entry is counted in the process and costs no round trip.
//!
//! Waiters of one process stand in one line (`line`), and one task contends on the server for all of them (`contend`). There
//! processes stand in a queue (`step/queue`), and a release wakes the first of them. Within a process a hold may be handed on
//! without the server, as often and for as long as options allow. `docs/protocol.md` tells the whole story.

mod acquire;
mod attempt;
mod blocking;
mod caller;
mod contend;
mod held;
mod holds;
mod inbox;
mod levels;
mod line;
#[cfg(test)]
mod model_test;
mod release;
mod shared;
mod step;
mod transfer;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

pub use held::Held;
pub(crate) use inbox::Inbox;
pub(crate) use shared::LockShared;
pub(crate) use step::{LockState, Renew};

use self::step::{ForceRelease, Inspect};
use crate::client::Inner;
use crate::config::check_lease;
use crate::deadline::Wait;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, Lease};

/// Who holds, within this process: a thread, a task, a handle. Never reused, never an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HolderId(pub u64);

impl HolderId {
    /// A holder that did not exist before in this process.
    pub fn fresh() -> HolderId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        HolderId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// How a [`Lock`] is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockOptions {
    /// The lease of an acquire that names none.
    pub lease: Lease,
    /// Whether a holder may acquire again what it holds; the client's option when `None`. Where it may not, it gets
    /// [`ErrorKind::Deadlock`] at once instead of waiting for itself.
    pub reentrant: Option<bool>,
}

/// How to acquire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acquire {
    /// How long to wait; for ever by default.
    pub wait: Wait,
    /// The lease of this hold; the lock's own when `None`.
    pub lease: Option<Lease>,
}

/// What the server shows of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The owner's field, `<client uuid>:<n>` (Redisson's or ours); `None` when the lock is free.
    pub holder: Option<String>,
    /// Whether that owner is this client.
    pub ours: bool,
    /// How long until it expires; `None` when free, or when a foreign key has no expiry.
    pub ttl: Option<Duration>,
    /// The last fencing token, as long as the server remembers it. Tokens are reserved in blocks: the present holder's may be
    /// smaller.
    pub token: Option<u64>,
    /// How many processes stand in the queue.
    pub queued: u64,
}

/// A named lock. Cheap to clone; clones, and all locks that one client makes of one name, are the same lock.
///
/// Two ways to use it: by guard ([`Lock::acquire`] and its kin: each call is a holder of its own, and the guard ends the
/// hold), and by holder ([`Lock::acquire_as`], [`Lock::release_as`]: re-entrant, as `ReentrantLock` is).
#[derive(Clone)]
pub struct Lock {
    shared: Arc<LockShared>,
    lease: Lease,
    reentrant: bool,
}

impl Lock {
    pub(crate) fn new(shared: Arc<LockShared>, options: LockOptions) -> Result<Lock> {
        if let Lease::Fixed(lease) = options.lease {
            check_lease("lock", lease).map_err(|error| error.on(shared.name().as_str()))?;
        }
        let reentrant = options.reentrant.unwrap_or(shared.client().options.reentrant);
        Ok(Lock { shared, lease: options.lease, reentrant })
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
    /// # Errors
    /// [`ErrorKind::Connection`] when the server has not answered for `operation_timeout`; `WrongType`, `NoPermission`,
    /// `OutOfMemory`, `Server` as the server says; `Closed`.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves neither a hold nor a place in the line: what the server granted meanwhile is
    /// released in the background.
    pub async fn acquire(&self) -> Result<Held> {
        self.acquire_as(HolderId::fresh(), Acquire::default()).await
    }

    /// Acquires if nobody holds it now; `None` when somebody does. May overtake waiters.
    ///
    /// # Errors
    /// As [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<Held>> {
        match self.acquire_as(HolderId::fresh(), Acquire { wait: Wait::Try, lease: None }).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Acquires, waiting at most `wait`.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when it was not free in time, saying who holds it and for how long; else as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<Held> {
        self.acquire_as(HolderId::fresh(), Acquire { wait: Wait::For(wait), lease: None }).await
    }

    /// How often `holder` has acquired what it holds; 0 when it does not hold it, or has lost it.
    pub fn hold_count(&self, holder: HolderId) -> u32 {
        self.shared.holds().count(holder)
    }

    /// What `holder` holds, if it does, lost or not.
    pub fn grant_of(&self, holder: HolderId) -> Option<Grant> {
        self.shared.holds().grant(holder)
    }

    /// Sets the lease of what `holder` holds to `lease` from now on, 100 ms to 24 h. Only ever prolongs: one that would end
    /// sooner than the present validity changes nothing and costs nothing.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold it or has lost it; [`ErrorKind::InvalidArgument`] for the lease;
    /// else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the lease prolonged on the server, and not in what [`Grant::remaining`] says.
    pub async fn extend_as(&self, holder: HolderId, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        let grant = self.held_by(OP, holder)?;
        self.shared.extend(OP, &grant, lease).await
    }

    /// Frees the lock whoever holds it; false when nobody did. For operators: the holder learns of it at its next renewal,
    /// and only its fencing token still protects the resource.
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] when no reply came (it is not sent twice); else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn force_release(&self) -> Result<bool> {
        self.shared.run_now(&ForceRelease).await
    }

    /// Reads who holds the lock, for how long, and the last token.
    ///
    /// # Errors
    /// As the server says; [`ErrorKind::WrongType`] when the key is no lock.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn inspect(&self) -> Result<Inspection> {
        let seen = self.shared.run_now(&Inspect).await?;
        Ok(Inspection {
            ours: seen.holder.as_deref().is_some_and(|holder| self.client().owns(holder)),
            ttl: u64::try_from(seen.ttl).ok().map(Duration::from_millis),
            token: seen.token.and_then(|token| token.parse().ok()),
            queued: seen.queued,
            holder: seen.holder,
        })
    }

    fn client(&self) -> &Inner {
        self.shared.client()
    }

    /// What `holder` holds and has not lost.
    fn held_by(&self, op: &'static str, holder: HolderId) -> Result<Grant> {
        self.shared.check_open(op)?;
        let grant = self.shared.holds().grant(holder);
        match grant {
            Some(grant) if grant.is_valid() && grant.loss().is_none() => Ok(grant),
            grant => Err(self.shared.not_held(op, grant.as_ref())),
        }
    }
}

impl fmt::Debug for Lock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lock")
            .field("name", self.shared.name())
            .field("lease", &self.lease)
            .field("reentrant", &self.reentrant)
            .finish()
    }
}

impl LockShared {
    fn not_held(&self, op: &'static str, lost: Option<&Grant>) -> Error {
        let message = match lost.map(|grant| (grant.loss(), grant.token())) {
            Some((Some(reason), token)) => {
                format!(
                    "not held any more: {reason}; it was lost with token {token}, work done since may have overlapped another holder's"
                )
            }
            _ => "not held by this holder; only the holder that acquired it can do this".to_owned(),
        };
        Error::new(ErrorKind::NotHeld, op, message).on(self.name().as_str())
    }
}
