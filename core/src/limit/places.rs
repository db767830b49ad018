//! The callers of one client that wait for tokens of one limiter, and the times that are reserved for them.
//!
//! Each waiting caller brings a reservation, the server's promise of its tokens for a certain time. Callers that ask for the same
//! are interchangeable: the first of them takes the first time, so that a caller that gives up moves all behind it up, and what
//! is left over is the last time, the one that the server can most likely give to others. Callers are ordered by their own
//! reservations, so none of them gets a later time than its own, also when a reset or another server promises sooner ones. A time that nobody can take back stays
//! here for the next caller: else a crowd that gives up again and again would push everybody's times into the future.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::decision::Decision;
use super::rate::Rate;
use super::shared::LimitShared;
use super::tat::Span;
use crate::time::{Clock, Tick};

/// Tokens that were charged, and when they may be used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reserved {
    pub(super) due: Tick,
    /// How long that was ahead when it was reserved.
    pub(super) wait: Duration,
    /// What the caller is answered then.
    pub(super) decision: Decision,
    /// The rate that they were charged by, how many, and the theoretical arrival time that this left.
    pub(super) rate: Rate,
    pub(super) cost: u64,
    pub(super) tat: Span,
    pub(super) by: By,
}

/// Who charged them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Server,
    /// The policy of a local share.
    Share,
}

/// What interchangeable callers ask for.
pub(super) type Order = (Rate, u64);

/// Below this many orders, none are dropped.
const FEW: usize = 16;

#[derive(Default)]
pub(super) struct Places(Mutex<Known>);

#[derive(Default)]
struct Known {
    arrivals: u64,
    orders: HashMap<Order, Waiters>,
    /// How many orders there are when it is worth to look for those that can be forgotten: twice as many as the last look left.
    sweep_at: usize,
}

/// The place of a caller among the others: the due time of its own reservation, then its arrival.
type Rank = (Tick, u64);

/// Never more callers than times. A time without a caller is for the next one, unless it can be given back before.
#[derive(Default)]
struct Waiters {
    /// What each is told when it has become the first, or the first time has changed.
    callers: BTreeMap<Rank, Arc<Notify>>,
    /// By when they are due. The n-th is never later than the own one of the n-th caller.
    times: VecDeque<Reserved>,
    /// A task gives back what is left over.
    giving: bool,
}

/// The place of one caller; given up when dropped.
pub(super) struct Place {
    shared: Arc<LimitShared>,
    order: Order,
    rank: Rank,
    moved_up: Arc<Notify>,
    taken: bool,
}

enum Look {
    Take(Decision),
    Until(Tick),
    Behind,
}

impl Places {
    /// Numbers callers in the order in which they came.
    pub(super) fn arrive(&self) -> u64 {
        let mut known = self.known();
        known.arrivals += 1;
        known.arrivals
    }

    /// Leaves a time to the next caller that asks for the same, or to others if it can be given back.
    pub(super) fn leave(shared: &Arc<LimitShared>, order: Order, reserved: Reserved) {
        let now = shared.client().clock.now();
        let mut known = shared.places().known();
        let waiters = known.waiters(order, now);
        waiters.add(reserved);
        waiters.wake_first();
        waiters.give_back(shared, order);
    }

    /// The last time that has no caller; without one the task that gives them back is over.
    fn to_give_back(&self, order: Order) -> Option<Reserved> {
        let mut known = self.known();
        let waiters = known.orders.get_mut(&order)?;
        if waiters.times.len() > waiters.callers.len() {
            return waiters.times.pop_back();
        }
        waiters.giving = false;
        known.tidy(order);
        None
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The waiters of this order, none at first.
    fn waiters(&mut self, order: Order, now: Tick) -> &mut Waiters {
        if self.orders.len() >= self.sweep_at.max(FEW) && !self.orders.contains_key(&order) {
            self.orders.retain(|_, waiters| waiters.matter(now));
            self.sweep_at = 2 * self.orders.len();
        }
        self.orders.entry(order).or_default()
    }

    fn tidy(&mut self, order: Order) {
        if self.orders.get(&order).is_some_and(|waiters| waiters.times.is_empty() && !waiters.giving) {
            self.orders.remove(&order);
        }
    }
}

impl Waiters {
    /// In the background, the last first and one at a time: only the last charge of all can be given back.
    fn give_back(&mut self, shared: &Arc<LimitShared>, order: Order) {
        if mem::replace(&mut self.giving, true) {
            return;
        }
        let shared = shared.clone();
        shared.client().tasks.clone().spawn_operation(async move {
            while let Some(last) = shared.places().to_give_back(order) {
                if !shared.give_back(&last).await {
                    let mut known = shared.places().known();
                    let waiters = known.orders.entry(order).or_default();
                    waiters.add(last);
                    waiters.giving = false;
                    break;
                }
            }
        });
    }

    fn add(&mut self, reserved: Reserved) {
        let at = self.times.partition_point(|other| other.due <= reserved.due);
        self.times.insert(at, reserved);
    }

    fn leave(&mut self, rank: Rank) {
        let first = self.is_first(rank);
        self.callers.remove(&rank);
        if first {
            self.wake_first();
        }
    }

    fn is_first(&self, rank: Rank) -> bool {
        self.callers.first_key_value().is_some_and(|(first, _)| *first == rank)
    }

    fn wake_first(&self) {
        if let Some((_, first)) = self.callers.first_key_value() {
            first.notify_one();
        }
    }

    /// Whether somebody waits, or may still want what is left.
    fn matter(&self, now: Tick) -> bool {
        self.giving || !self.callers.is_empty() || self.times.back().is_some_and(|last| last.due >= now)
    }
}

impl Place {
    /// A place of its own time.
    pub(super) fn with(shared: &Arc<LimitShared>, order: Order, arrival: u64, reserved: Reserved) -> Place {
        let now = shared.client().clock.now();
        let mut known = shared.places().known();
        let waiters = known.waiters(order, now);
        waiters.add(reserved);
        Place::enter(shared, order, (reserved.due, arrival), waiters)
    }

    /// A place for a time that somebody else has left, no later than `until`.
    pub(super) fn left_over(shared: &Arc<LimitShared>, order: Order, arrival: u64, until: Tick) -> Option<Place> {
        let now = shared.client().clock.now();
        let mut known = shared.places().known();
        let waiters = known.orders.get_mut(&order)?;
        if waiters.callers.is_empty() {
            // Tokens that nobody took in time may have flown over.
            waiters.times.retain(|reserved| reserved.due >= now);
        }
        let left = waiters.times.get(waiters.callers.len()).map(|reserved| reserved.due).filter(|due| *due <= until);
        let place = left.map(|due| Place::enter(shared, order, (due, arrival), waiters));
        known.tidy(order);
        place
    }

    fn enter(shared: &Arc<LimitShared>, order: Order, rank: Rank, waiters: &mut Waiters) -> Place {
        let moved_up = Arc::new(Notify::new());
        waiters.callers.insert(rank, moved_up.clone());
        Place { shared: shared.clone(), order, rank, moved_up, taken: false }
    }

    /// Waits until the tokens may be used.
    pub(super) async fn wait(mut self, clock: &Clock) -> Decision {
        loop {
            match self.look(clock.now()) {
                Look::Take(decision) => return decision,
                Look::Until(due) => tokio::select! {
                    () = clock.sleep_until(due) => {}
                    () = self.moved_up.notified() => {}
                },
                Look::Behind => self.moved_up.notified().await,
            }
        }
    }

    fn look(&mut self, now: Tick) -> Look {
        let mut known = self.shared.places().known();
        let Some(waiters) = known.orders.get_mut(&self.order) else { return Look::Behind };
        if !waiters.is_first(self.rank) {
            return Look::Behind;
        }
        let Some(first) = waiters.times.front().copied() else { return Look::Behind };
        if first.due > now {
            return Look::Until(first.due);
        }
        waiters.times.pop_front();
        waiters.leave(self.rank);
        known.tidy(self.order);
        self.taken = true;
        Look::Take(first.decision)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        if self.shared.client().tasks.is_forked() {
            // As the client: leaked in a forked child.
            mem::forget(self.shared.clone());
            return;
        }
        let mut known = self.shared.places().known();
        let Some(waiters) = known.orders.get_mut(&self.order) else { return };
        waiters.leave(self.rank);
        waiters.give_back(&self.shared, self.order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::config::Config;
    use crate::limit::step::Gcra;
    use crate::time::ManualClock;

    const SECOND: Duration = Duration::from_secs(1);

    async fn limit() -> (Arc<LimitShared>, ManualClock) {
        let clock = ManualClock::new();
        let mut config = Config::from_url("memory://").unwrap();
        config.clock(clock.clone()).unwrap();
        let client = Client::connect_with(config).await.unwrap();
        let shared = client.rate_limiter("api", Rate::new(1, SECOND)).unwrap().shared.clone();
        let step = Gcra::new(Rate::new(1, SECOND), 1);
        shared.shares().charge(shared.name(), Rate::new(1, SECOND), &step, shared.client().clock.now());
        (shared, clock)
    }

    /// Tokens that were charged before others, so that they cannot be given back.
    fn reserved(shared: &LimitShared, cost: u64, wait: Duration) -> Reserved {
        let (rate, tat, by) = (Rate::new(1, SECOND), Span::default(), By::Share);
        let due = shared.client().clock.now().plus(wait);
        Reserved { due, wait, decision: Decision::allow(rate, cost), rate, cost, tat, by }
    }

    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_late_answer_takes_no_time_of_another_caller() {
        let (shared, clock) = limit().await;
        let order = (Rate::new(1, SECOND), 1);
        let wait = |arrival: u64, ms: u64| {
            let reserved = reserved(&shared, 1, Duration::from_millis(ms));
            let (place, clock) = (Place::with(&shared, order, arrival, reserved), shared.client().clock.clone());
            tokio::spawn(async move { place.wait(&clock).await })
        };
        let (first, second) = (shared.places().arrive(), shared.places().arrive());
        let second = wait(second, 900);
        settle().await;
        let first = wait(first, 50_000);
        settle().await;
        clock.advance(Duration::from_millis(900));
        settle().await;
        assert!(second.is_finished() && !first.is_finished());
        clock.advance(Duration::from_millis(49_100));
        settle().await;
        assert!(first.is_finished());
    }

    #[tokio::test]
    async fn a_time_that_is_left_wakes_the_first_caller() {
        let (shared, clock) = limit().await;
        let order = (Rate::new(1, SECOND), 1);
        let place = Place::with(&shared, order, shared.places().arrive(), reserved(&shared, 1, 30 * SECOND));
        let its_clock = shared.client().clock.clone();
        let waiter = tokio::spawn(async move { place.wait(&its_clock).await });
        settle().await;
        Places::leave(&shared, order, reserved(&shared, 1, SECOND));
        clock.advance(SECOND);
        settle().await;
        assert!(waiter.is_finished());
    }

    #[tokio::test]
    async fn times_that_are_over_are_forgotten() {
        let (shared, clock) = limit().await;
        for cost in 1..=1_000 {
            Places::leave(&shared, (Rate::new(1, SECOND), cost), reserved(&shared, cost, SECOND));
            settle().await;
            clock.advance(2 * SECOND);
        }
        let kept = shared.places().known().orders.len();
        assert!(kept <= 2 * FEW, "{kept} orders");
    }
}
