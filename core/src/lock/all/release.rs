//! What a holder does with a set that it has acquired by holder.

use std::time::Duration;

use super::hold::Hold;
use super::{HolderId, LockAll};
use crate::config::check_lease;
use crate::error::Result;

impl LockAll {
    /// Ends one acquire of each by `holder`; those that it had acquired once are freed, by one request.
    ///
    /// # Errors
    /// As [`Lock::release_as`](super::super::Lock::release_as), of the first of them that has an error; the others are released
    /// all the same.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release.
    pub async fn release_as(&self, holder: HolderId) -> Result<()> {
        let (mut hold, mut result) = (Hold::new(self, holder), Ok(()));
        for (at, lock) in self.locks.iter().enumerate() {
            match lock.grant_of(holder) {
                Some(grant) => hold.members.add(at, grant),
                // Says why not.
                None => result = result.and(lock.take_back(holder, None).map(drop)),
            }
        }
        result.and(hold.release().await)
    }

    /// Sets the lease of all of them to `lease` from now on, by one request; 100 ms to 24 h. Only ever prolongs, as
    /// [`Lock::extend_as`](super::super::Lock::extend_as).
    ///
    /// # Errors
    /// As [`Lock::extend_as`](super::super::Lock::extend_as), of the first of them that has an error; the others may be
    /// prolonged all the same.
    ///
    /// # Cancel safety
    /// As [`Lock::extend_as`](super::super::Lock::extend_as).
    pub async fn extend_as(&self, holder: HolderId, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        check_lease(OP, lease).map_err(|error| error.on(self.locks[0].key()))?;
        let mut holds = Vec::with_capacity(self.locks.len());
        for lock in self.locks.iter() {
            holds.push((lock.shared.clone(), lock.held_by(OP, holder, None)?));
        }
        crate::contended::extend_together(OP, &holds, lease).await
    }

    /// How often `holder` has acquired all of them; 0 when it does not hold one of them, or has lost it. An answer of 0 tells
    /// of the loss.
    pub fn hold_count(&self, holder: HolderId) -> u32 {
        self.locks.iter().map(|lock| lock.hold_count(holder)).min().unwrap_or(0)
    }
}
