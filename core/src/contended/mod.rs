//! The engine of waiting, for anything that more callers want than can have it.
//!
//! Callers of one process stand in one line (`line`). One task contends on the server for all of them (`contend`): it asks,
//! stands in the queue between processes, sleeps until its inbox or the looker says to ask again, and gives what it is granted
//! to the first in line. What ends is handed on in the process or freed on the server (`give_back`), and so is a grant that its
//! caller no longer wants (`delivery`), or may have got by a request whose reply was lost (`owed`). What a server has confirmed
//! as freed is freed once more on another one that takes its place (`confirmed`).
//!
//! Objects that one holder wants all of are asked for by one request that does not wait (`together`).
//!
//! The queue between processes is kept by the steps of a primitive, by means of `queue`, under names that are the primitive's.
//!
//! A [`Primitive`] says what to ask the server for, how to free it, and who in this process holds it. The engine sends that by
//! way of `server`, the one file that calls the backend, behind which another kind of server can stand.
//!
//! # Mutexes
//! A thread that holds one of these locks only ones below it, which [`Ordered`] asserts in debug builds:
//!
//! 1. the holds of an object (the primitive's),
//! 2. its line,
//! 3. the sleepers of the looker,
//! 4. what stands in the way of an object,
//! 5. the names of the queues in which a place is not needed,
//! 6. the releases that were confirmed last.
//!
//! The mutexes of `lease` come after all of these. None of them is held across an await, or while a value of a caller is
//! dropped.

mod acknowledged;
pub(crate) mod available;
mod caller;
mod confirmed;
mod contend;
mod cut_off;
mod delivery;
mod extend;
mod give_back;
mod holds;
mod home;
mod line;
mod look;
mod looker;
mod object;
mod order;
mod outcome;
mod owed;
pub(crate) mod pace;
#[cfg(test)]
pub(crate) mod permits;
#[cfg(test)]
pub(crate) mod place;
mod queue;
#[cfg(test)]
mod queue_test;
mod server;
mod several;
mod sleep;
mod sleepers;
mod slot_inbox;
#[cfg(test)]
mod tests;
mod together;
pub(crate) mod token;
mod turn;
mod unneeded_places;
mod wants;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use caller::Caller;
pub(crate) use extend::extend_together;
pub(crate) use give_back::{LastHolder, give_back_together, release_together};
pub(crate) use holds::{Holds, TakenBack};
pub(crate) use home::Home;
pub(crate) use line::Cohort;
pub(crate) use look::{Look, Looked, LookedAt};
pub(crate) use object::Contended;
pub(crate) use order::{MutexOrder, Ordered, OrderedGuard};
pub(crate) use owed::{is_owed, undo};
pub(crate) use pace::{DUE, EXACT_FLOOR, next_poll};
pub(crate) use queue::{Queue, QueueAt, QueueNames, queue_lua};
pub(crate) use together::{Joint, TakenOrNot, TakenTogether, Together};
pub(crate) use turn::{Turn, turn_lua};
pub(crate) use wants::wants_lua;

use crate::backend::{Done, Failed, Quorum};
use crate::context::Context;
use crate::lease::{Grant, GrantKind, GrantSpec, HolderId, Parcel, Term};
use crate::name::ObjectName;
use crate::step::{Malformed, Reply, Step, wire};
use crate::text;
use crate::time::{ServerTime, Tick};

/// What a primitive brings to the engine. One value of it belongs to each object: who in this process holds that.
pub(crate) trait Primitive: Default + Send + Sync + 'static {
    /// Unique among the kinds of objects, and in errors the call that opens one.
    const KIND: &'static str;

    /// What its queue and its messages are called.
    const QUEUE: QueueNames;

    /// Whether a grant ends the contending of this process, whose waiters then stand behind it, as with a lock. Otherwise the
    /// contender goes on for the next in line.
    const ONE_GRANT_ENDS: bool;

    /// No timer of a head is shorter than this.
    const SHORTEST_TIMER: Duration = pace::FLOOR;

    /// For how many callers one request can ask.
    const AT_ONCE: usize = 1;

    /// What a caller can want. A grant goes only to a caller that wants just what was asked for.
    type Wanted: Wanted;
    type Acquire: AcquireStep;
    type Release: Step<Reply = Released>;
    type Cancel: Step<Reply = Cancelled>;
    /// The state of an object, which a waiter looks at.
    type Looks: LookedAt;
    /// Renews and extends holds, or says that grants are for good.
    type Renew: GrantKind;

    /// A request for the object of this name that was not made before. With `waits` it stands in the queue if it is not granted; `alone` says that nobody
    /// in this process waits behind the caller that gets the grant.
    fn acquire(client: &Context, name: &ObjectName, wanted: Self::Wanted, waits: bool, alone: bool) -> Self::Acquire;

    /// Adds acquires for callers that want this to a request. How many of them, from the first on: those that one request can
    /// make.
    fn acquire_also(_client: &Context, _step: &mut Self::Acquire, _others: &[Self::Wanted]) -> usize {
        0
    }

    /// Frees what `owner` was granted. With `rejoin` the client stands in the queue again.
    fn release(owner: &str, rejoin: bool) -> Self::Release;

    /// Frees what `owner` was granted, behind the end of its hold with this token: what it has by then under another token was
    /// granted to nobody.
    fn release_late(owner: &str, _token: u64) -> Self::Release {
        Self::release(owner, false)
    }

    /// Leaves the queue.
    fn cancel(client: &str) -> Self::Cancel;

    /// What a caller is told that is busy, of the `holder` that the server named.
    fn in_the_way_of(holder: &str) -> String {
        format!("held by {}", text::part(holder))
    }

    /// Whether the `holder` that the server named is one, which an error names.
    fn is_one_holder(_holder: &str) -> bool {
        Self::ONE_GRANT_ENDS
    }

    /// Whether callers of this process that want just this have one hold together. Those that wait get it together.
    fn is_shared(_wanted: Self::Wanted) -> bool {
        false
    }

    /// A hold was granted at `now` that is shared: others may join it, as far as the primitive lets them.
    fn offer(&self, _grant: &Grant, _now: Tick) {}

    /// Frees a hold at several servers, of which a majority has to answer.
    fn release_at_several(
        quorum: &Arc<Quorum>,
        name: &ObjectName,
        _step: &Self::Release,
        _deadline: Tick,
    ) -> impl Future<Output = Result<Done<Released>, Failed>> + Send {
        std::future::ready(Err(quorum.refuse(Self::Release::OP).on(name)))
    }

    /// Whether there can be holders that are no clients of libdlock, and announce a release on a channel of their own.
    const HAS_FOREIGN: bool = true;

    /// Where holders that are no clients of libdlock announce a release; where there can be any.
    fn foreign_channel(name: &ObjectName) -> String;

    /// Whether a client of libdlock announced this there: then the inboxes were told, too.
    fn is_of_libdlock(_announcement: &str) -> bool {
        false
    }

    /// With which tokens, and for how long, a grant may be handed on within the process; where one grant ends the contending.
    fn cohort(client: &Context, wanted: Self::Wanted, step: &Self::Acquire, spec: &GrantSpec) -> Cohort;

    /// The token with which the next caller of this process may have what this grant holds, where several hold at once; `None`
    /// when it is to be freed.
    fn handed_on_as(_client: &Context, _grant: &Grant, _now: Tick) -> Option<u64> {
        None
    }

    /// What a caller would have to want to take this hold over.
    fn held_as(grant: &Grant) -> Self::Wanted;

    /// Makes a grant the hold of `holder`.
    fn enter(&self, holder: HolderId, grant: Grant);

    /// The hold of this process that keeps out who wants this, if there is one.
    fn in_the_way(&self, wanted: Self::Wanted) -> Option<Grant>;

    /// The holder of this grant has learned that it was lost.
    fn told(&self, lost: &Grant);

    /// Takes out what `holder` holds, the latest of it; the hold that may be valid.
    fn take(&self, holder: HolderId) -> Option<Grant>;

    /// All holds that are valid.
    fn valid(&self) -> Vec<Grant>;

    /// Takes out all holds that are valid, and leaves the lost ones to their holders.
    fn take_valid(&self) -> Vec<Grant>;

    /// Has the hold with this token, or every hold, keep the object alive no longer. To be dropped without any lock.
    fn let_go(&self, token: Option<u64>) -> Vec<Arc<Contended<Self>>>;
}

/// What a caller wants.
pub(crate) trait Wanted: Copy + PartialEq + Send + Sync + 'static {
    /// For how long, and whether the watchdog renews it.
    fn term(self) -> Term;

    /// How many permits, for which the queue keeps room; 1 of what cannot be shared.
    fn permits(self) -> u32 {
        1
    }
}

impl Wanted for Term {
    fn term(self) -> Term {
        self
    }
}

/// The step that asks for a grant.
pub(crate) trait AcquireStep: Step<Reply = Acquired> {
    /// What makes a retry recognisable.
    fn owner(&self) -> &str;

    /// How long a grant lasts. Of one that is for good: how long the server knows the owner at least, so that for so long an
    /// attempt can be repeated, and then for so long be undone.
    fn lease(&self) -> Duration;

    /// What tells this grant from others of the client: the fencing token that the server gave, where it gives one.
    fn token(&self, given: u64) -> u64 {
        given
    }

    /// Asks several servers, of which a majority has to grant; in one attempt, for a caller that waits until `caller`.
    fn at_several(
        &self,
        quorum: &Arc<Quorum>,
        name: &ObjectName,
        _deadline: Tick,
        _caller: Tick,
    ) -> impl Future<Output = Result<Done<Acquired>, Failed>> + Send {
        std::future::ready(Err(quorum.refuse(Self::OP).on(name)))
    }

    /// The acquires that it makes, each by itself.
    fn each(&self) -> Vec<Self> {
        vec![self.clone()]
    }
}

/// What the server says to an acquire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Acquired {
    Granted {
        now: ServerTime,
        /// The first of the tokens that were reserved.
        token: u64,
        /// What comes with it, of a kind whose grants bring something; one for each acquire of the request.
        parcels: Vec<Arc<Parcel>>,
    },
    /// `ttl` is -1 for a foreign key that never expires; no rank for a request that does not wait.
    Busy { now: ServerTime, ttl: i64, holder: String, rank: Option<u64> },
    /// The request came after its `not_after`.
    TooLate { now: ServerTime },
    /// It is free, and others come first.
    NotYourTurn { now: ServerTime, rank: Option<u64> },
    /// More was wanted than there is, of an object of which there are several.
    MoreThanThereIs { now: ServerTime, total: i64 },
    /// Of the acquires that one request makes, so many were granted, at least one; of the next one the server says this.
    Several { granted: usize, parcels: Vec<Arc<Parcel>>, then: Box<Acquired> },
}

impl Acquired {
    /// A grant with which nothing comes.
    pub(crate) fn granted(now: ServerTime, token: u64) -> Acquired {
        Acquired::Granted { now, token, parcels: Vec::new() }
    }

    /// What comes with the grant of one of the request's acquires.
    pub(crate) fn parcel(&self, at: usize) -> Option<Arc<Parcel>> {
        match self {
            Acquired::Granted { parcels, .. } | Acquired::Several { parcels, .. } => parcels.get(at).cloned(),
            _ => None,
        }
    }

    /// The server's time.
    pub(crate) fn now(&self) -> ServerTime {
        match self {
            Acquired::Granted { now, .. }
            | Acquired::Busy { now, .. }
            | Acquired::TooLate { now }
            | Acquired::NotYourTurn { now, .. }
            | Acquired::MoreThanThereIs { now, .. } => *now,
            Acquired::Several { then, .. } => then.now(),
        }
    }

    /// Whether all of it was granted.
    pub(crate) fn is_granted(&self) -> bool {
        matches!(self, Acquired::Granted { .. })
    }

    /// This, as the answer to an acquire before which so many of the same request were granted.
    pub(crate) fn after(self, granted: usize) -> Acquired {
        if granted == 0 { self } else { Acquired::Several { granted, parcels: Vec::new(), then: Box::new(self) } }
    }

    /// As [`Acquired::after`], with what comes with those.
    pub(crate) fn after_parcels(self, parcels: Vec<Arc<Parcel>>) -> Acquired {
        if parcels.is_empty() {
            return self;
        }
        Acquired::Several { granted: parcels.len(), parcels, then: Box::new(self) }
    }
}

/// What the server says to a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Released {
    Freed {
        /// False when the server's access rules refused a message: waiters come by their timers.
        announced: bool,
        /// The place in the queue, if it was joined.
        rank: Option<u64>,
    },
    /// As freed, and what was held does not come again: a job that is dead.
    Discarded,
    NotHeld,
}

/// What the server says to a client that leaves the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cancelled {
    Done {
        now: ServerTime,
        had_place: bool,
    },
    /// The request came after its `not_after`.
    TooLate {
        now: ServerTime,
    },
}

impl Cancelled {
    /// `{0, now us, 1 or 0}`, or `{2, now us}`.
    pub(crate) fn decode(reply: Reply) -> Result<Cancelled, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        match wire::int(items.first())? {
            0 => Ok(Cancelled::Done { now, had_place: wire::int(items.get(2))? == 1 }),
            2 => Ok(Cancelled::TooLate { now }),
            _ => Err(Malformed),
        }
    }

    /// The server's time.
    pub(crate) fn now(&self) -> ServerTime {
        match self {
            Cancelled::Done { now, .. } | Cancelled::TooLate { now } => *now,
        }
    }
}

/// Whether an owner is a client of libdlock: its id is a UUID of version 8.
fn is_ours(owner: &str) -> bool {
    owner.as_bytes().get(14) == Some(&b'8') && owner.as_bytes().get(36) == Some(&b':')
}
