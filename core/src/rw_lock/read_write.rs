//! What the read-write lock brings to the engine of waiting: its steps, what a caller wants, and who in this process holds it.

use std::sync::Arc;
use std::time::Duration;

use super::holds::BothSides;
use super::step::{self, ALL, Acquire, Cancel, Release, Renew, RwLockState, field_of, side_of};
use super::{RwLockObject, Side};
use crate::contended::{
    AcquireStep, Cohort, Contended, MutexOrder, Ordered, OrderedGuard, Primitive, QueueNames, Wanted,
};
use crate::context::Context;
use crate::lease::{Grant, GrantSpec, HolderId, Term};
use crate::name::ObjectName;
use crate::text;
use crate::time::Tick;

/// Readers or a writer.
pub(crate) struct ReadWrite {
    holds: Ordered<BothSides>,
}

impl Default for ReadWrite {
    fn default() -> ReadWrite {
        ReadWrite { holds: Ordered::new(MutexOrder::Holds) }
    }
}

/// What a caller wants: one of the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SideWanted {
    pub(super) term: Term,
    pub(super) side: Side,
    /// The number of the owner under whose write hold a reader asks, which is its own.
    pub(super) under: Option<u64>,
    /// A writer that takes the lock away from whoever holds it, and never waits.
    pub(super) steals: bool,
}

impl Wanted for SideWanted {
    fn term(self) -> Term {
        self.term
    }

    fn permits(self) -> u32 {
        match self.side {
            Side::Read => 1,
            Side::Write => ALL,
        }
    }
}

impl Primitive for ReadWrite {
    const KIND: &'static str = "rw_lock";
    const QUEUE: QueueNames = step::QUEUE;
    const ONE_GRANT_ENDS: bool = false;

    type Wanted = SideWanted;
    type Acquire = Acquire;
    type Release = Release;
    type Cancel = Cancel;
    type Looks = RwLockState;
    type Renew = Renew;

    fn acquire(client: &Context, _name: &ObjectName, wanted: SideWanted, waits: bool, _alone: bool) -> Acquire {
        Acquire {
            field: field_of(client.next_owner(), wanted.side),
            lease: wanted.term.lease(),
            token_ttl: client.options.token_ttl,
            waits,
            under: wanted.under.map(|number| field_of(format!("{}:{number}", client.id()), Side::Write)),
            steals: wanted.steals,
        }
    }

    fn release(owner: &str, _rejoin: bool) -> Release {
        Release { field: owner.to_owned() }
    }

    fn cancel(client: &str) -> Cancel {
        Cancel { client: client.to_owned() }
    }

    fn in_the_way_of(holder: &str) -> String {
        match holder.parse::<u64>() {
            Ok(1) => "held by one reader".to_owned(),
            Ok(readers) => format!("held by {readers} readers"),
            Err(_) => format!("held by {}", text::part(holder)),
        }
    }

    fn is_one_holder(holder: &str) -> bool {
        holder.parse::<u64>().is_err()
    }

    /// With a lease of its own a reader has a hold of its own.
    fn is_shared(wanted: SideWanted) -> bool {
        wanted.side == Side::Read && wanted.under.is_none() && wanted.term.is_renewed()
    }

    fn offer(&self, grant: &Grant, now: Tick) {
        self.holds.lock().offer(grant, now);
    }

    fn foreign_channel(name: &ObjectName) -> String {
        step::channel(name)
    }

    fn cohort(_client: &Context, _wanted: SideWanted, _step: &Acquire, _spec: &GrantSpec) -> Cohort {
        unreachable!("no grant of a side ends the contending")
    }

    fn held_as(grant: &Grant) -> SideWanted {
        SideWanted { term: grant.term(), side: side_of(grant.owner()), under: None, steals: false }
    }

    fn enter(&self, holder: HolderId, grant: Grant) {
        self.holds.lock().of(side_of(grant.owner())).enter(holder, grant);
    }

    fn in_the_way(&self, wanted: SideWanted) -> Option<Grant> {
        let holds = self.holds.lock();
        holds.writing().filter(|_| wanted.under.is_none() && !wanted.steals).cloned()
    }

    fn told(&self, lost: &Grant) {
        self.holds.lock().told(lost);
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

    fn let_go(&self, token: Option<u64>) -> Vec<Arc<RwLockObject>> {
        self.holds.lock().let_go(token)
    }
}

impl AcquireStep for Acquire {
    fn owner(&self) -> &str {
        &self.field
    }

    fn lease(&self) -> Duration {
        self.lease
    }
}

impl Contended<ReadWrite> {
    pub(super) fn holds(&self) -> OrderedGuard<'_, BothSides> {
        self.primitive().holds.lock()
    }
}
