use std::fmt;
use std::time::Duration;

use super::HolderId;
use super::hold::Hold;
use super::members::Members;
use crate::config::check_lease;
use crate::error::Result;
use crate::lease::{Grant, LossReason};
use crate::lock::Lock;
use crate::wait::Wait;

/// A hold of several locks, ended by [`HeldAll::release`] or, in the background, by dropping it. It is held as long as each of
/// them is.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let held = client.lock_all(["account/7", "account/42"])?.acquire().await?;
/// if held.is_valid() {
///     // Write to both accounts, and send held.token("account/7") and held.token("account/42") along.
/// }
/// held.release().await?; // says whether all were held to the end; dropping it does not
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[must_use = "dropping it releases the locks"]
pub struct HeldAll(Hold);

/// A lock of a set that was lost, and with it the hold of the set.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LostMember {
    /// The name of the lock, as it was given.
    pub name: String,
    /// Why it was lost.
    pub reason: LossReason,
}

impl LostMember {
    pub(super) fn new(lock: &Lock, reason: LossReason) -> LostMember {
        LostMember { name: lock.name().to_owned(), reason }
    }
}

impl HeldAll {
    pub(super) fn new(hold: Hold) -> HeldAll {
        HeldAll(hold)
    }

    /// Who holds, within this process.
    pub fn holder(&self) -> HolderId {
        self.0.holder
    }

    /// The grant of each lock, in the order of the keys.
    pub fn grants(&self) -> impl ExactSizeIterator<Item = (&str, &Grant)> {
        self.0.members.each().map(|(lock, grant)| (lock.name(), grant))
    }

    /// The fencing token of each lock, in the order of the keys. Each counts for the resource of its name.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.0.members.tokens()
    }

    /// The fencing token of the lock of this name; `None` for a name that the set was not made with.
    pub fn token(&self, name: &str) -> Option<u64> {
        self.tokens().find_map(|(member, token)| (member == name).then_some(token))
    }

    /// Whether the holder may act: as long as [`Grant::is_valid`] is true of each.
    pub fn is_valid(&self) -> bool {
        self.0.members.is_valid()
    }

    /// How long all of them stay valid if nothing is renewed: the least of [`Grant::remaining`].
    pub fn remaining(&self) -> Duration {
        self.0.members.remaining()
    }

    /// The first of them that was lost, in the order of the keys, if any was.
    pub fn loss(&self) -> Option<LostMember> {
        self.0.members.loss()
    }

    /// Completes when the hold is over: with the lock that was lost, or with `None` when its release began.
    ///
    /// The others are held, and renewed, until they are released.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost(&self) -> Option<LostMember> {
        self.0.members.lost().await
    }

    /// As [`HeldAll::lost`], waiting no longer than `wait`; one that does not wait says how things stand.
    ///
    /// # Errors
    /// [`Busy`](crate::ErrorKind::Busy) when the hold was not over by then.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost_within(&self, wait: Wait) -> Result<Option<LostMember>> {
        self.0.members.lost_within(wait).await
    }

    /// Prolongs the lease of all of them, by one request.
    ///
    /// # Errors and cancel safety
    /// As [`LockAll::extend_as`](super::LockAll::extend_as).
    pub async fn extend(&self, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        check_lease(OP, lease).map_err(|error| error.on(self.0.members.all.locks[0].key()))?;
        for (lock, grant) in self.0.members.each() {
            lock.held_by(OP, self.0.holder, Some(grant.token()))?;
        }
        self.0.members.extend(OP, lease).await
    }

    /// Ends the hold and reports how that went. Those that the holder had acquired once are freed, by one request.
    ///
    /// # Errors and cancel safety
    /// As [`LockAll::release_as`](super::LockAll::release_as).
    pub async fn release(self) -> Result<()> {
        self.0.release().await
    }

    /// The bare grants: the hold then ends by [`LockAll::release_as`](super::LockAll::release_as), or is abandoned with the last
    /// lock of each name.
    pub(crate) fn into_members(mut self) -> Members {
        self.0.take()
    }
}

impl fmt::Debug for HeldAll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeldAll")
            .field("holder", &self.holder())
            .field("grants", &self.grants().collect::<Vec<_>>())
            .finish()
    }
}
