//! Acquiring: the calls, and re-entry.

use super::caller::{Caller, Path};
use super::{Acquire, Held, HolderId, Lock};
use crate::config::check_lease;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, Lease};

const OP: &str = "acquire";

impl Lock {
    /// Acquires for `holder`. What it holds already it gets again, counted, without a round trip; each acquire needs its
    /// own release.
    ///
    /// A re-entry never shortens the lease: one that asks for a longer given lease prolongs it, and one that asks for the
    /// watchdog hands the hold to it.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when it was not free within the wait; [`ErrorKind::Deadlock`] when the holder holds a lock that
    /// is not re-entrant; [`ErrorKind::Lost`] when it has lost this hold and not yet released it;
    /// [`ErrorKind::InvalidArgument`] for the lease; else as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn acquire_as(&self, holder: HolderId, how: Acquire) -> Result<Held> {
        match self.reenter_held(holder, &how) {
            Some(held) => Ok(held),
            None => self.acquire_by(holder, how, Path::Runtime).await,
        }
    }

    /// As [`Lock::acquire_as`], for a thread that may block: the first poll does its one round trip on the calling thread, on a
    /// connection of its own, if one of `blocking_connections` is free. That blocks the thread for 40 ms at most; what
    /// remains goes on as usual.
    ///
    /// # Errors and cancel safety
    /// As [`Lock::acquire_as`].
    pub async fn acquire_directly(&self, holder: HolderId, how: Acquire) -> Result<Held> {
        self.acquire_by(holder, how, Path::Direct).await
    }

    async fn acquire_by(&self, holder: HolderId, how: Acquire, path: Path) -> Result<Held> {
        let lease = how.lease.unwrap_or(self.lease);
        if let Lease::Fixed(lease) = lease {
            check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        }
        let deadline = how.wait.until(OP, &self.client().clock).map_err(|error| error.on(self.key()))?;
        self.shared.check_open(OP)?;
        let present = self.shared.holds().grant(holder);
        let caller = || Caller::new(&self.shared, holder, lease, path);
        let grant = match (present, deadline) {
            (Some(grant), _) => self.reenter(holder, grant, lease).await?,
            (None, None) => caller().once().await?,
            (None, Some(deadline)) => caller().until(deadline).await?,
        };
        Ok(Held::new(self.clone(), holder, grant))
    }

    /// Counts one more acquire of what `holder` holds, without I/O: its lease stays as it is, and it takes one more release.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold it; [`ErrorKind::Deadlock`] and [`ErrorKind::Lost`] as
    /// [`Lock::acquire_as`].
    pub fn reenter_as(&self, holder: HolderId) -> Result<Held> {
        self.shared.check_open(OP)?;
        let present = self.shared.holds().grant(holder);
        let grant = present.ok_or_else(|| self.shared.not_held(OP, None))?;
        self.check_reentry(&grant)?;
        self.count_reentry(holder, grant).map(|grant| Held::new(self.clone(), holder, grant))
    }

    async fn reenter(&self, holder: HolderId, grant: Grant, lease: Lease) -> Result<Grant> {
        self.check_reentry(&grant)?;
        match lease {
            Lease::Watchdog if !grant.is_renewed() => {
                let lease = self.client().options.lease;
                self.shared.extend(OP, &grant, lease).await?;
                grant.renew_from_now(lease);
                self.client().keeper.watch(&grant);
            }
            Lease::Fixed(lease) if !grant.is_renewed() || lease > grant.lease() => {
                self.shared.extend(OP, &grant, lease).await?;
            }
            Lease::Watchdog | Lease::Fixed(_) => {}
        }
        self.count_reentry(holder, grant)
    }

    fn check_reentry(&self, grant: &Grant) -> Result<()> {
        let refuse = |kind, message: String| Err(Error::new(kind, OP, message).on(self.key()));
        if let Some(reason) = grant.loss() {
            return refuse(
                ErrorKind::Lost,
                format!("this holder has lost it ({reason}) and not released it yet; release first"),
            );
        }
        if !self.reentrant {
            let token = grant.token();
            return refuse(
                ErrorKind::Deadlock,
                format!(
                    "this holder holds it already (token {token}) and it is not re-entrant; it would wait for itself"
                ),
            );
        }
        Ok(())
    }

    /// It may have been released since it was looked up.
    fn count_reentry(&self, holder: HolderId, grant: Grant) -> Result<Grant> {
        if self.shared.holds().enter_again(holder, &grant) {
            Ok(grant)
        } else {
            Err(self.shared.not_held(OP, Some(&grant)))
        }
    }
}
