//! Acquiring by holder.

use super::read_write::SideWanted;
use super::{AcquireOptions, ReadWrite, RwHeld, RwLockSide, Side};
use crate::config::check_lease;
use crate::contended::{Caller, Primitive};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, HolderId, Renewal, Term};
use crate::stats::Way;
use crate::time::Tick;

const OP: &str = "acquire";

impl RwLockSide {
    /// Acquires this side for `holder`. A side that it holds already it gets again, counted, without a round trip; each acquire
    /// needs its own release. A re-entry never shortens the lease.
    ///
    /// A holder that writes may read as well, and then holds both; when it releases the write side it goes on as a reader, and
    /// the readers that wait are woken. A holder that only reads cannot write too: it would wait for itself, and two of its kind
    /// for each other.
    ///
    /// # Errors
    /// [`ErrorKind::Deadlock`] when the holder reads and wants to write, or when it holds this side and the lock is not
    /// re-entrant; [`ErrorKind::Busy`] when it was not to be had within the wait; [`ErrorKind::Lost`] when the holder has lost
    /// what it held of this lock and not learned of it yet: a loss is told once, then the holder may acquire again;
    /// [`ErrorKind::InvalidArgument`] for the lease; else as [`RwLockSide::acquire`].
    ///
    /// # Cancel safety
    /// As [`RwLockSide::acquire`].
    pub async fn acquire_as(&self, holder: HolderId, how: AcquireOptions) -> Result<RwHeld> {
        let term = self.term(&how);
        if let Term::Fixed(lease) = term {
            check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        }
        let (shared, asked_at) = (&self.lock.shared, self.client().clock.now());
        shared.check_open(OP)?;
        let (present, other) = {
            let mut holds = shared.holds();
            (holds.of(self.side).present(holder), holds.of(self.side.other()).present(holder))
        };
        present.iter().chain(&other).try_for_each(|grant| self.refuse_lost(grant))?;
        let wanted = SideWanted { term, side: self.side, under: None, steals: false };
        let grant = match (present, other, self.side) {
            (Some(grant), _, _) => self.reenter(holder, grant, term).await?,
            (None, Some(read), Side::Write) => return Err(self.refuse_upgrade(&read)),
            (None, Some(write), Side::Read) => self.beneath(&write, holder, wanted, how, asked_at).await?,
            (None, None, _) => self.as_newcomer(holder, wanted, how, asked_at).await?,
        };
        Ok(RwHeld::new(self.clone(), holder, grant))
    }

    /// For a holder that has nothing of this lock.
    async fn as_newcomer(
        &self,
        holder: HolderId,
        wanted: SideWanted,
        how: AcquireOptions,
        asked_at: Tick,
    ) -> Result<Grant> {
        if let Some(grant) = self.join(holder, wanted, asked_at) {
            return Ok(grant);
        }
        let caller = Caller::new(&self.lock.shared, holder, wanted, asked_at);
        match how.wait.until(asked_at) {
            None => caller.once().await,
            Some(deadline) => caller.until(deadline).await,
        }
    }

    /// Joins a hold of readers of this process, without a round trip, unless somebody here waits.
    fn join(&self, holder: HolderId, wanted: SideWanted, asked_at: Tick) -> Option<Grant> {
        let shared = &self.lock.shared;
        if !ReadWrite::is_shared(wanted) || shared.line().len() > 0 {
            return None;
        }
        let now = self.client().clock.now();
        let grant = shared.holds().join(holder, wanted.term, self.lock.shared_age, now)?;
        <ReadWrite as Primitive>::Renew::counts(&self.client().counters).acquired(now.since(asked_at), Way::AtOnce);
        Some(grant)
    }

    /// For a holder that writes. Nobody is in front of it, here or on the server.
    async fn beneath(
        &self,
        write: &Grant,
        holder: HolderId,
        wanted: SideWanted,
        how: AcquireOptions,
        asked_at: Tick,
    ) -> Result<Grant> {
        let number = write.owner().split(':').nth(1).and_then(|number| number.parse().ok());
        let beneath = SideWanted { under: number, ..wanted };
        match Caller::new(&self.lock.shared, holder, beneath, asked_at).once().await {
            // The server shows others: the write hold is gone.
            Err(error) if error.kind() == ErrorKind::Busy => {
                self.client().keeper.verify(write);
                self.as_newcomer(holder, wanted, how, asked_at).await
            }
            granted => granted,
        }
    }

    /// Counts one more acquire of what `holder` holds of this side, without I/O: its lease stays as it is, and it takes one
    /// more release.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold this side; [`ErrorKind::Deadlock`] and [`ErrorKind::Lost`] as
    /// [`RwLockSide::acquire_as`].
    pub(crate) fn reenter_as(&self, holder: HolderId) -> Result<RwHeld> {
        self.lock.shared.check_open(OP)?;
        let present = self.lock.shared.holds().of(self.side).grant(holder);
        let grant = present.ok_or_else(|| self.lock.shared.not_held(OP, None))?;
        self.refuse_lost(&grant)?;
        self.check_reentry(&grant)?;
        self.count_reentry(holder, grant).map(|grant| RwHeld::new(self.clone(), holder, grant))
    }

    async fn reenter(&self, holder: HolderId, grant: Grant, term: Term) -> Result<Grant> {
        self.check_reentry(&grant)?;
        self.lock.shared.extend_for(OP, &grant, term).await?;
        self.count_reentry(holder, grant)
    }

    fn check_reentry(&self, grant: &Grant) -> Result<()> {
        if !self.lock.reentrant {
            let token = grant.token();
            let message = format!(
                "this holder holds this side already (token {token}) and it is not re-entrant; it would wait for itself"
            );
            return Err(Error::new(ErrorKind::Deadlock, OP, message).on(self.key()));
        }
        Ok(())
    }

    /// It may have been released since it was looked up.
    fn count_reentry(&self, holder: HolderId, grant: Grant) -> Result<Grant> {
        match self.lock.shared.holds().of(self.side).reenter(holder, &grant) {
            true => Ok(grant),
            false => Err(self.lock.shared.not_held(OP, Some(&grant))),
        }
    }

    /// A reader would wait for its own hold to end, and with another reader that does the same without end.
    fn refuse_upgrade(&self, read: &Grant) -> Error {
        let message = format!(
            "this holder reads (token {}) and would wait for itself; release the read side first, or acquire the write side \
             before the read side: a writer may read as well",
            read.token()
        );
        Error::new(ErrorKind::Deadlock, OP, message).on(self.key())
    }

    /// Tells the holder of a loss, once: what it does with the lock next begins anew.
    fn refuse_lost(&self, grant: &Grant) -> Result<()> {
        let Some(reason) = grant.loss() else { return Ok(()) };
        self.lock.shared.told(grant);
        let message = format!(
            "lost with token {}: {reason}; work done since may have overlapped another holder's. A loss is told once: the \
             next acquire begins anew",
            grant.token()
        );
        Err(Error::new(ErrorKind::Lost, OP, message).on(self.key()))
    }
}
