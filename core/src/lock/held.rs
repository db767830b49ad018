use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use super::{HolderId, Lock};
use crate::error::Result;
use crate::lease::Grant;

/// A hold: one acquire of one holder, ended by [`Held::release`] or, in the background, by dropping it.
///
/// Dereferences to its [`Grant`]: `held.token()`, `held.is_valid()`, `held.lost().await`.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let held = client.lock("orders/42")?.acquire().await?;
/// if held.is_valid() {
///     // Write, and send held.token() along.
/// }
/// held.release().await?; // says whether it was held to the end; dropping it does not
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
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
        self.lock.release_hold_as(self.holder, self.grant.token()).await
    }

    /// Prolongs the lease.
    ///
    /// # Errors and cancel safety
    /// As [`Lock::extend_as`].
    pub async fn extend(&self, lease: Duration) -> Result<()> {
        self.lock.extend_hold(self.holder, Some(self.grant.token()), lease).await
    }

    /// Hands the hold over; see [`Lock::detach_as`].
    ///
    /// # Errors and cancel safety
    /// As [`Lock::detach_as`]; on an error the hold has ended all the same.
    pub async fn detach(mut self) -> Result<String> {
        let text = self.lock.detach_hold(self.holder, Some(self.grant.token())).await?;
        self.ended = true;
        Ok(text)
    }

    /// Who holds, within this process.
    pub fn holder(&self) -> HolderId {
        self.holder
    }

    /// The bare grant: the hold then ends by [`Lock::release_as`], or is abandoned with the last [`Lock`] of its name.
    pub(crate) fn into_grant(mut self) -> Grant {
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
            self.lock.release_in_background(self.holder, self.grant.token());
        }
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").field("holder", &self.holder).field("grant", &self.grant).finish()
    }
}
