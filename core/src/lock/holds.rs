//! What one client knows of one lock: its line of waiters, and who in this process holds it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::HolderId;
use super::step::Renew;
use crate::client::Inner;
use crate::error::Result;
use crate::lease::{Grant, GrantSpec, Renewal};
use crate::name::ObjectName;
use crate::step::Step;
use crate::wait::{LocalQueue, Turn};

/// A holder that has lost its hold and never says a word again is remembered among this many.
const REMEMBERED_LOSSES: usize = 64;

pub(crate) struct LockShared {
    name: ObjectName,
    client: Arc<Inner>,
    pub(super) queue: Arc<LocalQueue>,
    holds: Mutex<Holds>,
}

/// The holds of one lock in this process: at most one that is valid, and those that were lost and not yet released.
#[derive(Default)]
pub(super) struct Holds(Vec<Hold>);

struct Hold {
    holder: HolderId,
    count: u32,
    grant: Grant,
}

/// What a release by a holder found.
pub(super) enum Leaving {
    NotHolding,
    /// Acquired more often than released: still held.
    Inner(Grant),
    /// The last one: the hold is over.
    Last(Grant),
}

impl LockShared {
    pub(crate) fn new(name: ObjectName, client: Arc<Inner>) -> LockShared {
        LockShared { name, client, queue: Arc::new(LocalQueue::new()), holds: Mutex::default() }
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(crate) fn client(&self) -> &Inner {
        &self.client
    }

    pub(super) fn holds(&self) -> MutexGuard<'_, Holds> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a step that does not wait, within `operation_timeout`.
    pub(super) async fn run_now<S: Step>(&self, step: &S) -> Result<S::Reply> {
        self.check_open(S::OP)?;
        let done = self.client.backend.run(&self.name, step, self.client.operation_deadline()).await;
        done.map(|done| done.reply).map_err(|failed| failed.error)
    }

    /// Prolongs a hold on the server; an error leaves what the client believes as it was.
    pub(super) async fn extend(&self, op: &'static str, grant: &Grant, lease: Duration) -> Result<()> {
        let client = &self.client;
        if lease <= grant.remaining() {
            return Ok(());
        }
        let deadline = client.operation_deadline().min(grant.valid_until()).max(client.clock.now());
        let done = client.backend.run(&self.name, &Renew::of(grant, lease), deadline).await;
        let done = done.map_err(|failed| failed.error)?;
        match client.keeper.settle(&client.backend, grant, lease, done.sent, done.reply) {
            true => Ok(()),
            false => Err(self.not_held(op, Some(grant))),
        }
    }

    /// Refuses a call on a client that has ended, naming the lock.
    pub(super) fn check_open(&self, op: &'static str) -> Result<()> {
        self.client.check_open(op).map_err(|error| error.on(self.name.as_str()))
    }

    /// Makes what the server granted a hold that is looked after; `None` when the answer took longer than the lease.
    pub(super) fn admit(&self, spec: GrantSpec, turn: &mut Option<Turn>) -> Option<Grant> {
        let client = &self.client;
        if spec.is_over(client.clock.now()) {
            return None;
        }
        // The turn is the hold's until it is over, however it ends.
        let turn = turn.take();
        let grant = Grant::new(spec, client.clock.clone(), Box::new(move || drop(turn)));
        client.keeper.watch(&grant);
        Some(grant)
    }

    /// Ends every hold of `holder` without a word to the server: it went away. The leases run out by themselves.
    pub(crate) fn abandon(&self, holder: HolderId) {
        let grant = self.holds().take(holder);
        grant.into_iter().for_each(|grant| self.client.abandon_grant(&grant));
    }

    /// Every hold that is still valid, taken out.
    pub(crate) fn take_valid(&self) -> Vec<Grant> {
        let mut holds = self.holds();
        let all = std::mem::take(&mut holds.0);
        all.into_iter().map(|hold| hold.grant).filter(Grant::is_valid).collect()
    }
}

impl Drop for LockShared {
    fn drop(&mut self) {
        // Nobody is left who could release these: they must not be renewed for ever.
        for grant in self.take_valid() {
            self.client.abandon_grant(&grant);
        }
        self.client.locks.forget(&self.name);
    }
}

impl Holds {
    fn find(&self, holder: HolderId) -> Option<&Hold> {
        self.0.iter().find(|hold| hold.holder == holder)
    }

    pub(super) fn grant(&self, holder: HolderId) -> Option<Grant> {
        self.find(holder).map(|hold| hold.grant.clone())
    }

    pub(super) fn count(&self, holder: HolderId) -> u32 {
        self.find(holder).filter(|hold| hold.grant.is_valid()).map_or(0, |hold| hold.count)
    }

    /// The hold that keeps others out of the lock.
    pub(super) fn valid(&self) -> Option<&Grant> {
        self.0.iter().map(|hold| &hold.grant).find(|grant| grant.is_valid())
    }

    pub(super) fn enter(&mut self, holder: HolderId, grant: Grant) {
        let lost = self.0.iter().filter(|hold| !hold.grant.is_valid()).count();
        if lost > REMEMBERED_LOSSES
            && let Some(oldest) = self.0.iter().position(|hold| !hold.grant.is_valid())
        {
            self.0.remove(oldest);
        }
        self.0.push(Hold { holder, count: 1, grant });
    }

    /// Counts one more acquire of what the holder holds; false when it does not hold that grant any more.
    pub(super) fn enter_again(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let hold = self.0.iter_mut().find(|hold| hold.holder == holder && hold.grant.address() == grant.address());
        hold.map(|hold| hold.count += 1).is_some()
    }

    /// Takes a grant out if the holder has it once, and still.
    pub(super) fn take_single(&mut self, holder: HolderId, grant: &Grant) -> bool {
        let is_it = |hold: &Hold| hold.holder == holder && hold.count == 1 && hold.grant.address() == grant.address();
        let at = self.0.iter().position(is_it);
        at.map(|at| self.0.remove(at)).is_some()
    }

    pub(super) fn leave(&mut self, holder: HolderId) -> Leaving {
        let Some(at) = self.0.iter().position(|hold| hold.holder == holder) else {
            return Leaving::NotHolding;
        };
        if self.0[at].count > 1 {
            self.0[at].count -= 1;
            return Leaving::Inner(self.0[at].grant.clone());
        }
        Leaving::Last(self.0.remove(at).grant)
    }

    pub(super) fn take(&mut self, holder: HolderId) -> Option<Grant> {
        let at = self.0.iter().position(|hold| hold.holder == holder)?;
        Some(self.0.remove(at).grant)
    }
}
