//! One caller that waits for the time that is reserved for it.

use std::sync::Arc;

use tokio::sync::Notify;

use super::ahead::Counted;
use super::decision::Decision;
use super::object::LimitObject;
use super::reservations::{Demand, Demands, Position};
use super::times::Reserved;
use crate::time::{Clock, Tick};

/// Gives up when it is dropped.
pub(super) struct Waiter {
    shared: Arc<LimitObject>,
    demand: Demand,
    position: Position,
    /// Until it has its tokens.
    counted: Option<Counted>,
    moved_up: Arc<Notify>,
}

enum Readiness {
    Ready(Decision),
    NotBefore(Tick),
    Behind,
}

impl Waiter {
    /// Waits for this reservation, or a sooner one.
    pub(super) fn with(
        shared: &Arc<LimitObject>,
        demand: &Demand,
        arrival: u64,
        reserved: Reserved,
        counted: Counted,
        now: Tick,
    ) -> Waiter {
        let mut demands = shared.reservations().demands();
        let due = demands.add(demand, reserved, now);
        Waiter::enter(shared, demand, (due, arrival), counted, &mut demands)
    }

    /// With a time that somebody else has left, no later than `until`.
    pub(super) fn left_over(
        shared: &Arc<LimitObject>,
        demand: &Demand,
        arrival: u64,
        until: Tick,
        demands: &mut Demands,
        now: Tick,
    ) -> Option<Waiter> {
        let left = demands.by_demand.get_mut(demand)?.left_over(now).filter(|due| *due <= until);
        let waiter = left.map(|due| {
            let counted = demands.ahead.add(demand);
            Waiter::enter(shared, demand, (due, arrival), counted, demands)
        });
        demands.tidy(demand);
        waiter
    }

    /// With a time that is there for it.
    pub(super) fn enter(
        shared: &Arc<LimitObject>,
        demand: &Demand,
        position: Position,
        counted: Counted,
        demands: &mut Demands,
    ) -> Waiter {
        let moved_up = Arc::new(Notify::new());
        if demands.closed {
            demands.give_back(shared);
        } else if let Some(waiters) = demands.by_demand.get_mut(demand) {
            waiters.callers.insert(position, moved_up.clone());
        }
        Waiter { shared: shared.clone(), demand: demand.clone(), position, counted: Some(counted), moved_up }
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
        let Some(first) = waiters.times.first().map(|first| (first.due, first.decision)) else {
            return Readiness::Behind;
        };
        let (due, decision) = first;
        if due > now {
            return Readiness::NotBefore(due);
        }
        waiters.times.take_first();
        waiters.leave(self.position);
        demands.tidy(&self.demand);
        self.counted.take().into_iter().for_each(|counted| demands.ahead.remove(counted));
        demands.serve(&self.shared);
        Readiness::Ready(decision)
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let Some(counted) = self.counted.take() else { return };
        if self.shared.client().tasks.leak_if_forked(&self.shared) {
            return;
        }
        let mut demands = self.shared.reservations().demands();
        demands.ahead.remove(counted);
        if let Some(waiters) = demands.by_demand.get_mut(&self.demand) {
            waiters.leave(self.position);
            demands.hand_on(&self.shared, &self.demand);
            demands.give_back(&self.shared);
        }
        demands.serve(&self.shared);
    }
}
