//! What the lock brings to the engine of waiting: its steps, the bounds of a hand-over, and who in this process holds it.

use std::sync::Arc;
use std::time::Duration;

use super::step::{self, Acquire, AcquireAll, Cancel, LockState, Release, ReleaseAll, Renew};
use super::{HolderId, LockObject, quorum};
use crate::backend::{Done, Failed, Quorum};
use crate::contended::{
    AcquireStep, Acquired, Cohort, Contended, Holds, MutexOrder, Ordered, OrderedGuard, Primitive, QueueNames,
    Released, TakenTogether,
};
use crate::context::Context;
use crate::lease::{Grant, GrantSpec, Term};
use crate::name::ObjectName;
use crate::time::Tick;

/// One holder at a time.
pub(crate) struct Exclusive {
    holds: Ordered<Holds<Exclusive>>,
}

impl Default for Exclusive {
    fn default() -> Exclusive {
        Exclusive { holds: Ordered::new(MutexOrder::Holds) }
    }
}

impl Primitive for Exclusive {
    const KIND: &'static str = "lock";
    const QUEUE: QueueNames = step::QUEUE;
    const ONE_GRANT_ENDS: bool = true;

    type Wanted = Term;
    type Acquire = Acquire;
    type Release = Release;
    type Cancel = Cancel;
    type Looks = LockState;
    type Renew = Renew;

    fn acquire(client: &Context, _name: &ObjectName, wanted: Term, waits: bool, alone: bool) -> Acquire {
        let options = &client.options;
        // A hold that is passed on within the process needs a token for each holder, and a lease that is renewed.
        let passed_on = wanted.is_renewed() && !options.strict_fifo && !alone;
        Acquire {
            owner: client.next_owner(),
            lease: wanted.lease(),
            token_ttl: options.token_ttl,
            block: if passed_on { options.cohort_max.into() } else { 1 },
            waits,
        }
    }

    fn release(owner: &str, rejoin: bool) -> Release {
        Release { owner: owner.to_owned(), rejoin }
    }

    fn cancel(client: &str) -> Cancel {
        Cancel { client: client.to_owned() }
    }

    async fn release_at_several(
        quorum: &Arc<Quorum>,
        name: &ObjectName,
        step: &Release,
        deadline: Tick,
    ) -> Result<Done<Released>, Failed> {
        quorum::release(quorum, name, step, deadline).await
    }

    fn foreign_channel(name: &ObjectName) -> String {
        step::channel(name)
    }

    fn cohort(client: &Context, wanted: Term, step: &Acquire, spec: &GrantSpec) -> Cohort {
        // Not from the sending on: where the way is long, handing on is worth most.
        let until = spec.granted.plus(client.options.cohort_age).min(spec.sent.plus(step.lease / 4));
        let until = if wanted.is_renewed() { until } else { spec.sent };
        Cohort { token: spec.token, last_token: spec.token + step.block - 1, until: until.0 }
    }

    fn held_as(grant: &Grant) -> Term {
        grant.term()
    }

    fn enter(&self, holder: HolderId, grant: Grant) {
        self.holds.lock().enter(holder, grant);
    }

    fn in_the_way(&self, _wanted: Term) -> Option<Grant> {
        self.holds.lock().valid().cloned()
    }

    fn told(&self, lost: &Grant) {
        self.holds.lock().told(lost);
    }

    fn take(&self, holder: HolderId) -> Option<Grant> {
        self.holds.lock().take(holder)
    }

    fn valid(&self) -> Vec<Grant> {
        self.holds.lock().valid().cloned().into_iter().collect()
    }

    fn take_valid(&self) -> Vec<Grant> {
        self.holds.lock().take_valid()
    }

    fn let_go(&self, token: Option<u64>) -> Vec<Arc<LockObject>> {
        self.holds.lock().let_go(token)
    }
}

impl TakenTogether for Exclusive {
    type AcquireAll = AcquireAll;
    type ReleaseAll = ReleaseAll;

    fn acquire_all(step: &Acquire, jumps: bool) -> AcquireAll {
        AcquireAll { one: step.clone(), jumps }
    }

    fn release_all(step: Release) -> ReleaseAll {
        ReleaseAll(step)
    }
}

impl AcquireStep for Acquire {
    fn owner(&self) -> &str {
        &self.owner
    }

    fn lease(&self) -> Duration {
        self.lease
    }

    async fn at_several(
        &self,
        quorum: &Arc<Quorum>,
        name: &ObjectName,
        deadline: Tick,
        caller: Tick,
    ) -> Result<Done<Acquired>, Failed> {
        quorum::acquire(quorum, name, self, deadline, caller).await
    }
}

impl Contended<Exclusive> {
    pub(super) fn holds(&self) -> OrderedGuard<'_, Holds<Exclusive>> {
        self.primitive().holds.lock()
    }
}
