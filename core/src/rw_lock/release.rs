//! What a holder has of one side: releasing, extending and asking.

use std::time::Duration;

use super::{AcquireOptions, RwHeld, RwLockSide, Side};
use crate::config::{MIN_LEASE, check_lease};
use crate::contended::{LastHolder, TakenBack};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, HolderId, LossReason};
use crate::wait::Wait;

impl RwLockSide {
    /// Ends one acquire of this side by `holder`. With the last one the hold ends, unless other readers of this process share
    /// it, and those are woken whose turn it is.
    ///
    /// # Errors
    /// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` does not hold this side, or has lost it: then nothing of anybody
    /// else's was touched. [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) or [`Connection`](crate::ErrorKind::Connection)
    /// when no reply came within `operation_timeout`: the hold is over all the same, and the lease runs out on the server.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release.
    pub async fn release_as(&self, holder: HolderId) -> Result<()> {
        self.release_which(holder, None).await
    }

    /// As [`RwLockSide::release_as`], of the hold with this token, if one is given.
    pub(crate) async fn release_which(&self, holder: HolderId, token: Option<u64>) -> Result<()> {
        const OP: &str = "release";
        let shared = &self.lock.shared;
        if self.is_forked() {
            shared.check_open(OP)?;
        }
        let taken_back = shared.holds().of(self.side).take_back(holder, token);
        match taken_back {
            TakenBack::NotHeld => {
                shared.check_open(OP)?;
                Err(shared.not_held(OP, None))
            }
            TakenBack::Reentry(grant) if grant.loss().is_some() => Err(shared.not_held(OP, Some(&grant))),
            TakenBack::Reentry(_) => Ok(()),
            TakenBack::Last(grant) => shared.release(grant, LastHolder::Caller).await,
        }
    }

    /// Ends one acquire of `holder`, of the hold with this token, unattended: it is not the holder's any more when this
    /// returns, and the server is told in the background. What was lost by more than its lease running out is left alone.
    pub(crate) fn release_in_background(&self, holder: HolderId, token: u64) {
        if self.is_forked() {
            return;
        }
        let taken_back = self.lock.shared.holds().of(self.side).take_back(holder, Some(token));
        if let TakenBack::Last(grant) = taken_back
            && matches!(grant.loss(), None | Some(LossReason::Expired))
        {
            self.lock.shared.give_back(&grant, LastHolder::Caller);
        }
    }

    /// As [`RwHeld::downgrade`], of the hold of this side that `holder` has, or of the one with this token: one acquire of it
    /// becomes one of the read side.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of the read side; [`NotHeld`](crate::ErrorKind::NotHeld) when
    /// `holder` has no such hold; else as [`RwLockSide::acquire_as`], after which it still writes, and as
    /// [`RwLockSide::release_as`], after which it holds nothing.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the holder writing, or releases both sides if the release of this one had begun.
    pub(crate) async fn downgrade_as(&self, holder: HolderId, token: Option<u64>) -> Result<RwHeld> {
        const OP: &str = "downgrade";
        let shared = &self.lock.shared;
        if self.side == Side::Read {
            let message = "this holder reads already: only a hold of the write side goes on as one of the read side";
            return Err(Error::new(ErrorKind::InvalidArgument, OP, message).on(self.key()));
        }
        shared.check_open(OP)?;
        let write = shared.holds().of(self.side).grant(holder);
        let write = write.filter(|write| token.is_none_or(|token| write.token() == token));
        let write = write.ok_or_else(|| shared.not_held(OP, None))?;
        let reads = self.read_beneath(holder, &write).await?;
        self.release_which(holder, token).await?;
        Ok(reads)
    }

    /// The read side, for a holder that writes and is to go on as a reader: it is to be had at once, or the write hold is gone.
    pub(super) async fn read_beneath(&self, holder: HolderId, write: &Grant) -> Result<RwHeld> {
        const OP: &str = "downgrade";
        let shared = &self.lock.shared;
        let reads = match self.lock.read().acquire_as(holder, AcquireOptions::default().wait(Wait::Try)).await {
            Err(error) if error.kind() == ErrorKind::Busy => return Err(shared.taken_away(OP, write)),
            read => read?,
        };
        // Where the write hold is gone and the lock is free, that was granted as to a newcomer, and others may have written. The
        // release of the write side finds that; one that leaves an outer acquire does not ask the server.
        let stays = shared.holds().of(self.side).latest(holder).is_some_and(|(_, count)| count > 1);
        if stays {
            shared.extend(OP, write, MIN_LEASE).await?;
        }
        Ok(reads)
    }

    /// Forgets what `holder` holds of this side without a word to the server, as when the holder went away: stops its renewal
    /// and warns. What it holds of the other side stays.
    pub(crate) fn abandon_as(&self, holder: HolderId) {
        if !self.is_forked() {
            let shared = &self.lock.shared;
            shared.abandon_all(|| shared.holds().of(self.side).take(holder));
        }
    }

    /// Lets the hold of this grant outlive the last [`RwLock`](super::RwLock) of its name: until it is released, lost, or
    /// abandoned with its holder or its client.
    pub(crate) fn keep_while_held(&self, grant: &Grant) {
        let shared = &self.lock.shared;
        shared.holds().of(self.side).keep(grant, shared);
    }

    /// Sets the lease of what `holder` holds of this side to `lease` from now on, 100 ms to 24 h. Only ever prolongs; for readers
    /// that share the hold as well. The server is asked in any case, so that success means that it still showed the hold.
    ///
    /// # Errors
    /// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` does not hold it or has lost it, which this call may find out;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for the lease; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the lease prolonged on the server, and not in what [`Grant::remaining`] says.
    pub async fn extend_as(&self, holder: HolderId, lease: Duration) -> Result<()> {
        self.extend_which(holder, None, lease).await
    }

    /// As [`RwLockSide::extend_as`], of the hold with this token, if one is given.
    pub(super) async fn extend_which(&self, holder: HolderId, token: Option<u64>, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        let shared = &self.lock.shared;
        check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        shared.check_open(OP)?;
        let latest = shared.holds().of(self.side).grant(holder);
        let grant = latest.filter(|grant| token.is_none_or(|token| grant.token() == token));
        match grant {
            Some(grant) if grant.is_valid() && grant.loss().is_none() => shared.extend(OP, &grant, lease).await,
            grant => Err(shared.not_held(OP, grant.as_ref())),
        }
    }

    /// What `holder` holds of this side, if it does, lost or not.
    pub fn grant_of(&self, holder: HolderId) -> Option<Grant> {
        if self.is_forked() { None } else { self.lock.shared.holds().of(self.side).grant(holder) }
    }

    /// How often `holder` has acquired what it holds of this side; 0 when it does not hold it, or has lost it. An answer of 0
    /// tells of the loss: the holder may acquire again.
    pub fn hold_count(&self, holder: HolderId) -> u32 {
        if self.is_forked() {
            return 0;
        }
        let lost = match self.lock.shared.holds().of(self.side).latest(holder) {
            Some((grant, count)) if grant.loss().is_none() => return count,
            Some((grant, _)) => grant.clone(),
            None => return 0,
        };
        self.lock.shared.told(&lost);
        0
    }
}
