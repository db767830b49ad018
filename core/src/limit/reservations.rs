//! The callers of one client that wait for tokens of one limiter, and the times that are reserved for them.
//!
//! Each waiting caller brings a reservation, the server's promise of its tokens for a certain time. Callers that ask for the
//! same are interchangeable: the first of them takes the first time, so that a caller that gives up moves all behind it up, and
//! what is left over is the last time, the one that the server can most likely give to others. Callers are ordered by their own
//! reservations, so none of them gets a later time than its own, also when a reset or another server promises sooner ones. A
//! time that nobody can take back stays here for the next caller: else a crowd that gives up again and again would push
//! everybody's times into the future.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::decision::Decision;
use super::object::LimitObject;
use super::rates::Rates;
use super::step::Stood;
use crate::time::{Clock, Tick};

/// Tokens that were charged, and when they may be used.
#[derive(Clone, Debug)]
pub(super) struct Reserved {
    pub(super) due: Tick,
    /// How long that was ahead when it was reserved.
    pub(super) wait: Duration,
    /// What the caller is answered then.
    pub(super) decision: Decision,
    /// The rates that they were charged by, how many, and how the rates stood before it and after it.
    pub(super) rates: Rates,
    pub(super) cost: u64,
    pub(super) stood: Stood,
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
pub(super) type Demand = (Rates, u64);

/// Below this many demands, none are dropped.
const FEW: usize = 16;

#[derive(Default)]
pub(super) struct Reservations(Mutex<Demands>);

#[derive(Default)]
struct Demands {
    arrivals: u64,
    by_demand: HashMap<Demand, Waiters>,
    /// How many demands there are when it is worth to look for those that can be forgotten: twice as many as the last look
    /// left.
    sweep_at: usize,
}

/// The place of a caller among the others: the due time of its own reservation, then its arrival.
type Position = (Tick, u64);

/// Never more callers than times. A time without a caller is for the next one, unless it can be given back before.
#[derive(Default)]
struct Waiters {
    /// What each is told when it has become the first, or the first time has changed.
    callers: BTreeMap<Position, Arc<Notify>>,
    /// By when they are due. The n-th is never later than the own one of the n-th caller.
    times: VecDeque<Reserved>,
    /// A task gives back what is left over.
    giving: bool,
}

/// One caller that waits; it gives up when it is dropped.
pub(super) struct Waiter {
    shared: Arc<LimitObject>,
    demand: Demand,
    position: Position,
    moved_up: Arc<Notify>,
    taken: bool,
}

enum Readiness {
    Ready(Decision),
    NotBefore(Tick),
    Behind,
}

impl Reservations {
    /// Numbers callers in the order in which they came.
    pub(super) fn arrive(&self) -> u64 {
        let mut demands = self.demands();
        demands.arrivals += 1;
        demands.arrivals
    }

    /// Leaves a time to the next caller that asks for the same, or to others if it can be given back.
    pub(super) fn give_back(shared: &Arc<LimitObject>, demand: &Demand, reserved: Reserved) {
        let now = shared.client().clock.now();
        let mut demands = shared.reservations().demands();
        let waiters = demands.waiters(demand, now);
        waiters.add(reserved);
        waiters.wake_first();
        waiters.give_back(shared, demand);
    }

    /// The last time that has no caller; without one the task that gives them back is over.
    fn to_give_back(&self, demand: &Demand) -> Option<Reserved> {
        let mut demands = self.demands();
        let waiters = demands.by_demand.get_mut(demand)?;
        if waiters.times.len() > waiters.callers.len() {
            return waiters.times.pop_back();
        }
        waiters.giving = false;
        demands.tidy(demand);
        None
    }

    fn demands(&self) -> MutexGuard<'_, Demands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Demands {
    /// The waiters of this demand, none at first.
    fn waiters(&mut self, demand: &Demand, now: Tick) -> &mut Waiters {
        if self.by_demand.len() >= self.sweep_at.max(FEW) && !self.by_demand.contains_key(demand) {
            self.by_demand.retain(|_, waiters| waiters.matter(now));
            self.sweep_at = 2 * self.by_demand.len();
        }
        self.by_demand.entry(demand.clone()).or_default()
    }

    fn tidy(&mut self, demand: &Demand) {
        if self.by_demand.get(demand).is_some_and(|waiters| waiters.times.is_empty() && !waiters.giving) {
            self.by_demand.remove(demand);
        }
    }
}

impl Waiters {
    /// In the background, the last first and one at a time: only the last charge of all can be given back.
    fn give_back(&mut self, shared: &Arc<LimitObject>, demand: &Demand) {
        if mem::replace(&mut self.giving, true) {
            return;
        }
        let (shared, demand) = (shared.clone(), demand.clone());
        shared.client().tasks.clone().spawn_operation(async move {
            while let Some(last) = shared.reservations().to_give_back(&demand) {
                if !shared.give_back(&last).await {
                    let mut demands = shared.reservations().demands();
                    let waiters = demands.by_demand.entry(demand.clone()).or_default();
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

    fn leave(&mut self, position: Position) {
        let first = self.is_first(position);
        self.callers.remove(&position);
        if first {
            self.wake_first();
        }
    }

    fn is_first(&self, position: Position) -> bool {
        self.callers.first_key_value().is_some_and(|(first, _)| *first == position)
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

impl Waiter {
    /// With a time of its own.
    pub(super) fn with(
        shared: &Arc<LimitObject>,
        demand: &Demand,
        arrival: u64,
        reserved: Reserved,
        now: Tick,
    ) -> Waiter {
        let mut demands = shared.reservations().demands();
        let waiters = demands.waiters(demand, now);
        let due = reserved.due;
        waiters.add(reserved);
        Waiter::enter(shared, demand.clone(), (due, arrival), waiters)
    }

    /// With a time that somebody else has left, no later than `until`.
    pub(super) fn left_over(
        shared: &Arc<LimitObject>,
        demand: &Demand,
        arrival: u64,
        until: Tick,
        now: Tick,
    ) -> Option<Waiter> {
        let mut demands = shared.reservations().demands();
        let waiters = demands.by_demand.get_mut(demand)?;
        if waiters.callers.is_empty() {
            // Tokens that nobody took in time may have flown over.
            waiters.times.retain(|reserved| reserved.due >= now);
        }
        let left = waiters.times.get(waiters.callers.len()).map(|reserved| reserved.due).filter(|due| *due <= until);
        let waiter = left.map(|due| Waiter::enter(shared, demand.clone(), (due, arrival), waiters));
        demands.tidy(demand);
        waiter
    }

    fn enter(shared: &Arc<LimitObject>, demand: Demand, position: Position, waiters: &mut Waiters) -> Waiter {
        let moved_up = Arc::new(Notify::new());
        waiters.callers.insert(position, moved_up.clone());
        Waiter { shared: shared.clone(), demand, position, moved_up, taken: false }
    }

    /// Waits until the tokens may be used.
    pub(super) async fn wait(mut self, clock: &Clock) -> Decision {
        loop {
            match self.take_if_due(clock.now()) {
                Readiness::Ready(decision) => return decision,
                Readiness::NotBefore(due) => tokio::select! {
                    () = clock.sleep_until(due) => {}
                    () = self.moved_up.notified() => {}
                },
                Readiness::Behind => self.moved_up.notified().await,
            }
        }
    }

    fn take_if_due(&mut self, now: Tick) -> Readiness {
        let mut demands = self.shared.reservations().demands();
        let Some(waiters) = demands.by_demand.get_mut(&self.demand) else { return Readiness::Behind };
        if !waiters.is_first(self.position) {
            return Readiness::Behind;
        }
        let Some(first) = waiters.times.front().map(|first| (first.due, first.decision)) else {
            return Readiness::Behind;
        };
        let (due, decision) = first;
        if due > now {
            return Readiness::NotBefore(due);
        }
        waiters.times.pop_front();
        waiters.leave(self.position);
        demands.tidy(&self.demand);
        self.taken = true;
        Readiness::Ready(decision)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        if self.taken {
            return;
        }
        if self.shared.client().tasks.leak_if_forked(&self.shared) {
            return;
        }
        let mut demands = self.shared.reservations().demands();
        let Some(waiters) = demands.by_demand.get_mut(&self.demand) else { return };
        waiters.leave(self.position);
        waiters.give_back(&self.shared, &self.demand);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::Client;
    use crate::config::Config;
    use crate::limit::Rate;
    use crate::limit::step::Judge;
    use crate::time::ManualClock;

    const SECOND: Duration = Duration::from_secs(1);

    async fn limit() -> (Arc<LimitObject>, ManualClock) {
        let clock = ManualClock::new();
        let mut config = Config::from_url("memory://").unwrap();
        config.clock(clock.clone()).unwrap();
        let client = Client::connect_with(config).await.unwrap();
        let shared = client.rate_limiter("api", Rate::new(1, SECOND)).unwrap().shared.clone();
        let step = Judge::new(&Rate::new(1, SECOND).into(), 1);
        shared.shares().run(shared.name(), &step, shared.client().clock.now()).unwrap();
        (shared, clock)
    }

    /// Tokens that were charged before others, so that they cannot be given back.
    fn reserved(shared: &LimitObject, cost: u64, wait: Duration) -> Reserved {
        let (rates, by) = (Rates::from(Rate::new(1, SECOND)), By::Share);
        let stood = Stood { before: [[0; 3]].into(), after: [[0; 3]].into() };
        let due = shared.client().clock.now().plus(wait);
        Reserved { due, wait, decision: Decision::allow(&rates, cost), rates, cost, stood, by }
    }

    async fn settle() {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn a_late_answer_takes_no_time_of_another_caller() {
        let (shared, clock) = limit().await;
        let demand = (Rates::from(Rate::new(1, SECOND)), 1);
        let wait = |arrival: u64, ms: u64| {
            let reserved = reserved(&shared, 1, Duration::from_millis(ms));
            let clock = shared.client().clock.clone();
            let waiter = Waiter::with(&shared, &demand, arrival, reserved, clock.now());
            tokio::spawn(async move { waiter.wait(&clock).await })
        };
        let (first, second) = (shared.reservations().arrive(), shared.reservations().arrive());
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
        let demand = (Rates::from(Rate::new(1, SECOND)), 1);
        let its_clock = shared.client().clock.clone();
        let (arrival, reserved_late) = (shared.reservations().arrive(), reserved(&shared, 1, 30 * SECOND));
        let waiter = Waiter::with(&shared, &demand, arrival, reserved_late, its_clock.now());
        let waiting = tokio::spawn(async move { waiter.wait(&its_clock).await });
        settle().await;
        Reservations::give_back(&shared, &demand, reserved(&shared, 1, SECOND));
        clock.advance(SECOND);
        settle().await;
        assert!(waiting.is_finished());
    }

    #[tokio::test]
    async fn times_that_are_over_are_forgotten() {
        let (shared, clock) = limit().await;
        for cost in 1..=1_000 {
            Reservations::give_back(&shared, &(Rate::new(1, SECOND).into(), cost), reserved(&shared, cost, SECOND));
            settle().await;
            clock.advance(2 * SECOND);
        }
        let kept = shared.reservations().demands().by_demand.len();
        assert!(kept <= 2 * FEW, "{kept} demands");
    }
}
