//! Acquiring a set by holder.

use super::taking::Taking;
use super::{AcquireOptions, HeldAll, HolderId, LockAll};
use crate::config::check_lease;
use crate::error::Result;
use crate::lease::Term;
use crate::lock::acquire::OP;

impl LockAll {
    /// Acquires all of them for `holder`. What it holds already it gets again, counted, as by [`Lock::acquire_as`]; each
    /// acquire needs its own release.
    ///
    /// With a fixed lease, all of them last that long from when the last of them was granted.
    ///
    /// [`Lock::acquire_as`]: super::super::Lock::acquire_as
    ///
    /// # Errors
    /// [`ErrorKind::Deadlock`] also when the holder holds one of them and would have to wait for another whose key comes
    /// before that: two holders could then wait for each other. [`ErrorKind::Lost`] instead when it has lost that other one and
    /// not released it since: what it still holds has to be released first. Else as [`Lock::acquire_as`]; the error names the
    /// lock that it is about.
    ///
    /// [`ErrorKind::Deadlock`]: crate::ErrorKind::Deadlock
    /// [`ErrorKind::Lost`]: crate::ErrorKind::Lost
    ///
    /// # Cancel safety
    /// As [`LockAll::acquire`].
    pub async fn acquire_as(&self, holder: HolderId, how: AcquireOptions) -> Result<HeldAll> {
        let first = &self.locks[0];
        let term = first.term(&how);
        if let Term::Fixed(lease) = term {
            check_lease(OP, lease).map_err(|error| error.on(first.key()))?;
        }
        let asked_at = first.client().clock.now();
        let deadline = how.wait.until(asked_at);
        first.shared.check_open(OP)?;
        loop {
            let taking = Taking::new(self, holder, term, asked_at);
            // One that was lost while another was waited for had reached nobody: the set is taken anew.
            if let Some(hold) = Box::pin(taking.complete(deadline)).await? {
                return Ok(HeldAll::new(hold));
            }
        }
    }
}
