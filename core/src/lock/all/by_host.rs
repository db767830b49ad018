//! What a binding does with a set that is held by a thread, a task or a handle of its own; see [`embed`](crate::embed).

use super::hold::{Hold, release};
use super::members::Members;
use super::{HolderId, LockAll};
use crate::error::Result;

impl LockAll {
    /// See [`embed::first_key`](crate::embed::first_key).
    pub(crate) fn first_key(&self) -> &str {
        self.locks[0].key()
    }

    /// What `holder` has of all of them, lost or not; `None` when it has not acquired one of them.
    pub(crate) fn members_of(&self, holder: HolderId) -> Option<Members> {
        let mut members = Members::new(self);
        for (at, lock) in self.locks.iter().enumerate() {
            members.add(at, lock.grant_of(holder)?);
        }
        Some(members)
    }

    /// Counts one more acquire of each by `holder`, without I/O: the leases stay as they are, and it takes one more release.
    ///
    /// # Errors
    /// As [`Lock::reenter_as`](super::Lock::reenter_as), of the first of them that has an error; nothing is counted then.
    pub(crate) fn reenter_as(&self, holder: HolderId) -> Result<()> {
        let mut counted = Hold::new(self, holder);
        for (at, lock) in self.locks.iter().enumerate() {
            counted.members.add(at, lock.reenter_as(holder)?.into_grant());
        }
        drop(counted.take());
        Ok(())
    }

    /// Forgets what `holder` holds of each, as [`Lock::abandon_as`](super::Lock::abandon_as).
    pub(crate) fn abandon_as(&self, holder: HolderId) {
        for lock in self.locks.iter() {
            lock.abandon_as(holder);
        }
    }
}

impl Members {
    /// As [`Lock::keep_while_held`](super::Lock::keep_while_held), of each.
    pub(crate) fn keep_while_held(&self) {
        for (lock, grant) in self.each() {
            lock.keep_while_held(grant);
        }
    }

    /// As [`LockAll::release_as`], but only of these grants: what `holder` acquired anew since then stays.
    pub(crate) async fn release_as(&self, holder: HolderId) -> Result<()> {
        release(self, holder).await
    }

    /// As [`Lock::release_in_background`](super::Lock::release_in_background), of each, by one request.
    pub(crate) fn release_in_background(&self, holder: HolderId) {
        drop(Hold { holder, members: self.clone() });
    }
}
