//! Who in this process holds permits of one semaphore.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::SemaphoreObject;
use super::held::count_of;
use crate::lease::{Grant, HolderId};

/// Holders that have lost their permits and never say a word again are remembered among this many, at least; of a holder that
/// holds others, so many losses of its own are.
const REMEMBERED_LOSSES: usize = 64;

/// In the order in which they were granted. Lost ones stay until their holder releases them: otherwise that release would end
/// the hold before.
pub(super) struct Holds {
    all: Vec<Hold>,
    /// When there are more, losses are forgotten: each hold is looked at for that a few times, and not at every acquire.
    swept_above: usize,
}

struct Hold {
    holder: HolderId,
    grant: Grant,
    /// The semaphore itself, while a hold has to outlive every [`Semaphore`](super::Semaphore) of its name. Gone with the hold.
    kept: Option<Arc<SemaphoreObject>>,
}

impl Default for Holds {
    fn default() -> Holds {
        Holds { all: Vec::new(), swept_above: Holds::swept_above(0) }
    }
}

impl Holds {
    pub(super) fn enter(&mut self, holder: HolderId, grant: Grant) {
        self.all.push(Hold { holder, grant, kept: None });
        if self.all.len() > self.swept_above {
            self.forget_losses();
            self.swept_above = Holds::swept_above(self.all.len());
        }
    }

    /// Twice as many as there are, and a few more.
    fn swept_above(holds: usize) -> usize {
        2 * holds + REMEMBERED_LOSSES
    }

    /// Forgets the oldest losses. One of a holder with a valid hold counts among its own: were it forgotten for those of others,
    /// that holder's release would end what it still holds.
    fn forget_losses(&mut self) {
        let is_lost: Vec<bool> = self.all.iter().map(|hold| hold.grant.loss().is_some()).collect();
        let valid = self.all.iter().zip(&is_lost).filter(|(_, lost)| !**lost);
        let hold_on: HashSet<HolderId> = valid.map(|(hold, _)| hold.holder).collect();
        let mut newer: HashMap<Option<HolderId>, usize> = HashMap::new();
        let mut keep = vec![true; self.all.len()];
        for at in (0..self.all.len()).rev().filter(|at| is_lost[*at]) {
            let holder = self.all[at].holder;
            let newer = newer.entry(Some(holder).filter(|holder| hold_on.contains(holder))).or_default();
            keep[at] = *newer < REMEMBERED_LOSSES;
            *newer += 1;
        }
        let mut keep = keep.into_iter();
        self.all.retain(|_| keep.next() == Some(true));
    }

    /// The holder's latest hold, or the one with this token.
    pub(super) fn grant(&self, holder: HolderId, token: Option<u64>) -> Option<Grant> {
        self.position(holder, token).map(|at| self.all[at].grant.clone())
    }

    /// How many holds that are valid the holder has.
    pub(super) fn count(&self, holder: HolderId) -> u32 {
        self.all.iter().filter(|hold| hold.holder == holder && hold.grant.is_valid()).count() as u32
    }

    /// How many permits the holder's latest hold has, the latest two together, the latest three and so on.
    pub(super) fn sums(&self, holder: HolderId) -> Vec<u32> {
        let held = self.all.iter().rev().filter(|hold| hold.holder == holder).map(|hold| count_of(&hold.grant));
        let sums = held.scan(0, |sum: &mut u32, permits| {
            *sum = sum.saturating_add(permits);
            Some(*sum)
        });
        sums.collect()
    }

    fn position(&self, holder: HolderId, token: Option<u64>) -> Option<usize> {
        let is_it = |hold: &Hold| hold.holder == holder && token.is_none_or(|token| hold.grant.token() == token);
        self.all.iter().rposition(is_it)
    }

    fn remove(&mut self, at: usize) -> Grant {
        let grant = self.all.remove(at).grant;
        self.swept_above = self.swept_above.min(Holds::swept_above(self.all.len()));
        grant
    }

    /// Takes out the holder's latest hold, or the one with this token.
    pub(super) fn take_back(&mut self, holder: HolderId, token: Option<u64>) -> Option<Grant> {
        self.position(holder, token).map(|at| self.remove(at))
    }

    pub(super) fn take(&mut self, holder: HolderId) -> Option<Grant> {
        self.take_back(holder, None)
    }

    pub(super) fn keep(&mut self, grant: &Grant, semaphore: &Arc<SemaphoreObject>) {
        let hold = self.all.iter_mut().rev().find(|hold| hold.grant.address() == grant.address());
        hold.into_iter().for_each(|hold| hold.kept = Some(semaphore.clone()));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn valid(&self) -> Vec<Grant> {
        self.all.iter().map(|hold| &hold.grant).filter(|grant| grant.is_valid()).cloned().collect()
    }

    pub(super) fn take_valid(&mut self) -> Vec<Grant> {
        self.all.extract_if(.., |hold| hold.grant.is_valid()).map(|hold| hold.grant).collect()
    }

    /// What [`Holds::keep`] has kept, of the hold with this token, or of every hold.
    pub(super) fn let_go(&mut self, token: Option<u64>) -> Vec<Arc<SemaphoreObject>> {
        let of = self.all.iter_mut().filter(|hold| token.is_none_or(|token| hold.grant.token() == token));
        of.filter_map(|hold| hold.kept.take()).collect()
    }
}
