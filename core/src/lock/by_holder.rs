//! What a holder has of a lock.

use std::time::Duration;

use super::{HolderId, Lock};
use crate::config::check_lease;
use crate::error::Result;
use crate::lease::Grant;

impl Lock {
    /// How often `holder` has acquired what it holds; 0 when it does not hold it, or has lost it. An answer of 0 tells of the
    /// loss: the holder may acquire again.
    pub fn hold_count(&self, holder: HolderId) -> u32 {
        if self.is_forked() {
            return 0;
        }
        let lost = match self.shared.holds().latest(holder) {
            Some((grant, count)) if grant.loss().is_none() => return count,
            Some((grant, _)) => grant.clone(),
            None => return 0,
        };
        self.shared.told(&lost);
        0
    }

    /// What `holder` holds, if it does, lost or not.
    pub fn grant_of(&self, holder: HolderId) -> Option<Grant> {
        if self.is_forked() { None } else { self.shared.holds().grant(holder) }
    }

    /// Lets the hold of this grant outlive the last [`Lock`] of its name: until it is released, lost, or abandoned with its
    /// holder or its client.
    pub(crate) fn keep_while_held(&self, grant: &Grant) {
        self.shared.holds().keep(grant, &self.shared);
    }

    /// Sets the lease of what `holder` holds to `lease` from now on, 100 ms to 24 h. Only ever prolongs: one that would end
    /// sooner than the present lease leaves it as it is. The server is asked in any case, so that success means that it still
    /// showed the hold.
    ///
    /// # Errors
    /// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` does not hold it or has lost it, which this call may find out;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for the lease; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the lease prolonged on the server, and not in what [`Grant::remaining`] says.
    pub async fn extend_as(&self, holder: HolderId, lease: Duration) -> Result<()> {
        self.extend_hold(holder, None, lease).await
    }

    /// As [`Lock::extend_as`], of the hold with this token, if one is given.
    pub(super) async fn extend_hold(&self, holder: HolderId, token: Option<u64>, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        let grant = self.held_by(OP, holder, token)?;
        self.shared.extend(OP, &grant, lease).await
    }

    /// What `holder` holds and has not lost; with a token, that hold.
    pub(super) fn held_by(&self, op: &'static str, holder: HolderId, token: Option<u64>) -> Result<Grant> {
        self.shared.check_open(op)?;
        let latest = self.shared.holds().grant(holder);
        let grant = latest.filter(|grant| token.is_none_or(|token| grant.token() == token));
        match grant {
            Some(grant) if grant.is_valid() && grant.loss().is_none() => Ok(grant),
            grant => Err(self.shared.not_held(op, grant.as_ref())),
        }
    }
}
