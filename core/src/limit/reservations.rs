//! The callers of one client that wait for tokens of one limiter, and the times that are reserved for them.
//!
//! Each waiting caller brings a reservation, the server's promise of its tokens for a certain time. Callers that ask for the
//! same are interchangeable: the first of them takes the first time, so that a caller that gives up moves all behind it up, and
//! what is left over is the last time, the one that the server can most likely give to others. Callers are ordered by their own
//! reservations, so none of them gets a later time than its own, also when a reset or another server promises sooner ones. A
//! time that nobody can take back stays here for the next caller: else a crowd that gives up again and again would push
//! everybody's times into the future.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::ahead::Ahead;
use super::clocks::Clocks;
use super::giving_back::GivingBack;
use super::object::LimitObject;
use super::queue::Queue;
use super::rates::Rates;
use super::times::{Reserved, Time, Times};
use crate::time::Tick;

/// Tells which side charged tokens.
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
pub(super) struct Demands {
    arrivals: u64,
    pub(super) clocks: Clocks,
    pub(super) by_demand: HashMap<Demand, Waiters>,
    /// How many demands there are when it is worth to look for those that can be forgotten: twice as many as the last look
    /// left.
    sweep_at: usize,
    pub(super) giving_back: GivingBack,
    pub(super) ahead: Ahead,
    pub(super) queue: Queue,
    /// The client closes: nobody waits any more.
    pub(super) closed: bool,
}

/// The place of a caller among the others: the due time of its own reservation, then its arrival.
pub(super) type Position = (Tick, u64);

/// Never more callers than times. A time without a caller is for the next one, unless it can be given back before.
#[derive(Default)]
pub(super) struct Waiters {
    /// What each is told when it has become the first, or the first time has changed.
    pub(super) callers: BTreeMap<Position, Arc<Notify>>,
    /// The n-th is never later than the own one of the n-th caller.
    pub(super) times: Times,
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
        demands.add(demand, reserved, now);
        demands.hand_on(shared, demand);
        demands.give_back(shared);
    }

    /// Gives everything back: the client closes, which each caller hears by itself.
    pub(super) fn close(shared: &Arc<LimitObject>) {
        let mut demands = shared.reservations().demands();
        demands.closed = true;
        demands.queue.clear();
        demands.by_demand.values_mut().for_each(|waiters| waiters.callers.clear());
        demands.give_back_at_the_end(shared);
    }

    /// Takes nothing for charged that was reserved until now: the limiter was reset.
    pub(super) fn forget(shared: &Arc<LimitObject>) {
        let mut demands = shared.reservations().demands();
        demands.ahead.forget();
        demands.clocks.begin_anew();
        demands.serve(shared);
    }

    pub(super) fn demands(&self) -> MutexGuard<'_, Demands> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Demands {
    /// Says when it is due.
    pub(super) fn add(&mut self, demand: &Demand, reserved: Reserved, now: Tick) -> Tick {
        let clock = self.clocks.of(reserved.by, &reserved.charged);
        self.waiters(demand, now).add(Time { reserved, clock })
    }

    /// The waiters of this demand, none at first.
    pub(super) fn waiters(&mut self, demand: &Demand, now: Tick) -> &mut Waiters {
        if self.by_demand.len() >= self.sweep_at.max(FEW) && !self.by_demand.contains_key(demand) {
            self.by_demand.retain(|_, waiters| waiters.matter(now));
            self.sweep_at = 2 * self.by_demand.len();
        }
        self.by_demand.entry(demand.clone()).or_default()
    }

    pub(super) fn tidy(&mut self, demand: &Demand) {
        if self.by_demand.get(demand).is_some_and(|waiters| waiters.times.is_empty()) {
            self.by_demand.remove(demand);
        }
    }
}

impl Waiters {
    /// Says when it is due.
    pub(super) fn add(&mut self, time: Time) -> Tick {
        let due = self.times.add(time);
        self.wake_first();
        due
    }

    pub(super) fn leave(&mut self, position: Position) {
        let first = self.is_first(position);
        self.callers.remove(&position);
        if first {
            self.wake_first();
        }
    }

    pub(super) fn is_first(&self, position: Position) -> bool {
        self.callers.first_key_value().is_some_and(|(first, _)| *first == position)
    }

    /// When the first time is due that is left when each of the callers has one.
    pub(super) fn left_over(&mut self, now: Tick) -> Option<Tick> {
        if self.callers.is_empty() {
            self.times.forget_before(now);
        }
        self.times.left_over(self.callers.len()).map(|reserved| reserved.due)
    }

    fn wake_first(&self) {
        if let Some((_, first)) = self.callers.first_key_value() {
            first.notify_one();
        }
    }

    /// Whether somebody waits, or may still want what is left.
    fn matter(&self, now: Tick) -> bool {
        !self.callers.is_empty() || self.times.last().is_some_and(|last| last.due() >= now)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::client::Client;
    use crate::config::Config;
    use crate::limit::ahead::Counted;
    use crate::limit::answer::Answer;
    use crate::limit::clocks::Charged;
    use crate::limit::shares::instant;
    use crate::limit::step::{Judge, Stood};
    use crate::limit::waiter::Waiter;
    use crate::limit::{Decision, Rate};
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
        let now = shared.client().clock.now();
        let due = now.plus(wait);
        let now_us = now.0 / 1_000;
        let charged = Charged { now: now_us, at: now_us + wait.as_micros() as u64, sent: now, heard: now };
        Reserved { due, wait, decision: Decision::allow(&rates, cost), rates, cost, stood, by, charged }
    }

    fn counted(shared: &LimitObject, demand: &Demand) -> Counted {
        shared.reservations().demands().ahead.add(demand)
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
            let waiter = Waiter::with(&shared, &demand, arrival, reserved, counted(&shared, &demand), clock.now());
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
        let waiter = Waiter::with(&shared, &demand, arrival, reserved_late, counted(&shared, &demand), its_clock.now());
        let waiting = tokio::spawn(async move { waiter.wait(&its_clock).await });
        settle().await;
        Reservations::give_back(&shared, &demand, reserved(&shared, 1, SECOND));
        clock.advance(SECOND);
        settle().await;
        assert!(waiting.is_finished());
    }

    #[tokio::test]
    async fn the_last_charge_of_all_costs_goes_first() {
        let (shared, clock) = limit().await;
        clock.advance(10 * SECOND);
        let (rates, now) = (Rates::from(Rate::new(10, SECOND)), shared.client().clock.now());
        let judge = |cost| {
            let step = Judge::new(&rates, cost).within(3_600 * SECOND);
            shared.shares().run(shared.name(), &step, now).unwrap()
        };
        let before = judge(10);
        let mut waiting = Vec::new();
        for cost in [1, 7, 2, 1, 3, 7, 2, 4] {
            let answer = Answer::of(&rates, cost, judge(cost), instant(now), By::Share, (now, now));
            let Answer::Reserved(reserved) = answer else { panic!("there is none now") };
            let (demand, arrival) = ((rates.clone(), cost), shared.reservations().arrive());
            waiting.push(Waiter::with(&shared, &demand, arrival, reserved, counted(&shared, &demand), now));
        }
        let reserved = judge(0).standings;
        let last = waiting.pop();
        waiting.clear();
        settle().await;
        assert_eq!(judge(0).standings, reserved, "what is behind them keeps its time");
        drop(last);
        settle().await;
        assert_eq!(judge(0).standings, before.standings);
        assert!(shared.reservations().demands().by_demand.is_empty());
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
