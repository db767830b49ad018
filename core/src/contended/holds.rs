//! Who in this process holds one object that a holder may acquire again, and how often.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Contended, Primitive};
use crate::lease::{Grant, HolderId};

/// A holder that has lost its hold and never says a word again is remembered among this many, or twice as many.
const REMEMBERED_LOSSES: usize = 64;

/// The holds of one object in this process: those that are valid, of which a lock has one at most, and lost ones that their
/// holder has not released yet.
///
/// A holder may have several. Only the latest can be valid: the holder learned of the loss of the others before it acquired
/// again. As a rule there is one hold, which needs no memory of its own.
pub(crate) struct Holds<P: Primitive>(SmallVec<[Hold<P>; 1]>);

struct Hold<P: Primitive> {
    holder: HolderId,
    count: u32,
    grant: Grant,
    /// The holder has learned that it was lost.
    told: bool,
    /// The object itself, while a hold has to outlive all users of its name. Gone with the hold.
    kept: Option<Arc<Contended<P>>>,
}

impl<P: Primitive> Default for Holds<P> {
    fn default() -> Holds<P> {
        Holds(SmallVec::new())
    }
}

/// What a release by a holder found.
pub(crate) enum TakenBack {
    NotHeld,
    /// Acquired more often than released: still held.
    Reentry(Grant),
    /// The last one: the hold is over.
    Last(Grant),
}

impl<P: Primitive> Holds<P> {
    /// The holder's latest hold, or the one with this token.
    fn position(&self, holder: HolderId, token: Option<u64>) -> Option<usize> {
        let is_it = |hold: &Hold<P>| hold.holder == holder && token.is_none_or(|token| hold.grant.token() == token);
        self.0.iter().rposition(is_it)
    }

    fn find(&mut self, holder: HolderId, token: Option<u64>) -> Option<&mut Hold<P>> {
        self.position(holder, token).map(|at| &mut self.0[at])
    }

    /// The holder's latest hold, lost or not.
    pub(crate) fn grant(&self, holder: HolderId) -> Option<Grant> {
        self.position(holder, None).map(|at| self.0[at].grant.clone())
    }

    /// As [`Holds::grant`], unless the holder knows that it was lost: then it may acquire again.
    pub(crate) fn present(&self, holder: HolderId) -> Option<Grant> {
        let hold = &self.0[self.position(holder, None)?];
        (!hold.told).then(|| hold.grant.clone())
    }

    /// The holder's latest hold, and how often it has that.
    pub(crate) fn latest(&self, holder: HolderId) -> Option<(&Grant, u32)> {
        self.position(holder, None).map(|at| (&self.0[at].grant, self.0[at].count))
    }

    /// The holder of this grant has learned that it was lost.
    pub(crate) fn told(&mut self, lost: &Grant) {
        let hold = self.0.iter_mut().find(|hold| hold.grant.address() == lost.address());
        hold.into_iter().for_each(|hold| hold.told = true);
    }

    /// The first hold that is valid: that of a lock.
    pub(crate) fn valid(&self) -> Option<&Grant> {
        self.all_valid().next()
    }

    /// All holds that are valid.
    pub(crate) fn all_valid(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter().map(|hold| &hold.grant).filter(|grant| grant.is_valid())
    }

    pub(crate) fn enter(&mut self, holder: HolderId, grant: Grant) {
        if !self.0.is_empty() {
            self.forget_losses(holder);
        }
        self.0.push(Hold { holder, count: 1, grant, told: false, kept: None });
    }

    /// Keeps the object for as long as this grant is held. One that was lost keeps nothing.
    pub(crate) fn keep(&mut self, grant: &Grant, object: &Arc<Contended<P>>) {
        let hold = self.0.iter_mut().find(|hold| hold.grant.address() == grant.address());
        if let Some(hold) = hold.filter(|hold| hold.grant.loss().is_none()) {
            hold.kept.get_or_insert_with(|| object.clone());
        }
    }

    /// What the hold with this token keeps, or what all of them keep: to be dropped by a caller that has let go of the holds.
    pub(crate) fn let_go(&mut self, token: Option<u64>) -> Vec<Arc<Contended<P>>> {
        let those = self.0.iter_mut().filter(|hold| token.is_none_or(|token| hold.grant.token() == token));
        those.filter_map(|hold| hold.kept.take()).collect()
    }

    /// Keeps the holder's last loss, for a release that is still to come, and a bounded number of those of others.
    fn forget_losses(&mut self, holder: HolderId) {
        if let Some(last) = self.position(holder, None) {
            let mut at = 0;
            self.0.retain(|hold| {
                at += 1;
                hold.holder != holder || at - 1 == last
            });
        }
        // Not each time: many may hold it, and each is asked.
        if !self.0.len().is_multiple_of(REMEMBERED_LOSSES) {
            return;
        }
        let lost = self.0.iter().filter(|hold| !hold.grant.is_valid()).count();
        let mut too_many = lost.saturating_sub(REMEMBERED_LOSSES);
        self.0.retain(|hold| {
            let goes = too_many > 0 && !hold.grant.is_valid();
            too_many -= usize::from(goes);
            !goes
        });
    }

    /// Counts one more acquire of what the holder holds; false when it does not hold that grant any more.
    pub(crate) fn reenter(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let hold = self.0.iter_mut().find(|hold| hold.holder == holder && hold.grant.address() == grant.address());
        hold.map(|hold| hold.count += 1).is_some()
    }

    /// Counts one more acquire of what the holder holds, if its grant is `fit`; that grant.
    pub(crate) fn reenter_if(&mut self, holder: HolderId, fit: impl FnOnce(&Grant) -> bool) -> Option<&Grant> {
        let hold = self.find(holder, None).filter(|hold| fit(&hold.grant))?;
        hold.count += 1;
        Some(&hold.grant)
    }

    /// Takes one acquire back that is not the holder's last, if its grant is `fit`.
    pub(crate) fn release_reentry_if(
        &mut self,
        holder: HolderId,
        token: Option<u64>,
        fit: impl FnOnce(&Grant) -> bool,
    ) -> bool {
        let hold = self.find(holder, token).filter(|hold| hold.count > 1 && fit(&hold.grant));
        hold.map(|hold| hold.count -= 1).is_some()
    }

    /// Takes a grant out if the holder has it once, and still.
    pub(crate) fn take_single(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let is_it =
            |hold: &Hold<P>| hold.holder == holder && hold.count == 1 && hold.grant.address() == grant.address();
        let at = self.0.iter().position(is_it);
        at.map(|at| self.0.remove(at)).is_some()
    }

    /// Takes one acquire back, of the holder's latest hold or of the one with this token.
    pub(crate) fn take_back(&mut self, holder: HolderId, token: Option<u64>) -> TakenBack {
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
    pub(crate) fn take_valid(&mut self) -> Vec<Grant> {
        let all = std::mem::take(&mut self.0);
        let (valid, lost): (Vec<Hold<P>>, _) = all.into_iter().partition(|hold| hold.grant.is_valid());
        self.0.extend(lost);
        valid.into_iter().map(|hold| hold.grant).collect()
    }

    /// Takes out all that the holder has; the one that may be valid, if it has one.
    pub(crate) fn take(&mut self, holder: HolderId) -> Option<Grant> {
        let latest = self.grant(holder)?;
        self.0.retain(|hold| hold.holder != holder);
        Some(latest)
    }
}
