use std::fmt;
use std::time::Duration;

use super::step::Taker;
use super::{HolderId, Semaphore};
use crate::error::Result;
use crate::lease::{Grant, HoldState, LossReason};

/// Permits that are held: one acquire, ended by [`Permits::release`] or, in the background, by dropping it.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let held = client.semaphore("downloads", 10)?.acquire_many(3).await?;
/// assert!(held.is_valid() && held.count() == 3);
/// held.release().await?; // says whether they were held to the end; dropping it does not
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[must_use = "dropping it releases the permits"]
pub struct Permits {
    semaphore: Semaphore,
    holder: HolderId,
    grant: Grant,
    ended: bool,
}

impl Permits {
    pub(super) fn new(semaphore: Semaphore, holder: HolderId, grant: Grant) -> Permits {
        Permits { semaphore, holder, grant, ended: false }
    }

    /// How many permits.
    pub fn count(&self) -> u32 {
        count_of(&self.grant)
    }

    /// Their ids, each 32 hexadecimal digits: what Redisson calls the ids of permits.
    pub fn ids(&self) -> Vec<String> {
        ids_of(&self.grant)
    }

    /// Whether the holder may act: false exactly from the end of validity on, from the moment a release begins, and once the
    /// hold was taken away. See [`Grant::is_valid`].
    pub fn is_valid(&self) -> bool {
        self.grant.is_valid()
    }

    /// How long the hold stays valid if nothing is renewed; zero when it is not valid.
    pub fn remaining(&self) -> Duration {
        self.grant.remaining()
    }

    /// How the hold stands.
    pub fn state(&self) -> HoldState {
        self.grant.state()
    }

    /// Completes when the hold is over: with the reason when it was lost, with `None` when its release began.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost(&self) -> Option<LossReason> {
        self.grant.lost().await
    }

    /// Who holds, within this process.
    pub fn holder(&self) -> HolderId {
        self.holder
    }

    /// Ends the hold and reports how that went.
    ///
    /// # Errors and cancel safety
    /// As [`Semaphore::release_as`].
    pub async fn release(mut self) -> Result<()> {
        self.ended = true;
        self.semaphore.release_which(self.holder, Some(self.grant.token())).await
    }

    /// Prolongs the lease.
    ///
    /// # Errors and cancel safety
    /// As [`Semaphore::extend_as`].
    pub async fn extend(&self, lease: Duration) -> Result<()> {
        self.semaphore.extend_which(self.holder, Some(self.grant.token()), lease).await
    }

    /// The bare grant: the hold then ends by [`Semaphore::release_as`], or is abandoned with the last [`Semaphore`] of its
    /// name.
    pub(crate) fn into_grant(mut self) -> Grant {
        self.ended = true;
        self.grant.clone()
    }
}

/// How many permits a grant of a semaphore is for.
pub(super) fn count_of(grant: &Grant) -> u32 {
    Taker::of(grant.owner()).permits
}

/// As [`Permits::ids`].
pub(crate) fn ids_of(grant: &Grant) -> Vec<String> {
    let hex = |id: String| id.bytes().map(|byte| format!("{byte:02x}")).collect();
    Taker::of(grant.owner()).ids().map(hex).collect()
}

impl Drop for Permits {
    fn drop(&mut self) {
        if !self.ended {
            self.semaphore.release_in_background(self.holder, self.grant.token());
        }
    }
}

impl fmt::Debug for Permits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permits").field("holder", &self.holder).field("grant", &self.grant).finish()
    }
}
