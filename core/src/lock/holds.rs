//! Who in this process holds one lock, and how often.

use super::HolderId;
use crate::lease::Grant;

/// A holder that has lost its hold and never says a word again is remembered among this many.
const REMEMBERED_LOSSES: usize = 64;

/// The holds of one lock in this process: at most one that is valid, and those that were lost and not yet released.
#[derive(Default)]
pub(super) struct Holds(Vec<Hold>);

struct Hold {
    holder: HolderId,
    count: u32,
    grant: Grant,
}

/// What a release by a holder found.
pub(super) enum Leaving {
    NotHolding,
    /// Acquired more often than released: still held.
    Inner(Grant),
    /// The last one: the hold is over.
    Last(Grant),
}

impl Holds {
    fn find(&self, holder: HolderId) -> Option<&Hold> {
        self.0.iter().find(|hold| hold.holder == holder)
    }

    pub(super) fn grant(&self, holder: HolderId) -> Option<Grant> {
        self.find(holder).map(|hold| hold.grant.clone())
    }

    pub(super) fn count(&self, holder: HolderId) -> u32 {
        self.find(holder).filter(|hold| hold.grant.is_valid()).map_or(0, |hold| hold.count)
    }

    /// The hold that keeps others out of the lock.
    pub(super) fn valid(&self) -> Option<&Grant> {
        self.0.iter().map(|hold| &hold.grant).find(|grant| grant.is_valid())
    }

    pub(super) fn enter(&mut self, holder: HolderId, grant: Grant) {
        let lost = self.0.iter().filter(|hold| !hold.grant.is_valid()).count();
        if lost > REMEMBERED_LOSSES
            && let Some(oldest) = self.0.iter().position(|hold| !hold.grant.is_valid())
        {
            self.0.remove(oldest);
        }
        // As a rule there is one: a vector that grows by itself would make room for four.
        self.0.reserve_exact(1);
        self.0.push(Hold { holder, count: 1, grant });
    }

    /// Counts one more acquire of what the holder holds; false when it does not hold that grant any more.
    pub(super) fn enter_again(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let hold = self.0.iter_mut().find(|hold| hold.holder == holder && hold.grant.address() == grant.address());
        hold.map(|hold| hold.count += 1).is_some()
    }

    /// Counts one more acquire of what the holder holds, if its grant is `fit`; that grant.
    pub(super) fn count_up(&mut self, holder: HolderId, fit: impl FnOnce(&Grant) -> bool) -> Option<&Grant> {
        let hold = self.0.iter_mut().find(|hold| hold.holder == holder).filter(|hold| fit(&hold.grant))?;
        hold.count += 1;
        Some(&hold.grant)
    }

    /// Takes one acquire back that is not the holder's last, if its grant is `fit`.
    pub(super) fn count_down(&mut self, holder: HolderId, fit: impl FnOnce(&Grant) -> bool) -> bool {
        let hold = self.0.iter_mut().find(|hold| hold.holder == holder);
        let hold = hold.filter(|hold| hold.count > 1 && fit(&hold.grant));
        hold.map(|hold| hold.count -= 1).is_some()
    }

    /// Takes a grant out if the holder has it once, and still.
    pub(super) fn take_single(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let is_it = |hold: &Hold| hold.holder == holder && hold.count == 1 && hold.grant.address() == grant.address();
        let at = self.0.iter().position(is_it);
        at.map(|at| self.0.remove(at)).is_some()
    }

    pub(super) fn leave(&mut self, holder: HolderId) -> Leaving {
        let Some(at) = self.0.iter().position(|hold| hold.holder == holder) else {
            return Leaving::NotHolding;
        };
        if self.0[at].count > 1 {
            self.0[at].count -= 1;
            return Leaving::Inner(self.0[at].grant.clone());
        }
        Leaving::Last(self.0.remove(at).grant)
    }

    /// Every hold that is still valid, taken out.
    pub(super) fn take_valid(&mut self) -> Vec<Grant> {
        let all = std::mem::take(&mut self.0);
        all.into_iter().map(|hold| hold.grant).filter(Grant::is_valid).collect()
    }

    pub(super) fn take(&mut self, holder: HolderId) -> Option<Grant> {
        let at = self.0.iter().position(|hold| hold.holder == holder)?;
        Some(self.0.remove(at).grant)
    }
}
