//! What a holder has of a set, and gives back at its end.

use super::members::Members;
use super::{HolderId, LockAll};
use crate::contended::{TakenBack, give_back_together, release_together};
use crate::error::Result;
use crate::lease::LossReason;

/// One acquire of some of the locks, by one holder. Dropping it gives them back in the background.
pub(super) struct Hold {
    pub(super) holder: HolderId,
    pub(super) members: Members,
}

impl Hold {
    pub(super) fn new(all: &LockAll, holder: HolderId) -> Hold {
        Hold { holder, members: Members::new(all) }
    }

    /// Releases all of them, by one request.
    pub(super) async fn release(mut self) -> Result<()> {
        release(&self.take(), self.holder).await
    }

    /// What it has, which it does not give back any more.
    pub(super) fn take(&mut self) -> Members {
        let nothing = Members::new(&self.members.all);
        std::mem::replace(&mut self.members, nothing)
    }
}

/// Ends one acquire of each of these by `holder`; those that it had acquired once are freed, by one request.
pub(super) async fn release(members: &Members, holder: HolderId) -> Result<()> {
    let (last, result) = members.take_back(holder);
    // In order: what is lost is named first.
    let released = release_together(last).await;
    result.and(released)
}

impl Drop for Hold {
    fn drop(&mut self) {
        if self.members.is_empty() || self.members.all.locks[0].is_forked() {
            return;
        }
        let mut last = Vec::new();
        for (at, grant) in self.members.take() {
            let lock = &self.members.all.locks[at];
            let taken_back = lock.shared.holds().take_back(self.holder, Some(grant.token()));
            if let TakenBack::Last(grant) = taken_back
                && matches!(grant.loss(), None | Some(LossReason::Expired))
            {
                last.push((lock.shared.clone(), grant));
            }
        }
        give_back_together(last);
    }
}
