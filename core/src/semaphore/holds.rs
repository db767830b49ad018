//! Who in this process holds permits of one semaphore.

use std::sync::Arc;

use super::SemaphoreObject;
use crate::lease::{Grant, HolderId};

/// A holder that has lost its permits and never says a word again is remembered among this many.
const REMEMBERED_LOSSES: usize = 64;

/// In the order in which they were granted; lost ones stay until their holder has learned of it.
#[derive(Default)]
pub(super) struct Holds(Vec<Hold>);

struct Hold {
    holder: HolderId,
    grant: Grant,
    /// The semaphore itself, while a hold has to outlive every [`Semaphore`](super::Semaphore) of its name. Gone with the hold.
    kept: Option<Arc<SemaphoreObject>>,
}

impl Holds {
    pub(super) fn enter(&mut self, holder: HolderId, grant: Grant) {
        let lost = self.0.iter().filter(|hold| hold.grant.loss().is_some()).count();
        if lost > REMEMBERED_LOSSES
            && let Some(at) = self.0.iter().position(|hold| hold.grant.loss().is_some())
        {
            self.0.remove(at);
        }
        self.0.push(Hold { holder, grant, kept: None });
    }

    /// The holder's latest hold, or the one with this token.
    pub(super) fn grant(&self, holder: HolderId, token: Option<u64>) -> Option<Grant> {
        self.position(holder, token).map(|at| self.0[at].grant.clone())
    }

    /// How many holds that are valid the holder has.
    pub(super) fn count(&self, holder: HolderId) -> u32 {
        self.0.iter().filter(|hold| hold.holder == holder && hold.grant.is_valid()).count() as u32
    }

    fn position(&self, holder: HolderId, token: Option<u64>) -> Option<usize> {
        let is_it = |hold: &Hold| hold.holder == holder && token.is_none_or(|token| hold.grant.token() == token);
        self.0.iter().rposition(is_it)
    }

    /// Takes out the holder's latest hold, or the one with this token.
    pub(super) fn take_back(&mut self, holder: HolderId, token: Option<u64>) -> Option<Grant> {
        self.position(holder, token).map(|at| self.0.remove(at).grant)
    }

    pub(super) fn take(&mut self, holder: HolderId) -> Option<Grant> {
        self.take_back(holder, None)
    }

    pub(super) fn forget(&mut self, lost: &Grant) {
        self.0.retain(|hold| hold.grant.address() != lost.address());
    }

    pub(super) fn keep(&mut self, grant: &Grant, semaphore: &Arc<SemaphoreObject>) {
        let hold = self.0.iter_mut().find(|hold| hold.grant.address() == grant.address());
        hold.into_iter().for_each(|hold| hold.kept = Some(semaphore.clone()));
    }

    pub(super) fn valid(&self) -> Vec<Grant> {
        self.0.iter().map(|hold| &hold.grant).filter(|grant| grant.is_valid()).cloned().collect()
    }

    pub(super) fn take_valid(&mut self) -> Vec<Grant> {
        self.0.extract_if(.., |hold| hold.grant.is_valid()).map(|hold| hold.grant).collect()
    }

    /// What [`Holds::keep`] has kept, of the hold with this token, or of every hold.
    pub(super) fn let_go(&mut self, token: Option<u64>) -> Vec<Arc<SemaphoreObject>> {
        let of = self.0.iter_mut().filter(|hold| token.is_none_or(|token| hold.grant.token() == token));
        of.filter_map(|hold| hold.kept.take()).collect()
    }
}
