//! What the counting semaphore brings to the engine of waiting: its steps, and what a caller wants.

use std::sync::Arc;
use std::time::Duration;

use super::CountingObject;
use super::step::{self, Acquire, Cancel, CountingState, Undo};
use crate::contended::available::{self, MAX_PERMITS, Taker};
use crate::contended::{AcquireStep, Cohort, MutexOrder, Ordered, Primitive, QueueNames, Wanted};
use crate::context::Context;
use crate::lease::{Grant, GrantKind, GrantSpec, HolderId, RenewedBy, Term};
use crate::name::ObjectName;
use crate::stats::{Counters, HoldCounts};
use crate::step::REMEMBERED;
use crate::time::{ServerTime, Tick};

/// For how long an acquire is repeated, and may take effect; and for how long it is tried after that to undo it. Together less
/// than the server remembers it.
const KNOWN: Duration = Duration::from_secs(25);

const _: () = assert!(2 * KNOWN.as_secs() < REMEMBERED.as_secs());

/// The most ids that one request has the server forget.
const FORGOTTEN_AT_ONCE: usize = 32;

/// Nobody in this process holds anything: what was granted is the caller's.
pub(crate) struct Counting {
    /// The ids of acquires and requests that were answered, and of which no attempt is under way: the server need not know
    /// them any more. The next release tells it; those that it is not told of it forgets by itself.
    answered: Ordered<Vec<String>>,
}

impl Default for Counting {
    fn default() -> Counting {
        Counting { answered: Ordered::new(MutexOrder::Holds) }
    }
}

impl Counting {
    /// The server need not know this id any more.
    pub(super) fn is_answered(&self, id: &str) {
        let mut answered = self.answered.lock();
        if answered.len() < FORGOTTEN_AT_ONCE && !id.is_empty() && Taker::of(id).may_be_repeated() {
            answered.push(id.to_owned());
        }
    }

    /// Takes out the ids that the server need not know any more.
    pub(super) fn take_answered(&self) -> Vec<String> {
        std::mem::take(&mut self.answered.lock())
    }
}

/// So many permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountWanted(pub(super) u32);

impl Wanted for CountWanted {
    fn term(self) -> Term {
        Term::Fixed(KNOWN)
    }

    fn permits(self) -> u32 {
        self.0
    }
}

/// Permits are granted for good.
pub(crate) struct ForGood;

impl GrantKind for ForGood {
    const LEASED: bool = false;

    fn renewed_by() -> &'static RenewedBy {
        RenewedBy::nothing::<ForGood>()
    }

    fn counts(of: &Counters) -> &HoldCounts {
        of.counting.grants()
    }
}

impl Primitive for Counting {
    const KIND: &'static str = "counting semaphore";
    const QUEUE: QueueNames = step::QUEUE;
    const ONE_GRANT_ENDS: bool = false;
    const AT_ONCE: usize = 16;

    type Wanted = CountWanted;
    type Acquire = Acquire;
    type Release = Undo;
    type Cancel = Cancel;
    type Looks = CountingState;
    type Renew = ForGood;

    fn acquire(client: &Context, name: &ObjectName, wanted: CountWanted, waits: bool, _alone: bool) -> Acquire {
        let owner = owner(client, wanted.0);
        Acquire { owner, others: Vec::new(), waits, void_after: void_after(client, name) }
    }

    fn acquire_also(client: &Context, step: &mut Acquire, others: &[CountWanted]) -> usize {
        let mut permits = Taker::of(&step.owner).permits;
        for wanted in others {
            permits = permits.saturating_add(wanted.0);
            if permits > MAX_PERMITS {
                break;
            }
            step.others.push(owner(client, wanted.0));
        }
        step.others.len()
    }

    fn release(owner: &str, _rejoin: bool) -> Undo {
        Undo { owner: owner.to_owned() }
    }

    fn cancel(client: &str) -> Cancel {
        Cancel { client: client.to_owned() }
    }

    fn in_the_way_of(holder: &str) -> String {
        format!("only {holder} permits are available")
    }

    fn foreign_channel(name: &ObjectName) -> String {
        available::channel(name)
    }

    fn is_of_libdlock(announcement: &str) -> bool {
        available::is_of_libdlock(announcement)
    }

    fn cohort(_client: &Context, _wanted: CountWanted, _step: &Acquire, _spec: &GrantSpec) -> Cohort {
        unreachable!("no grant of several ends the contending")
    }

    fn held_as(grant: &Grant) -> CountWanted {
        CountWanted(Taker::of(grant.owner()).permits)
    }

    /// From here on nobody undoes it.
    fn enter(&self, _holder: HolderId, grant: Grant) {
        if grant.echo_until().is_none() {
            self.is_answered(grant.owner());
        }
    }

    fn in_the_way(&self, _wanted: CountWanted) -> Option<Grant> {
        None
    }

    fn told(&self, _lost: &Grant) {}

    fn take(&self, _holder: HolderId) -> Option<Grant> {
        None
    }

    fn valid(&self) -> Vec<Grant> {
        Vec::new()
    }

    fn take_valid(&self) -> Vec<Grant> {
        Vec::new()
    }

    fn let_go(&self, _token: Option<u64>) -> Vec<Arc<CountingObject>> {
        Vec::new()
    }
}

/// See [`Taker`]. Where no reply is ever lost nothing has to be remembered, and so there is no number.
fn owner(client: &Context, permits: u32) -> String {
    match client.backend.loses_replies() {
        true => Taker::fresh(client, permits),
        false => format!("{}:/{permits}", client.id()),
    }
}

/// An acquire that is made now takes no effect after this: nobody would undo it.
fn void_after(client: &Context, name: &ObjectName) -> ServerTime {
    let now: Tick = client.clock.now();
    client.backend.server_time(name, now).map_or(ServerTime(u64::MAX), |now| now.plus(KNOWN))
}

impl AcquireStep for Acquire {
    fn owner(&self) -> &str {
        &self.owner
    }

    fn lease(&self) -> Duration {
        KNOWN
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
