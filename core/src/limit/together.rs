//! Callers of one client that ask for the same tokens at the same time: one request asks for all of them.
//!
//! By every algorithm, so many requests for tokens that are there now are granted one behind the other just when one request
//! for their sum is, and both leave the limiter the same: a busy client needs one script for all that ask in one turn of its
//! runtime. Nobody waits for company: a task that asks lets those run that are ready to, if others have a request under way,
//! and takes along who has asked by then. Where the sum is refused, each is asked for alone, and for a while all are.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::limiter::RateLimiter;
use super::reservations::Demand;
use super::step::{Judge, Judged};
use crate::backend::{Done, Failed};
use crate::time::Tick;

/// For how long nobody asks together after a sum was refused: the next would be refused as well.
const PAUSE: Duration = Duration::from_millis(20);

/// The most that ask together, so that what one lost reply leaves unknown stays small.
const MOST: u64 = 64;

type Outcome = Result<Done<Judged>, Failed>;

#[derive(Default)]
pub(super) struct Together {
    /// How many requests are under way.
    asking: AtomicUsize,
    groups: Mutex<Groups>,
}

#[derive(Default)]
struct Groups {
    by_demand: HashMap<Demand, Group>,
    /// The number of the latest.
    last: u64,
    alone_until: Tick,
}

/// Those that are about to be asked for together.
struct Group {
    number: u64,
    members: Vec<oneshot::Sender<Outcome>>,
}

/// One request is under way as long as this is there.
struct Asking<'a>(&'a AtomicUsize);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A caller in a group. The first that runs again asks for all of it: not always the one that came first, since a future may
/// not be polled for long, such as another branch of a `select!`, and is not to hold up the others.
struct Member<'a> {
    limiter: &'a RateLimiter,
    demand: Demand,
    group: u64,
    told: Option<oneshot::Receiver<Outcome>>,
    /// Whether the group may still be open.
    open: bool,
}

impl Member<'_> {
    /// Ends the group: those of it that still want an answer, or nobody when another member has ended it.
    fn close(&mut self) -> Vec<oneshot::Sender<Outcome>> {
        self.open = false;
        let mut groups = self.limiter.shared.together().groups();
        match groups.by_demand.entry(self.demand.clone()) {
            Entry::Occupied(entry) if entry.get().number == self.group => {
                let mut members = entry.remove().members;
                members.retain(|member| !member.is_closed());
                members
            }
            _ => Vec::new(),
        }
    }

    /// What the group is told; `None` when each has to ask alone.
    async fn told(&mut self) -> Option<Outcome> {
        self.told.as_mut()?.await.ok()
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.told = None;
        if !self.open || self.limiter.shared.client().tasks.is_forked() {
            return;
        }
        let mut groups = self.limiter.shared.together().groups();
        // A group without members would stay for ever.
        let is_left = |group: &Group| group.number == self.group && group.members.iter().all(|other| other.is_closed());
        if groups.by_demand.get(&self.demand).is_some_and(is_left) {
            groups.by_demand.remove(&self.demand);
        }
    }
}

impl Together {
    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> (Asking<'_>, bool) {
        let others = self.asking.fetch_add(1, Ordering::Relaxed) > 0;
        (Asking(&self.asking), others)
    }

    /// Whether a sum may be asked for: none was refused a moment ago.
    pub(super) fn may_sum(&self, now: Tick) -> bool {
        now >= self.groups().alone_until
    }

    pub(super) fn refused(&self, now: Tick) {
        self.groups().alone_until = now.plus(PAUSE);
    }
}

impl RateLimiter {
    /// Asks for tokens that are there now, together with who asks for as many at the same time.
    pub(super) async fn ask_beside_others(&self, cost: u64, asked_at: Tick) -> Outcome {
        let (_asking, others) = self.shared.together().begin();
        let most = self.rates.limit().checked_div(cost).unwrap_or(0).min(MOST) as usize;
        // A call from outside of the runtime is often answered in its first poll, and is not to lose that.
        if others
            && most > 1
            && tokio::task::try_id().is_some()
            && let Some(mut member) = self.join((self.rates.clone(), cost), most, asked_at)
        {
            tokio::task::yield_now().await;
            self.ask_for_all(cost, member.close());
            if let Some(outcome) = member.told().await {
                return outcome;
            }
        }
        self.ask(Judge::new(&self.rates, cost), asked_at, Tick::NEVER).await
    }

    /// Enters a group with room for one more, or begins one; `None` for a caller that has to ask alone.
    fn join(&self, demand: Demand, most: usize, now: Tick) -> Option<Member<'_>> {
        let mut groups = self.shared.together().groups();
        if now < groups.alone_until {
            return None;
        }
        let next = groups.last + 1;
        let empty = || Group { number: next, members: Vec::new() };
        let group = groups.by_demand.entry(demand.clone()).or_insert_with(empty);
        if group.members.len() >= most {
            return None;
        }
        let (tell, told) = oneshot::channel();
        group.members.push(tell);
        let number = group.number;
        groups.last = next.max(number);
        Some(Member { limiter: self, demand, group: number, told: Some(told), open: true })
    }

    /// One request for all of these, in a task of its own: none of them has to be polled for the others to get their answers. One
    /// that has no company is left to ask alone.
    fn ask_for_all(&self, cost: u64, members: Vec<oneshot::Sender<Outcome>>) {
        if members.len() < 2 {
            return;
        }
        let limiter = self.clone();
        self.shared.client().tasks.spawn_operation(async move {
            let (sum, together) = (cost * members.len() as u64, limiter.shared.together());
            let clock = &limiter.shared.client().clock;
            let outcome = limiter.ask(Judge::new(&limiter.rates, sum), clock.now(), Tick::NEVER).await;
            if outcome.as_ref().is_ok_and(|done| !done.reply.allowed) {
                // Each asks alone.
                return together.refused(clock.now());
            }
            for member in members {
                // Who has given up has spent its tokens, as alone.
                member.send(outcome.clone()).ok();
            }
        });
    }
}
