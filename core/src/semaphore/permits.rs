//! What the semaphore brings to the engine of waiting: its steps, and what a caller wants.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::SemaphoreObject;
use super::holds::Holds;
use super::step::{self, Acquire, Cancel, MAX_ACQUIRED, Release, Renew, SemaphoreState, Taker};
use crate::contended::{
    AcquireStep, Cohort, Contended, MutexOrder, Ordered, OrderedGuard, Primitive, QueueNames, Wanted, available,
};
use crate::context::Context;
use crate::lease::{Grant, GrantSpec, HolderId, Term};
use crate::name::ObjectName;
use crate::time::Tick;

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
#[derive(Clone, Copy, Debug)]
pub(crate) struct PermitsWanted {
    pub(super) term: Term,
    pub(super) permits: u32,
    pub(super) total: u32,
}

/// The total is no part of what a grant is for.
impl PartialEq for PermitsWanted {
    fn eq(&self, other: &PermitsWanted) -> bool {
        (self.term, self.permits) == (other.term, other.permits)
    }
}

impl Eq for PermitsWanted {}

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
    const AT_ONCE: usize = 16;

    type Wanted = PermitsWanted;
    type Acquire = Acquire;
    type Release = Release;
    type Cancel = Cancel;
    type Looks = SemaphoreState;
    type Renew = Renew;

    fn acquire(client: &Context, _name: &ObjectName, wanted: PermitsWanted, waits: bool, _alone: bool) -> Acquire {
        let owner = Taker::fresh(client, wanted.permits);
        Acquire { owner, others: Vec::new(), lease: wanted.term.lease(), waits, total: wanted.total }
    }

    fn acquire_also(client: &Context, step: &mut Acquire, others: &[PermitsWanted]) -> usize {
        let mut permits = Taker::of(&step.owner).permits;
        for wanted in others {
            permits += wanted.permits;
            let same = (wanted.term.lease(), wanted.total) == (step.lease, step.total);
            if !same || permits > MAX_ACQUIRED {
                break;
            }
            step.others.push(Taker::fresh(client, wanted.permits));
        }
        step.others.len()
    }

    fn release(owner: &str, _rejoin: bool) -> Release {
        Release { owner: owner.to_owned() }
    }

    fn cancel(client: &str) -> Cancel {
        Cancel { client: client.to_owned() }
    }

    fn in_the_way_of(holder: &str) -> String {
        match holder.split_once('/') {
            Some((available, total)) => format!("only {available} of {total} permits are available,"),
            None => format!("only {holder} permits are available,"),
        }
    }

    fn foreign_channel(name: &ObjectName) -> String {
        available::channel(name)
    }

    fn is_of_libdlock(announcement: &str) -> bool {
        available::is_of_libdlock(announcement)
    }

    fn cohort(_client: &Context, _wanted: PermitsWanted, _step: &Acquire, _spec: &GrantSpec) -> Cohort {
        unreachable!("no grant of several ends the contending")
    }

    fn handed_on_as(client: &Context, grant: &Grant, now: Tick) -> Option<u64> {
        let options = &client.options;
        let may = !options.strict_fifo && grant.turn() + 1 < options.cohort_max;
        (may && now < grant.granted().plus(options.cohort_age)).then(|| client.next_number())
    }

    fn held_as(grant: &Grant) -> PermitsWanted {
        PermitsWanted { term: grant.term(), permits: Taker::of(grant.owner()).permits, total: 0 }
    }

    fn enter(&self, holder: HolderId, grant: Grant) {
        self.holds.lock().enter(holder, grant);
    }

    fn in_the_way(&self, _wanted: PermitsWanted) -> Option<Grant> {
        None
    }

    /// Each hold needs its own release, also when its holder has heard of the loss.
    fn told(&self, _lost: &Grant) {}

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
        Taker::of(&self.owner).number()
    }

    fn each(&self) -> Vec<Acquire> {
        let of = |owner: &String| Acquire { owner: owner.clone(), others: Vec::new(), ..*self };
        [&self.owner].into_iter().chain(&self.others).map(of).collect()
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
