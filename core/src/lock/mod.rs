//! The lock: one holder at a time among all processes, each grant with a fencing token.
//!
//! A hold is a lease on the server in Redisson's layout: the hash `<name>` with one field, the owner. An owner names one
//! acquire of one client, so that a retry of it is recognised; re-entry is counted in the process and costs no round trip.
//!
//! Waiting is the engine's (`contended`), to which the lock brings its steps and its holds (`exclusive`). On the server processes
//! stand in a queue, and a release wakes the first of them. Within a process a hold may be handed on without the
//! server, as often and for as long as options allow. The wire format is in `docs/protocol`.

mod acquire;
mod calls;
mod exclusive;
mod held;
mod holds;
#[cfg(test)]
mod loss_tests;
#[cfg(test)]
mod model_test;
mod reentry;
mod release;
mod step;
mod transfer;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use exclusive::Exclusive;
pub use held::Held;
#[cfg(test)]
pub(crate) use step::LockState;
pub(crate) use step::Renew;

use self::step::{ForceRelease, Inspect};
use crate::config::{check_lease, check_watchdog_lease};
use crate::contended::{Contended, Home};
use crate::context::Context;
use crate::wait::Wait;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, HolderId, Lease, LossReason, Term};
use crate::step::Step;

/// What the locks of one client share.
pub(crate) type Locks = Home<Exclusive>;

/// What the locks of one name share in a client.
type LockObject = Contended<Exclusive>;

/// How a [`Lock`] is made.
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

    fn check(&self) -> Result<()> {
        const OP: &str = "lock";
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

/// What the server shows of a lock.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let lock = client.lock("orders/42")?;
/// let held = lock.acquire().await?;
/// let seen = lock.inspect().await?;
/// assert!(seen.ours && seen.token == Some(held.token()));
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    // <api:inspection> written by `python3 api/write.py` from api/records.json
    /// The owner, `<client uuid>:<n>` (Redisson's or ours); `None` when the lock is free.
    pub holder: Option<String>,
    /// Whether the owner is this client.
    pub ours: bool,
    /// What is left of the lease; `None` when the lock is free, and for a foreign key that never expires.
    pub ttl: Option<Duration>,
    /// The last fencing token reserved for this name, as long as the server remembers it; the holder's may be lower.
    pub token: Option<u64>,
    /// How many processes stand in the queue.
    pub queued: u64,
    // </api:inspection>
}

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
    /// [`ErrorKind::Connection`] when the server has not answered for `operation_timeout`; `WrongType`, `NoPermission`,
    /// `OutOfMemory`, `Server` as the server says; `Closed`.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves neither a hold nor a place in the line: what the server granted meanwhile is
    /// released in the background.
    pub async fn acquire(&self) -> Result<Held> {
        self.acquire_as(HolderId::fresh(), AcquireOptions::default()).await
    }

    /// Acquires if nobody holds it now; `None` when somebody does. May overtake waiters. On a server that is gone it tries for
    /// `operation_timeout`, 10 s by default.
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
    /// [`ErrorKind::Busy`] when it was not free in time, saying who holds it and for how long; [`ErrorKind::Connection`] when the
    /// server could not be asked within a wait of 100 ms or more; else as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<Held> {
        self.acquire_as(HolderId::fresh(), AcquireOptions { wait: Wait::For(wait), lease: None }).await
    }

    /// How often `holder` has acquired what it holds; 0 when it does not hold it, or has lost it. An answer of 0 tells of the
    /// loss: the holder may acquire again.
    pub fn hold_count(&self, holder: HolderId) -> u32 {
        if self.is_forked() {
            return 0;
        }
        let lost = match self.shared.holds().latest(holder) {
            Some((grant, count)) if grant.loss().is_none() => return count,
            Some((grant, _)) => grant.clone(),
            None => return 0,
        };
        self.shared.told(&lost);
        0
    }

    /// What `holder` holds, if it does, lost or not.
    pub fn grant_of(&self, holder: HolderId) -> Option<Grant> {
        if self.is_forked() { None } else { self.shared.holds().grant(holder) }
    }

    /// Lets the hold of this grant outlive the last [`Lock`] of its name: until it is released, lost, or abandoned with its holder
    /// or its client.
    pub(crate) fn keep_while_held(&self, grant: &Grant) {
        self.shared.holds().keep(grant, &self.shared);
    }

    /// Sets the lease of what `holder` holds to `lease` from now on, 100 ms to 24 h. Only ever prolongs: one that would end
    /// sooner than the present lease leaves it as it is. The server is asked in any case, so that success means that it still
    /// showed the hold.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold it or has lost it, which this call may find out;
    /// [`ErrorKind::InvalidArgument`] for the lease; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the lease prolonged on the server, and not in what [`Grant::remaining`] says.
    pub async fn extend_as(&self, holder: HolderId, lease: Duration) -> Result<()> {
        self.extend_hold(holder, None, lease).await
    }

    /// As [`Lock::extend_as`], of the hold with this token, if one is given.
    async fn extend_hold(&self, holder: HolderId, token: Option<u64>, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        let grant = self.held_by(OP, holder, token)?;
        self.shared.extend(OP, &grant, lease).await
    }

    /// Frees the lock whoever holds it; false when nobody did. For operators: a hold of this client is lost when this returns,
    /// another client is sent a message and looks at once; until then only its fencing token protects the resource.
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] when no reply came (it is not sent twice); else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn force_release(&self) -> Result<bool> {
        self.shared.check_open(<ForceRelease as Step>::OP)?;
        // The server has freed these, or showed them gone. One that is granted meanwhile may have come before or after.
        let before = self.shared.holds().valid().cloned();
        let freed = self.shared.run_now(&ForceRelease).await;
        if let (Ok(_), Some(grant)) = (&freed, before) {
            self.client().keeper.end_as(&grant, LossReason::Deleted);
        }
        self.shared.verify_holds();
        freed
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

    fn client(&self) -> &Context {
        self.shared.client()
    }

    fn is_forked(&self) -> bool {
        self.client().tasks.is_forked()
    }

    /// What `holder` holds and has not lost; with a token, that hold.
    fn held_by(&self, op: &'static str, holder: HolderId, token: Option<u64>) -> Result<Grant> {
        self.shared.check_open(op)?;
        let latest = self.shared.holds().grant(holder);
        let grant = latest.filter(|grant| token.is_none_or(|token| grant.token() == token));
        match grant {
            Some(grant) if grant.is_valid() && grant.loss().is_none() => Ok(grant),
            grant => Err(self.shared.not_held(op, grant.as_ref())),
        }
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
