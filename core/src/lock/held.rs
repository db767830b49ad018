use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use super::{HolderId, Lock};
use crate::error::Result;
use crate::lease::Grant;

/// A hold: one acquire of one holder, ended by [`Held::release`] or, in the background, by dropping it.
///
/// Dereferences to its [`Grant`]: `held.token()`, `held.is_valid()`, `held.lost().await`.
#[must_use = "dropping it releases the lock"]
pub struct Held {
    lock: Lock,
    holder: HolderId,
    grant: Grant,
    ended: bool,
}

impl Held {
    pub(super) fn new(lock: Lock, holder: HolderId, grant: Grant) -> Held {
        Held { lock, holder, grant, ended: false }
    }

    /// Ends the hold and reports how that went.
    ///
    /// # Errors and cancel safety
    /// As [`Lock::release_as`].
    pub async fn release(mut self) -> Result<()> {
        self.ended = true;
        self.lock.release_as(self.holder).await
    }

    /// Prolongs the lease.
    ///
    /// # Errors and cancel safety
    /// As [`Lock::extend_as`].
    pub async fn extend(&self, lease: Duration) -> Result<()> {
        self.lock.extend_as(self.holder, lease).await
    }

    /// Hands the hold over; see [`Lock::detach_as`].
    ///
    /// # Errors and cancel safety
    /// As [`Lock::detach_as`]; on an error the hold has ended all the same.
    pub async fn detach(mut self) -> Result<String> {
        let text = self.lock.detach_as(self.holder).await?;
        self.ended = true;
        Ok(text)
    }

    /// Who holds, within this process.
    pub fn holder(&self) -> HolderId {
        self.holder
    }

    /// Whose it is and of what; the hold goes on.
    pub(super) fn into_parts(mut self) -> (Lock, HolderId) {
        self.ended = true;
        (self.lock.clone(), self.holder)
    }

    /// The bare grant: the hold then ends by [`Lock::release_as`], or is abandoned with the last [`Lock`] of its name. For
    /// bindings, whose callers release by holder.
    pub fn into_grant(mut self) -> Grant {
        self.ended = true;
        self.grant.clone()
    }
}

impl Deref for Held {
    type Target = Grant;

    fn deref(&self) -> &Grant {
        &self.grant
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.ended {
            self.lock.release_in_background(self.holder);
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("holder", &self.holder).field("grant", &self.grant).finish()
    }
}
