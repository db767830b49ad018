//! Acquiring by holder.

use super::{AcquireOptions, Held, HolderId, Lock};
use crate::config::check_lease;
use crate::contended::Caller;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, LossReason, Term};

pub(super) const OP: &str = "acquire";

impl Lock {
    /// Acquires for `holder`. What it holds already it gets again, counted, without a round trip; each acquire needs its
    /// own release.
    ///
    /// A re-entry never shortens the lease: one that asks for a longer given lease prolongs it, and one that asks for the
    /// watchdog hands the hold to it. Through a lock with a longer
    /// [`LockOptions::watchdog_lease`](super::LockOptions::watchdog_lease), the hold is renewed with that one until it is
    /// released; a shorter one changes nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Busy`] when it was not free within the wait; [`ErrorKind::Deadlock`] when the holder holds a lock that
    /// is not re-entrant; [`ErrorKind::Lost`] when it has lost its hold and not learned of it yet: a loss is told once, by
    /// this error, by [`Lock::hold_count`] or by the error of any other call; then the holder may acquire again.
    /// [`ErrorKind::InvalidArgument`] for the lease; else as [`Lock::acquire`].
    ///
    /// # Cancel safety
    /// As [`Lock::acquire`].
    pub async fn acquire_as(&self, holder: HolderId, how: AcquireOptions) -> Result<Held> {
        if let Some(held) = self.reenter_at_once(holder, &how) {
            return Ok(held);
        }
        let term = self.term(&how);
        if let Term::Fixed(lease) = term {
            check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        }
        let asked_at = self.client().clock.now();
        let deadline = how.wait.until(asked_at);
        self.shared.check_open(OP)?;
        let present = self.shared.holds().present(holder);
        let caller = || Caller::new(&self.shared, holder, term, asked_at);
        let grant = match (present, deadline) {
            (Some(grant), _) => self.reenter(holder, grant, term).await?,
            (None, None) => caller().once().await?,
            (None, Some(deadline)) => caller().until(deadline).await?,
        };
        Ok(Held::new(self.clone(), holder, grant))
    }

    /// Tells the holder of a loss, once: what it does with the lock next begins anew.
    pub(super) fn refuse_lost(&self, op: &'static str, grant: &Grant) -> Result<()> {
        let Some(reason) = grant.loss() else { return Ok(()) };
        Err(self.lost(op, grant, reason, "A loss is told once: the next acquire begins anew"))
    }

    /// Tells the holder of a loss, and what it can do next.
    pub(super) fn lost(&self, op: &'static str, grant: &Grant, reason: LossReason, advice: &str) -> Error {
        self.shared.told(grant);
        let message = format!(
            "lost with token {}: {reason}; work done since may have overlapped another holder's. {advice}",
            grant.token()
        );
        Error::new(ErrorKind::Lost, op, message).on(self.key())
    }
}
