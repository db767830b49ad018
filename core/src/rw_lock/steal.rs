//! Taking a lock away from whoever holds it.

use super::read_write::SideWanted;
use super::{AcquireOptions, RwHeld, RwLockSide, Side};
use crate::config::check_lease;
use crate::contended::Caller;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{HolderId, LossReason, Term};

const OP: &str = "steal";

impl RwLockSide {
    /// Takes the write side at once, whoever holds either side and whoever waits, in one script: nobody else is granted it in
    /// between. The holds of others are lost, with [`LossReason::Taken`]: those of this client when this returns; other clients
    /// are sent a message and look at once, and until then only the new token, which is larger than theirs,
    /// protects the resource. With more than 500 holders the others learn of it at their next renewal. Those that wait keep their
    /// places.
    ///
    /// For a holder that is known to be stuck; a holder that died loses the lock by itself when its lease ends.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] of the read side; else as [`RwLockSide::acquire`].
    ///
    /// # Cancel safety
    /// As [`RwLockSide::acquire`]; the holds of others may be over all the same.
    pub async fn steal(&self) -> Result<RwHeld> {
        self.steal_as(HolderId::fresh(), AcquireOptions::default()).await
    }

    /// As [`RwLockSide::steal`], for `holder`. Of `how` the lease counts; there is no wait.
    ///
    /// # Errors
    /// [`ErrorKind::Deadlock`] when the holder has either side itself; [`ErrorKind::InvalidArgument`] for the lease; else as
    /// [`RwLockSide::steal`].
    ///
    /// # Cancel safety
    /// As [`RwLockSide::steal`].
    pub async fn steal_as(&self, holder: HolderId, how: AcquireOptions) -> Result<RwHeld> {
        if self.side == Side::Read {
            let message = "only the write side takes the lock away from others: a reader is one of several holders";
            return Err(Error::new(ErrorKind::InvalidArgument, OP, message).on(self.key()));
        }
        let term = self.term(&how);
        if let Term::Fixed(lease) = term {
            check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        }
        let (shared, asked_at) = (&self.lock.shared, self.client().clock.now());
        shared.check_open(OP)?;
        // The server ends these. One that is granted meanwhile may come before or after.
        let before = {
            let mut holds = shared.holds();
            let own = [Side::Read, Side::Write].map(|side| holds.of(side).grant(holder));
            if own.iter().flatten().any(|grant| grant.loss().is_none()) {
                let message = "this holder has the lock itself, and would take it away from itself; release it first";
                return Err(Error::new(ErrorKind::Deadlock, OP, message).on(self.key()));
            }
            holds.valid()
        };
        let wanted = SideWanted { term, side: self.side, under: None, steals: true };
        let stolen = Caller::new(shared, holder, wanted, asked_at).once().await;
        match &stolen {
            Ok(_) => before.iter().for_each(|grant| self.client().keeper.end_as(grant, LossReason::Taken)),
            Err(_) => shared.verify_holds(),
        }
        stolen.map(|grant| RwHeld::new(self.clone(), holder, grant))
    }
}
