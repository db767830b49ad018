//! Who in this process holds which side of one read-write lock.

use std::sync::Arc;
use std::time::Duration;

use super::{ReadWrite, RwLockObject, Side};
use crate::contended::Holds;
use crate::lease::{Grant, HolderId, Term};
use crate::time::Tick;

/// A holder has each side at most once, counted.
#[derive(Default)]
pub(super) struct BothSides {
    reads: Holds<ReadWrite>,
    writes: Holds<ReadWrite>,
    /// The hold of readers that was granted last, with what it may be joined by.
    joinable: Option<Joinable>,
}

struct Joinable {
    grant: Grant,
    granted: Tick,
}

impl BothSides {
    pub(super) fn of(&mut self, side: Side) -> &mut Holds<ReadWrite> {
        match side {
            Side::Read => &mut self.reads,
            Side::Write => &mut self.writes,
        }
    }

    pub(super) fn offer(&mut self, grant: &Grant, granted: Tick) {
        self.joinable = Some(Joinable { grant: grant.clone(), granted });
    }

    /// Has a reader join the present hold of readers, if that is as it wants, valid, and not older than `age`.
    pub(super) fn join(&mut self, holder: HolderId, term: Term, age: Duration, now: Tick) -> Option<Grant> {
        let Joinable { grant, granted } = self.joinable.as_ref()?;
        let hold = grant.whole();
        // From the grant on, and not from its sending: where the way is long, sharing is worth most.
        let is_young = now.since(*granted) < age.min(hold.lease() / 4);
        let joined = (is_young && hold.is_valid() && hold.term() == term).then(|| grant.join()).flatten()?;
        self.reads.enter(holder, joined.clone());
        Some(joined)
    }

    /// The write hold of this process.
    pub(super) fn writing(&self) -> Option<&Grant> {
        self.writes.valid()
    }

    /// The holds on the server that are valid: one for all that share it.
    pub(super) fn valid(&self) -> Vec<Grant> {
        whole(self.reads.all_valid().chain(self.writes.all_valid()))
    }

    pub(super) fn take_valid(&mut self) -> Vec<Grant> {
        whole(self.reads.take_valid().iter().chain(&self.writes.take_valid()))
    }

    pub(super) fn take(&mut self, holder: HolderId) -> Option<Grant> {
        self.reads.take(holder).or_else(|| self.writes.take(holder))
    }

    pub(super) fn told(&mut self, lost: &Grant) {
        self.reads.told(lost);
        self.writes.told(lost);
    }

    pub(super) fn let_go(&mut self, token: Option<u64>) -> Vec<Arc<RwLockObject>> {
        self.reads.let_go(token).into_iter().chain(self.writes.let_go(token)).collect()
    }
}

/// The holds that these are parts of, each once.
fn whole<'a>(grants: impl Iterator<Item = &'a Grant>) -> Vec<Grant> {
    let mut holds: Vec<Grant> = grants.map(Grant::whole).collect();
    holds.sort_by_key(Grant::address);
    holds.dedup_by_key(|hold| hold.address());
    holds
}
