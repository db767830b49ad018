//! Requests that some servers have not answered, and may carry out late, when nobody wants it any more.
//!
//! What such a request takes while its owner holds the lock belongs to the hold, and is released with it. So it is released once
//! more only if the owner is over by the time at which the request can no longer be carried out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Members, Quorum, Round};
use crate::backend::echo_until;
use crate::name::ObjectName;
use crate::step::Step;

/// The owners for which something may be carried out late.
#[derive(Clone, Default)]
pub(super) struct LateRequests(Arc<Mutex<HashMap<String, Owner>>>);

#[derive(Default)]
struct Owner {
    /// Where each may be carried out, by a number of its own.
    requests: Vec<(u64, Members)>,
    last: u64,
    is_over: bool,
}

impl LateRequests {
    fn owners(&self) -> MutexGuard<'_, HashMap<String, Owner>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request that may be carried out late for an owner, until this is dropped.
pub(crate) struct Late {
    all: LateRequests,
    owner: String,
    number: u64,
}

impl Late {
    /// Only at these.
    fn may_come_at(&self, members: Members) {
        let mut owners = self.all.owners();
        let requests = owners.get_mut(&self.owner).into_iter().flat_map(|owner| &mut owner.requests);
        requests.filter(|(number, _)| *number == self.number).for_each(|(_, at)| *at = members);
    }

    /// Whether nothing is wanted for the owner any more.
    pub(crate) fn is_over(&self) -> bool {
        self.all.owners().get(&self.owner).is_some_and(|owner| owner.is_over)
    }
}

impl Drop for Late {
    fn drop(&mut self) {
        let mut owners = self.all.owners();
        if let Some(owner) = owners.get_mut(&self.owner) {
            owner.requests.retain(|(number, _)| *number != self.number);
            if owner.requests.is_empty() {
                owners.remove(&self.owner);
            }
        }
    }
}

impl Quorum {
    /// A request for this owner may be carried out late, at any of these servers.
    pub(crate) fn late(&self, owner: &str, at: Members) -> Late {
        let all = self.late.clone();
        let mut owners = all.owners();
        let known = owners.entry(owner.to_owned()).or_default();
        known.last += 1;
        let number = known.last;
        known.requests.push((number, at));
        drop(owners);
        Late { all, owner: owner.to_owned(), number }
    }

    /// Where requests for this owner may be carried out late.
    pub(crate) fn late_at(&self, owner: &str) -> Members {
        let owners = self.late.owners();
        let requests = owners.get(owner).into_iter().flat_map(|owner| &owner.requests);
        requests.fold(Members::default(), |all, (_, at)| all.union(*at))
    }

    /// Takes note that nothing is wanted for this owner any more.
    pub(crate) fn end(&self, owner: &str) {
        if let Some(owner) = self.late.owners().get_mut(owner) {
            owner.is_over = true;
        }
    }

    /// Waits in the background for the servers that have not answered, those in `failed` among them. If the owner is over by
    /// then, those that have carried it out, which `took` tells of an answer, carry out `step`: what was sent to them before may
    /// have come earlier. So do those that never answer, as soon as nothing can arrive there any more.
    pub(crate) fn follow_up<R: Send + 'static, S: Step>(
        self: &Arc<Self>,
        late: Late,
        mut round: Round<R>,
        failed: Members,
        name: &ObjectName,
        step: S,
        took: fn(&R) -> bool,
    ) {
        let mut missing = round.open;
        if missing.union(failed).is_empty() {
            return;
        }
        late.may_come_at(missing.union(failed));
        let (quorum, name) = (self.clone(), name.clone());
        self.tasks.spawn(async move {
            while let Some(answer) = round.next().await {
                if echo_until(&answer.outcome).is_none() {
                    missing.remove(answer.server);
                }
                if answer.outcome.is_ok_and(|done| took(&done.reply)) && late.is_over() {
                    quorum.free(&name, &step, Members::one(answer.server));
                }
            }
            // What had failed before may arrive all the same, whatever a later request was answered.
            let missing = missing.union(failed);
            if missing.is_empty() {
                return;
            }
            quorum.clock.sleep_until(round.sent.plus(quorum.attempt_budget() * 2)).await;
            if late.is_over() {
                quorum.free(&name, &step, missing);
            }
        });
    }

    /// Has these servers carry out `step` in the background, until any lease must be over.
    pub(crate) fn free<S: Step>(self: &Arc<Self>, name: &ObjectName, step: &S, members: Members) {
        drop(self.see_to(name, step, members, self.clock.now().plus(self.longest_lease)));
    }
}
