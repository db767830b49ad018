//! Who in this process holds one lock, and how often.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{HolderId, LockObject};
use crate::lease::Grant;

/// A holder that has lost its hold and never says a word again is remembered among this many.
const REMEMBERED_LOSSES: usize = 64;

/// The holds of one lock in this process: at most one that is valid, and lost ones that their holder has not released yet.
///
/// A holder may have several. Only the latest can be valid: the holder learned of the loss of the others before it acquired
/// again. As a rule there is one hold, which needs no memory of its own.
#[derive(Default)]
pub(super) struct Holds(SmallVec<[Hold; 1]>);

struct Hold {
    holder: HolderId,
    count: u32,
    grant: Grant,
    /// The holder has learned that it was lost.
    told: bool,
    /// The lock itself, while a hold has to outlive every [`Lock`](super::Lock) of its name. Gone with the hold.
    kept: Option<Arc<LockObject>>,
}

/// What a release by a holder found.
pub(super) enum TakenBack {
    NotHeld,
    /// Acquired more often than released: still held.
    Reentry(Grant),
    /// The last one: the hold is over.
    Last(Grant),
}

impl Holds {
    /// The holder's latest hold, or the one with this token.
    fn position(&self, holder: HolderId, token: Option<u64>) -> Option<usize> {
        let is_it = |hold: &Hold| hold.holder == holder && token.is_none_or(|token| hold.grant.token() == token);
        self.0.iter().rposition(is_it)
    }

    fn find(&mut self, holder: HolderId, token: Option<u64>) -> Option<&mut Hold> {
        self.position(holder, token).map(|at| &mut self.0[at])
    }

    /// The holder's latest hold, lost or not.
    pub(super) fn grant(&self, holder: HolderId) -> Option<Grant> {
        self.position(holder, None).map(|at| self.0[at].grant.clone())
    }

    /// As [`Holds::grant`], unless the holder knows that it was lost: then it may acquire again.
    pub(super) fn present(&self, holder: HolderId) -> Option<Grant> {
        let hold = &self.0[self.position(holder, None)?];
        (!hold.told).then(|| hold.grant.clone())
    }

    /// The holder's latest hold, and how often it has that.
    pub(super) fn latest(&self, holder: HolderId) -> Option<(&Grant, u32)> {
        self.position(holder, None).map(|at| (&self.0[at].grant, self.0[at].count))
    }

    /// The holder of this grant has learned that it was lost.
    pub(super) fn told(&mut self, lost: &Grant) {
        let hold = self.0.iter_mut().find(|hold| hold.grant.address() == lost.address());
        hold.into_iter().for_each(|hold| hold.told = true);
    }

    /// The hold that keeps others out of the lock.
    pub(super) fn valid(&self) -> Option<&Grant> {
        self.0.iter().map(|hold| &hold.grant).find(|grant| grant.is_valid())
    }

    pub(super) fn enter(&mut self, holder: HolderId, grant: Grant) {
        if !self.0.is_empty() {
            self.forget_losses(holder);
        }
        self.0.push(Hold { holder, count: 1, grant, told: false, kept: None });
    }

    /// Keeps the lock for as long as this grant is held. One that was lost keeps nothing.
    pub(super) fn keep(&mut self, grant: &Grant, lock: &Arc<LockObject>) {
        let hold = self.0.iter_mut().find(|hold| hold.grant.address() == grant.address());
        if let Some(hold) = hold.filter(|hold| hold.grant.loss().is_none()) {
            hold.kept.get_or_insert_with(|| lock.clone());
        }
    }

    /// What the hold with this token keeps, or what all of them keep: to be dropped by a caller that has let go of the holds.
    pub(super) fn let_go(&mut self, token: Option<u64>) -> Vec<Arc<LockObject>> {
        let those = self.0.iter_mut().filter(|hold| token.is_none_or(|token| hold.grant.token() == token));
        those.filter_map(|hold| hold.kept.take()).collect()
    }

    /// Keeps the holder's last loss, for a release that is still to come, and a bounded number of those of others.
    fn forget_losses(&mut self, holder: HolderId) {
        let last = self.position(holder, None);
        let mut at = 0;
        self.0.retain(|hold| {
            at += 1;
            hold.holder != holder || Some(at - 1) == last
        });
        let lost = self.0.iter().filter(|hold| !hold.grant.is_valid()).count();
        if lost > REMEMBERED_LOSSES
            && let Some(oldest) = self.0.iter().position(|hold| !hold.grant.is_valid())
        {
            self.0.remove(oldest);
        }
    }

    /// Counts one more acquire of what the holder holds; false when it does not hold that grant any more.
    pub(super) fn reenter(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let hold = self.0.iter_mut().find(|hold| hold.holder == holder && hold.grant.address() == grant.address());
        hold.map(|hold| hold.count += 1).is_some()
    }

    /// Counts one more acquire of what the holder holds, if its grant is `fit`; that grant.
    pub(super) fn reenter_if(&mut self, holder: HolderId, fit: impl FnOnce(&Grant) -> bool) -> Option<&Grant> {
        let hold = self.find(holder, None).filter(|hold| fit(&hold.grant))?;
        hold.count += 1;
        Some(&hold.grant)
    }

    /// Takes one acquire back that is not the holder's last, if its grant is `fit`.
    pub(super) fn release_reentry_if(
        &mut self,
        holder: HolderId,
        token: Option<u64>,
        fit: impl FnOnce(&Grant) -> bool,
    ) -> bool {
        let hold = self.find(holder, token).filter(|hold| hold.count > 1 && fit(&hold.grant));
        hold.map(|hold| hold.count -= 1).is_some()
    }

    /// Takes a grant out if the holder has it once, and still.
    pub(super) fn take_single(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let is_it = |hold: &Hold| hold.holder == holder && hold.count == 1 && hold.grant.address() == grant.address();
        let at = self.0.iter().position(is_it);
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// Takes one acquire back, of the holder's latest hold or of the one with this token.
    pub(super) fn take_back(&mut self, holder: HolderId, token: Option<u64>) -> TakenBack {
        let Some(at) = self.position(holder, token) else {
            return TakenBack::NotHeld;
        };
        if self.0[at].count > 1 {
            self.0[at].count -= 1;
            return TakenBack::Reentry(self.0[at].grant.clone());
        }
        TakenBack::Last(self.0.remove(at).grant)
    }

    /// Every hold that is still valid, taken out. What was lost stays, for its holder.
    pub(super) fn take_valid(&mut self) -> Vec<Grant> {
        let all = std::mem::take(&mut self.0);
        let (valid, lost): (Vec<Hold>, _) = all.into_iter().partition(|hold| hold.grant.is_valid());
        self.0.extend(lost);
        valid.into_iter().map(|hold| hold.grant).collect()
    }

    /// Takes out all that the holder has; the one that may be valid, if it has one.
    pub(super) fn take(&mut self, holder: HolderId) -> Option<Grant> {
        let latest = self.grant(holder)?;
        self.0.retain(|hold| hold.holder != holder);
        Some(latest)
    }
}
