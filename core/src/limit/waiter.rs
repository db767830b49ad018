//! One caller that waits for the time that is reserved for it.

use std::sync::Arc;

use tokio::sync::Notify;

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
    moved_up: Arc<Notify>,
    taken: bool,
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
        now: Tick,
    ) -> Waiter {
        let mut demands = shared.reservations().demands();
        let due = demands.add(demand, reserved, now);
        Waiter::enter(shared, demand.clone(), (due, arrival), &mut demands)
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
            waiters.times.forget_before(now);
        }
        let left = waiters.times.left_over(waiters.callers.len()).map(|reserved| reserved.due);
        let left = left.filter(|due| *due <= until);
        let waiter = left.map(|due| Waiter::enter(shared, demand.clone(), (due, arrival), &mut demands));
        demands.tidy(demand);
        waiter
    }

    fn enter(shared: &Arc<LimitObject>, demand: Demand, position: Position, demands: &mut Demands) -> Waiter {
        let moved_up = Arc::new(Notify::new());
        if demands.closed {
            demands.give_back(shared);
        } else if let Some(waiters) = demands.by_demand.get_mut(&demand) {
            waiters.callers.insert(position, moved_up.clone());
        }
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
        demands.give_back(&self.shared);
    }
}
