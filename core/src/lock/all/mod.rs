//! Several locks as one: a hold that is held as long as each of them is.
//!
//! A member is an ordinary lock, with its keys, its token, its renewal and its place in the statistics; nothing on the server
//! says that locks belong together. If all are free, one script takes all of them. Otherwise they are taken in the order of
//! their keys, each in its own queue: every set waits only for a lock that comes behind all those that it has, so there is no
//! circle of sets that wait for one another. What is taken while a later one is waited for is renewed, and given back when the
//! wait ends without it. `tests/model` checks this.

mod acquire;
mod by_host;
mod held;
mod hold;
mod members;
mod release;
mod taking;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

pub use held::{HeldAll, LostMember};
pub use members::Members;

use super::{AcquireOptions, HolderId, Lock, LockOptions, Locks};
use crate::error::{Error, ErrorKind, Result};
use crate::wait::Wait;

/// The most locks that can be taken as one.
pub const MAX_LOCKS: usize = 100;

/// The operation's name in errors.
const OP: &str = "lock all";

/// Several locks that are acquired and released as one. Cheap to clone. Made by [`Client::lock_all`](crate::Client::lock_all).
///
/// All of them are held, or none. Two sets that overlap never block each other for ever, in whatever order their names are
/// given. A [`Lock`] of one of the names excludes the set, and the set excludes it.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let transfer = client.lock_all(["account/7", "account/42"])?;
/// let held = transfer.acquire().await?;
/// assert!(client.lock("account/7")?.try_acquire().await?.is_none());
/// for (name, token) in held.tokens() {
///     println!("{name}: token {token}"); // send each along with the writes to its account
/// }
/// held.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct LockAll {
    /// In the order of their keys, each once; at least one.
    locks: Arc<[Lock]>,
}

impl LockAll {
    /// The locks of these names. No I/O.
    pub(crate) fn open<N: AsRef<str>>(
        locks: &Arc<Locks>,
        names: impl IntoIterator<Item = N>,
        options: LockOptions,
    ) -> Result<LockAll> {
        let mut members = Vec::new();
        for name in names {
            members.push(Lock::open(locks, name.as_ref(), options)?);
        }
        members.sort_by(|one, other| one.key().cmp(other.key()));
        members.dedup_by(|one, other| one.key() == other.key());
        if members.is_empty() || members.len() > MAX_LOCKS {
            let given = format!("{} names were given", members.len());
            let allowed = format!("1 to {MAX_LOCKS} different names");
            return Err(Error::refused(ErrorKind::InvalidArgument, OP, given, allowed));
        }
        if let Some(quorum) = members[0].client().backend.quorum() {
            return Err(quorum
                .refuse_for(OP, "acquire the locks one after another, all callers in the same order")
                .on(members[0].shared.name())
                .error);
        }
        let batch_of = |lock: &Lock| lock.shared.client().backend.batch_of(lock.shared.name());
        if let Some(other) = members.iter().find(|lock| batch_of(lock) != batch_of(&members[0])) {
            let message = format!(
                "the names of one set have to lie in one slot of the cluster, and {} lies in another than {}; give all of them \
                 one hash tag, such as {{orders}}:1 and {{orders}}:2",
                other.key(),
                members[0].key()
            );
            return Err(Error::new(ErrorKind::InvalidName, OP, message).on(other.key()));
        }
        Ok(LockAll { locks: members.into() })
    }

    /// The names that it was made with, each once, in the order of their keys: that in which they are waited for.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.locks.iter().map(Lock::name)
    }

    /// Acquires all of them, waiting as long as it takes.
    ///
    /// # Deadlock
    /// Each call is a holder of its own. A task that holds one of the locks by another guard and acquires the set waits for
    /// itself; see [`Lock::acquire`]. Sets that are acquired while other locks are held can block one another, as nested locks
    /// can: name everything in one call.
    ///
    /// # Errors
    /// As [`Lock::acquire`]; the error names the lock that it is about. The caller holds nothing then: what was taken is
    /// released in the background, about a round trip later.
    ///
    /// # Cancel safety
    /// Dropping the future at any point leaves neither a hold nor a place in a line: what was taken is released in the
    /// background.
    pub async fn acquire(&self) -> Result<HeldAll> {
        self.acquire_as(HolderId::fresh(), AcquireOptions::default()).await
    }

    /// Acquires all of them if nobody holds any now; `None` when somebody does. May jump the queues as
    /// [`Lock::try_acquire`] does.
    ///
    /// # Errors and cancel safety
    /// As [`LockAll::acquire`].
    pub async fn try_acquire(&self) -> Result<Option<HeldAll>> {
        match self.acquire_as(HolderId::fresh(), AcquireOptions { wait: Wait::Try, lease: None }).await {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Acquires all of them, waiting at most `wait` in all.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when not all were free in time, naming the one that was not; else as [`Lock::acquire_timeout`].
    ///
    /// # Cancel safety
    /// As [`LockAll::acquire`].
    pub async fn acquire_timeout(&self, wait: Duration) -> Result<HeldAll> {
        self.acquire_as(HolderId::fresh(), AcquireOptions { wait: Wait::For(wait), lease: None }).await
    }
}

impl fmt::Debug for LockAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockAll").field("locks", &self.locks).finish()
    }
}
