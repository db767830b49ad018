use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use super::{RwLockSide, Side};
use crate::error::Result;
use crate::lease::{Grant, HolderId};

/// A hold of one side: one acquire of one holder, ended by [`RwHeld::release`] or, in the background, by dropping it.
///
/// Dereferences to its [`Grant`]: `held.token()`, `held.is_valid()`, `held.lost().await`. Readers of one process that share a
/// hold on the server share its token, its lease and its loss, and each ends by itself.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let held = client.rw_lock("prices")?.write().acquire().await?;
/// if held.is_valid() {
///     // Write, and send held.token() along.
/// }
/// let reads = held.downgrade().await?; // others may read from now on, and nobody has written in between
/// reads.release().await?; // says whether it was held to the end; dropping it does not
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[must_use = "dropping it releases the lock"]
pub struct RwHeld {
    of: RwLockSide,
    holder: HolderId,
    grant: Grant,
    ended: bool,
}

impl RwHeld {
    pub(super) fn new(of: RwLockSide, holder: HolderId, grant: Grant) -> RwHeld {
        RwHeld { of, holder, grant, ended: false }
    }

    /// Ends the hold and reports how that went.
    ///
    /// # Errors and cancel safety
    /// As [`RwLockSide::release_as`].
    pub async fn release(mut self) -> Result<()> {
        self.ended = true;
        self.of.release_which(self.holder, Some(self.grant.token())).await
    }

    /// Prolongs the lease.
    ///
    /// # Errors and cancel safety
    /// As [`RwLockSide::extend_as`].
    pub async fn extend(&self, lease: Duration) -> Result<()> {
        self.of.extend_which(self.holder, Some(self.grant.token()), lease).await
    }

    /// Turns a hold of the write side into one of the read side, with nobody else's write in between: acquires the read side,
    /// which a writer may hold as well, then releases the write side, which wakes the readers that wait. A hold of the read side
    /// is returned as it is.
    ///
    /// # Errors
    /// As [`RwLockSide::acquire_as`] and [`RwLockSide::release_as`], without a wait: [`NotHeld`](crate::ErrorKind::NotHeld) when
    /// others hold the lock meanwhile. Nothing is held then.
    ///
    /// # Cancel safety
    /// Dropping the future releases everything, in the background.
    pub async fn downgrade(self) -> Result<RwHeld> {
        if self.side() == Side::Read {
            return Ok(self);
        }
        let reads = self.of.read_beneath(self.holder, &self.grant).await?;
        self.release().await?;
        Ok(reads)
    }

    /// Which side is held.
    pub fn side(&self) -> Side {
        self.of.side
    }

    /// Who holds, within this process.
    pub fn holder(&self) -> HolderId {
        self.holder
    }

    /// The bare grant: the hold then ends by [`RwLockSide::release_as`], or is abandoned with the last user of its name.
    pub(crate) fn into_grant(mut self) -> Grant {
        self.ended = true;
        self.grant.clone()
    }
}

impl Deref for RwHeld {
    type Target = Grant;

    fn deref(&self) -> &Grant {
        &self.grant
    }
}

impl Drop for RwHeld {
    fn drop(&mut self) {
        if !self.ended {
            self.of.release_in_background(self.holder, self.grant.token());
        }
    }
}

impl fmt::Debug for RwHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RwHeld")
            .field("side", &self.of.side)
            .field("holder", &self.holder)
            .field("grant", &self.grant)
            .finish()
    }
}
