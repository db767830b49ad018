//! A made-up kind of object, of which two callers can have a permit at a time: for tests of what no kind has for itself.
//!
//! P  ZSET  owner -> when it got its permit, server us
//! C  HASH  `asked`, `granted`, `renewed` -> how often

mod step;

pub(super) use step::CountPermits;
pub(crate) use step::RenewPermit;
use step::{FreePermit, LeaveQueue, TakePermit};

use super::*;
use crate::step::{Expires, SharedKeys, State};

pub(super) const PERMITS: usize = 2;

const NAMES: QueueNames = QueueNames::new("permits", "dlock_permits_queue", "dlock_permits_seen");
const OWNERS: &str = "dlock_permits";
const COUNTS: &str = "dlock_permits_counts";

#[derive(Clone, Debug, Default)]
pub(crate) struct Permits {
    owners: Vec<String>,
    queue: Queue,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) asked: u64,
    pub(crate) granted: u64,
    pub(crate) renewed: u64,
}

impl Expires for Permits {
    fn expire(&mut self, now: ServerTime) -> bool {
        self.queue.expire(now) && self.owners.is_empty()
    }
}

impl State for Permits {
    const ACCESS: &'static str = "~dlock_permits:* ~dlock_permits_counts:* ~dlock_permits_queue:* ~dlock_permits_seen:* \
        &dlock_inbox:*";

    fn main_key(name: &ObjectName) -> String {
        name.companion(OWNERS)
    }

    fn exchange(&mut self, _keys: &mut SharedKeys) {}
}

pub(super) struct Two(Ordered<Vec<(HolderId, Grant)>>);

impl Default for Two {
    fn default() -> Two {
        Two(Ordered::new(MutexOrder::Holds))
    }
}

impl Primitive for Two {
    const KIND: &'static str = "two permits";
    const QUEUE: QueueNames = NAMES;
    const ONE_GRANT_ENDS: bool = false;

    type Wanted = Term;
    type Acquire = TakePermit;
    type Release = FreePermit;
    type Cancel = LeaveQueue;
    type Looks = Permits;
    type Renew = RenewPermit;

    fn acquire(client: &Context, _name: &ObjectName, wanted: Term, waits: bool, _alone: bool) -> TakePermit {
        TakePermit { owner: client.next_owner(), lease: wanted.lease(), waits }
    }

    fn release(owner: &str, _rejoin: bool) -> FreePermit {
        FreePermit(owner.to_owned())
    }

    fn cancel(client: &str) -> LeaveQueue {
        LeaveQueue(client.to_owned())
    }

    fn foreign_channel(name: &ObjectName) -> String {
        name.companion("permits_channel")
    }

    fn cohort(_client: &Context, _wanted: Term, _step: &TakePermit, _spec: &GrantSpec) -> Cohort {
        unreachable!("a grant of which there are several is the line's for none of them")
    }

    fn held_as(grant: &Grant) -> Term {
        grant.term()
    }

    fn enter(&self, holder: HolderId, grant: Grant) {
        self.0.lock().push((holder, grant));
    }

    fn in_the_way(&self, _wanted: Term) -> Option<Grant> {
        None
    }

    fn told(&self, _lost: &Grant) {}

    fn take(&self, holder: HolderId) -> Option<Grant> {
        let mut holds = self.0.lock();
        let at = holds.iter().position(|(other, _)| *other == holder)?;
        Some(holds.remove(at).1)
    }

    fn valid(&self) -> Vec<Grant> {
        self.0.lock().iter().map(|(_, grant)| grant.clone()).filter(Grant::is_valid).collect()
    }

    fn take_valid(&self) -> Vec<Grant> {
        self.0.lock().extract_if(.., |(_, grant)| grant.is_valid()).map(|(_, grant)| grant).collect()
    }

    fn let_go(&self, _token: Option<u64>) -> Vec<Arc<Contended<Two>>> {
        Vec::new()
    }
}
