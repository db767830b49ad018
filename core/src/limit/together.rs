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
    /// Those that one is about to ask for, beside itself.
    by_demand: HashMap<Demand, Vec<oneshot::Sender<Outcome>>>,
    alone_until: Tick,
}

/// One request is under way as long as this is there.
struct Asking<'a>(&'a AtomicUsize);

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The one that asks for all of its group. Dropped before, it leaves the others to ask alone.
struct Leader<'a> {
    together: &'a Together,
    demand: Demand,
    closed: bool,
}

impl Leader<'_> {
    /// Those that have come, and nobody from here on.
    fn close(mut self) -> Vec<oneshot::Sender<Outcome>> {
        self.closed = true;
        self.together.groups().by_demand.remove(&self.demand).unwrap_or_default()
    }
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if !self.closed {
            self.together.groups().by_demand.remove(&self.demand);
        }
    }
}

enum Place<'a> {
    Leads(Leader<'a>),
    Follows(oneshot::Receiver<Outcome>),
    Alone,
}

impl Together {
    fn groups(&self) -> MutexGuard<'_, Groups> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn begin(&self) -> (Asking<'_>, bool) {
        let others = self.asking.fetch_add(1, Ordering::Relaxed) > 0;
        (Asking(&self.asking), others)
    }

    fn join(&self, demand: Demand, most: usize, now: Tick) -> Place<'_> {
        let mut groups = self.groups();
        if now < groups.alone_until {
            return Place::Alone;
        }
        match groups.by_demand.entry(demand) {
            Entry::Vacant(entry) => {
                let demand = entry.key().clone();
                entry.insert(Vec::new());
                Place::Leads(Leader { together: self, demand, closed: false })
            }
            Entry::Occupied(mut entry) if entry.get().len() + 1 < most => {
                let (tell, told) = oneshot::channel();
                entry.get_mut().push(tell);
                Place::Follows(told)
            }
            Entry::Occupied(_) => Place::Alone,
        }
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
        let together = self.shared.together();
        let (_asking, others) = together.begin();
        let most = self.rates.limit().checked_div(cost).unwrap_or(0).min(MOST) as usize;
        // A call from outside of the runtime is often answered in its first poll, and is not to lose that.
        if others && most > 1 && tokio::task::try_id().is_some() {
            match together.join((self.rates.clone(), cost), most, asked_at) {
                Place::Leads(leader) => {
                    tokio::task::yield_now().await;
                    let others = leader.close();
                    if !others.is_empty()
                        && let Some(outcome) = self.ask_for_all(cost, others, asked_at).await
                    {
                        return outcome;
                    }
                }
                Place::Follows(told) => {
                    if let Ok(outcome) = told.await {
                        return outcome;
                    }
                }
                Place::Alone => {}
            }
        }
        self.ask(Judge::new(&self.rates, cost), asked_at, Tick::NEVER).await
    }

    /// One request for its caller and for these, which goes on when the caller gives up. `None` when each has to ask alone.
    async fn ask_for_all(&self, cost: u64, others: Vec<oneshot::Sender<Outcome>>, asked_at: Tick) -> Option<Outcome> {
        let limiter = self.clone();
        let client = self.shared.client();
        let asking = async move {
            let sum = cost * (1 + others.len() as u64);
            let outcome = limiter.ask(Judge::new(&limiter.rates, sum), asked_at, Tick::NEVER).await;
            if outcome.as_ref().is_ok_and(|done| !done.reply.allowed) {
                limiter.shared.together().refused(limiter.shared.client().clock.now());
                return None;
            }
            for other in others {
                // Who has given up has spent its tokens, as alone.
                other.send(outcome.clone()).ok();
            }
            Some(outcome)
        };
        client.tasks.operation(asking).await.flatten()
    }
}
