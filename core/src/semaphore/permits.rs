//! What the semaphore brings to the engine of waiting: its steps, and what a caller wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::SemaphoreObject;
use super::holds::Holds;
use super::step::{self, Acquire, Cancel, Look, Release, Renew, Taker};
use crate::contended::{
    AcquireStep, Cohort, Contended, MutexOrder, Ordered, OrderedGuard, Primitive, QueueNames, Wanted,
};
use crate::context::Context;
use crate::lease::{Grant, GrantSpec, HolderId, Term};
use crate::name::ObjectName;

/// Several holders at a time, each with some of the permits.
pub(crate) struct Leased {
    holds: Ordered<Holds>,
    /// The number of permits on the server was compared with the one that was given here.
    compared: AtomicBool,
}

impl Default for Leased {
    fn default() -> Leased {
        Leased { holds: Ordered::new(MutexOrder::Holds), compared: AtomicBool::new(false) }
    }
}

/// What a caller wants: so many permits, of a semaphore that has `total` if it is not there yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PermitsWanted {
    pub(super) term: Term,
    pub(super) permits: u32,
    pub(super) total: u32,
}

impl Wanted for PermitsWanted {
    fn term(self) -> Term {
        self.term
    }

    fn permits(self) -> u32 {
        self.permits
    }
}

impl Primitive for Leased {
    const KIND: &'static str = "semaphore";
    const QUEUE: QueueNames = step::QUEUE;
    const ONE_GRANT_ENDS: bool = false;

    type Wanted = PermitsWanted;
    type Acquire = Acquire;
    type Release = Release;
    type Cancel = Cancel;
    type Look = Look;
    type Renew = Renew;

    fn acquire(client: &Context, wanted: PermitsWanted, waits: bool, _alone: bool) -> Acquire {
        let owner = format!("{}/{}", client.next_owner(), wanted.permits);
        Acquire { owner, lease: wanted.term.lease(), waits, total: wanted.total }
    }

    fn release(owner: &str, _rejoin: bool) -> Release {
        Release { owner: owner.to_owned() }
    }

    fn cancel(client: &str) -> Cancel {
        Cancel { client: client.to_owned() }
    }

    fn look(client: &Arc<str>, keep: bool) -> Look {
        Look { client: client.clone(), keep }
    }

    fn in_the_way_of(holder: &str) -> String {
        match holder.split_once('/') {
            Some((available, total)) => format!("only {available} of {total} permits are available,"),
            None => format!("only {holder} permits are available,"),
        }
    }

    fn foreign_channel(name: &ObjectName) -> String {
        step::channel(name)
    }

    fn cohort(_client: &Context, _wanted: PermitsWanted, _step: &Acquire, _spec: &GrantSpec) -> Cohort {
        unreachable!("no grant of several ends the contending")
    }

    fn held_as(grant: &Grant) -> PermitsWanted {
        PermitsWanted { term: grant.term(), permits: Taker::of(grant.owner()).permits, total: 0 }
    }

    fn enter(&self, holder: HolderId, grant: Grant) {
        self.holds.lock().enter(holder, grant);
    }

    fn in_the_way(&self) -> Option<Grant> {
        None
    }

    fn told(&self, lost: &Grant) {
        self.holds.lock().forget(lost);
    }

    fn take(&self, holder: HolderId) -> Option<Grant> {
        self.holds.lock().take(holder)
    }

    fn valid(&self) -> Vec<Grant> {
        self.holds.lock().valid()
    }

    fn take_valid(&self) -> Vec<Grant> {
        self.holds.lock().take_valid()
    }

    fn let_go(&self, token: Option<u64>) -> Vec<Arc<SemaphoreObject>> {
        self.holds.lock().let_go(token)
    }
}

impl AcquireStep for Acquire {
    fn owner(&self) -> &str {
        &self.owner
    }

    fn lease(&self) -> Duration {
        self.lease
    }

    /// The number in its owner, which no other acquire of the client has.
    fn token(&self, _given: u64) -> u64 {
        let number = self.owner.rsplit_once(':').and_then(|(_, rest)| rest.split('/').next()?.parse().ok());
        number.unwrap_or(0)
    }
}

impl Contended<Leased> {
    pub(super) fn holds(&self) -> OrderedGuard<'_, Holds> {
        self.primitive().holds.lock()
    }

    /// True the first time.
    pub(super) fn is_to_be_compared(&self) -> bool {
        !self.primitive().compared.swap(true, Ordering::Relaxed)
    }
}
