//! What the queue brings to the engine of waiting: its steps, and who of this process has which delivery.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::QueueObject;
use super::acks::Acks;
use super::step::{self, Cancel, MAX_TAKEN, Nack, QueueState, Renew, Take};
use crate::contended::{
    AcquireStep, Cohort, Contended, EXACT_FLOOR, MutexOrder, Ordered, OrderedGuard, Primitive, QueueNames,
};
use crate::context::Context;
use crate::lease::{Grant, GrantSpec, HolderId, Term};
use crate::name::ObjectName;

/// The deliveries of this process, by their fencing tokens.
pub(crate) struct Jobs {
    held: Ordered<HashMap<u64, (HolderId, Grant)>>,
    pub(super) acks: Acks,
}

impl Default for Jobs {
    fn default() -> Jobs {
        Jobs { held: Ordered::new(MutexOrder::Holds), acks: Acks::default() }
    }
}

impl Primitive for Jobs {
    const KIND: &'static str = "queue";
    const QUEUE: QueueNames = step::QUEUE;
    const ONE_GRANT_ENDS: bool = false;
    const SHORTEST_TIMER: Duration = EXACT_FLOOR;
    const AT_ONCE: usize = 16;
    const HAS_FOREIGN: bool = false;

    type Wanted = Term;
    type Acquire = Take;
    type Release = Nack;
    type Cancel = Cancel;
    type Looks = QueueState;
    type Renew = Renew;

    fn acquire(client: &Context, _name: &ObjectName, wanted: Term, waits: bool, _alone: bool) -> Take {
        Take { owner: client.next_owner(), others: Vec::new(), lease: wanted.lease(), waits }
    }

    fn acquire_also(client: &Context, step: &mut Take, others: &[Term]) -> usize {
        let same = others.iter().take_while(|other| other.lease() == step.lease).count().min(MAX_TAKEN - 1);
        step.others.extend((0..same).map(|_| client.next_owner()));
        same
    }

    /// A delivery that nobody has seen: it does not count.
    fn release(owner: &str, _rejoin: bool) -> Nack {
        Nack::undelivered(owner)
    }

    fn release_late(owner: &str, token: u64) -> Nack {
        Nack::over(owner, token)
    }

    fn cancel(client: &str) -> Cancel {
        Cancel { client: client.to_owned() }
    }

    fn in_the_way_of(_due: &str) -> String {
        "no job is due".to_owned()
    }

    fn foreign_channel(_name: &ObjectName) -> String {
        unreachable!("a queue has no foreign holders")
    }

    fn cohort(_client: &Context, _wanted: Term, _step: &Take, _spec: &GrantSpec) -> Cohort {
        unreachable!("no delivery ends the contending")
    }

    fn held_as(grant: &Grant) -> Term {
        grant.term()
    }

    fn enter(&self, holder: HolderId, grant: Grant) {
        self.held.lock().insert(grant.token(), (holder, grant));
    }

    fn in_the_way(&self, _wanted: Term) -> Option<Grant> {
        None
    }

    /// Each delivery is ended by itself, also when its worker has heard of the loss.
    fn told(&self, _lost: &Grant) {}

    fn take(&self, holder: HolderId) -> Option<Grant> {
        let mut held = self.held.lock();
        let of = held.iter().filter(|(_, (other, _))| *other == holder).map(|(token, _)| *token);
        let latest = of.max()?;
        held.remove(&latest).map(|(_, grant)| grant)
    }

    fn valid(&self) -> Vec<Grant> {
        self.held.lock().values().map(|(_, grant)| grant).filter(|grant| grant.is_valid()).cloned().collect()
    }

    fn take_valid(&self) -> Vec<Grant> {
        let mut held = self.held.lock();
        held.extract_if(|_, (_, grant)| grant.is_valid()).map(|(_, (_, grant))| grant).collect()
    }

    fn let_go(&self, _token: Option<u64>) -> Vec<Arc<QueueObject>> {
        Vec::new()
    }
}

impl AcquireStep for Take {
    fn owner(&self) -> &str {
        &self.owner
    }

    fn lease(&self) -> Duration {
        self.lease
    }

    fn each(&self) -> Vec<Take> {
        let of = |owner: &String| Take { owner: owner.clone(), others: Vec::new(), ..*self };
        self.owners().map(of).collect()
    }
}

impl Contended<Jobs> {
    fn held(&self) -> OrderedGuard<'_, HashMap<u64, (HolderId, Grant)>> {
        self.primitive().held.lock()
    }

    /// Takes out the delivery with this token.
    pub(super) fn take_back(&self, token: u64) -> Option<Grant> {
        let taken = self.held().remove(&token);
        taken.map(|(_, grant)| grant)
    }

    /// Whether this process has no other delivery.
    pub(super) fn has_none(&self) -> bool {
        self.held().is_empty()
    }
}
