//! The callers of one client that wait before they reserve, because others of it have reserved enough: see `ahead.rs`.
//!
//! In the order in which they came, whatever they ask for. The first asks when there is room: when a caller has got its tokens, gives
//! up, or was refused. One that gives up leaves its time to the first that asks for the same, without the server.

use std::collections::BTreeMap;
use std::future::pending;
use std::ops::RangeBounds;
use std::sync::Arc;

use tokio::sync::oneshot::{self, error::TryRecvError};

use super::ahead::Counted;
use super::object::LimitObject;
use super::rates::Rates;
use super::reservations::{By, Demand, Demands};
use super::times::Time;
use super::waiter::Waiter;
use crate::time::Tick;

#[derive(Default)]
pub(super) struct Queue {
    /// By their arrival.
    callers: BTreeMap<u64, Caller>,
    /// Sum of the tokens that they ask for.
    tokens: u64,
    /// The first of those of which it is not known whether their tokens come in time: others were asking when they came.
    unsettled: Option<u64>,
    /// Number of permits.
    asking: usize,
}

struct Caller {
    demand: Demand,
    until: Tick,
    turn: oneshot::Sender<Turn>,
}

/// The next step of a caller.
pub(super) enum Turn {
    Ask(Permit),
    /// Somebody has left it a time.
    Wait(Waiter),
    /// There are no tokens for it before this.
    TooLate(Tick),
}

/// Leave to ask the server, which counts as a reservation until this is dropped.
pub(super) struct Permit {
    shared: Arc<LimitObject>,
    counted: Option<Counted>,
}

/// A place in the queue, until this is dropped.
pub(super) struct Queued {
    shared: Arc<LimitObject>,
    arrival: u64,
    /// `None` once it gets none any more.
    told: Option<oneshot::Receiver<Turn>>,
}

impl Queue {
    fn add(&mut self, arrival: u64, caller: Caller) {
        self.tokens += caller.demand.1;
        self.callers.insert(arrival, caller);
        self.unsettled = Some(self.unsettled.map_or(arrival, |first| first.min(arrival)));
    }

    fn remove(&mut self, arrival: u64) -> Option<Caller> {
        let caller = self.callers.remove(&arrival)?;
        self.tokens -= caller.demand.1;
        Some(caller)
    }

    fn tokens_of(&self, arrivals: impl RangeBounds<u64>) -> u64 {
        self.callers.range(arrivals).map(|(_, caller)| caller.demand.1).sum()
    }

    /// Nobody in it gets a turn any more.
    pub(super) fn clear(&mut self) {
        self.callers.clear();
        self.tokens = 0;
        self.unsettled = None;
    }
}

impl Caller {
    fn tell(self, turn: Turn) {
        let is_told = self.turn.send(turn).is_ok();
        debug_assert!(is_told, "it leaves the queue before it stops listening");
    }
}

impl Demands {
    /// Lets those in the queue ask that have room for it.
    pub(super) fn serve(&mut self, shared: &Arc<LimitObject>) {
        // A charge that is made now would keep those before it from being given back.
        while !self.giving_back.is_under_way()
            && let Some((&arrival, Caller { demand, .. })) = self.queue.callers.first_key_value()
            && self.ahead.has_room(demand)
            && let Some(first) = self.queue.remove(arrival)
        {
            let permit = Permit::new(shared, &first.demand, self);
            first.tell(Turn::Ask(permit));
        }
        self.refuse_late();
    }

    /// Refuses those whose tokens come too late, as soon as what is reserved says so.
    fn refuse_late(&mut self) {
        let Some(from) = self.queue.unsettled.filter(|_| self.queue.asking == 0) else { return };
        let rates = self.queue.callers.range(from..).next().map(|(_, caller)| &caller.demand.0);
        let Some(last) = rates.and_then(|rates| self.last_reserved(rates)) else { return };
        let mut before = self.queue.tokens - self.queue.tokens_of(from..);
        let mut late = Vec::new();
        for (arrival, Caller { demand: (rates, cost), until, .. }) in self.queue.callers.range(from..) {
            let due = last.next(before + cost);
            if *until < due && *rates == last.reserved.rates {
                late.push((*arrival, due));
            } else {
                before += cost;
            }
        }
        self.queue.unsettled = None;
        for (arrival, due) in late {
            self.queue.remove(arrival).into_iter().for_each(|caller| caller.tell(Turn::TooLate(due)));
        }
    }

    /// Leaves times of this demand that have no caller to those in the queue.
    pub(super) fn hand_on(&mut self, shared: &Arc<LimitObject>, demand: &Demand) {
        if self.queue.callers.is_empty() {
            return;
        }
        let now = shared.client().clock.now();
        while let Some(due) = self.by_demand.get_mut(demand).and_then(|waiters| waiters.left_over(now))
            && let mut alike = self.queue.callers.iter().filter(|(_, caller)| caller.demand == *demand)
            && let Some((&arrival, _)) = alike.find(|(_, caller)| due <= caller.until)
            && let Some(next) = self.queue.remove(arrival)
        {
            let counted = self.ahead.add(demand);
            next.tell(Turn::Wait(Waiter::enter(shared, demand, (due, arrival), counted, self)));
        }
        self.tidy(demand);
    }

    /// The last charge by these rates, unless the limiter was reset since, or another server decides now.
    fn last_reserved(&self, rates: &Rates) -> Option<&Time> {
        let by_rates = self.by_demand.iter().filter(|((others, _), _)| others == rates);
        let last = by_rates.filter_map(|(_, waiters)| waiters.times.last());
        let last = last.filter(|time| time.reserved.by == By::Server && self.clocks.is_last(time.clock));
        last.max_by(|one, other| one.order().cmp(&other.order()))
    }

    /// Whether there can be no token by these rates now, unless the limiter was reset.
    pub(super) fn is_used_up(&self, rates: &Rates, now: Tick) -> bool {
        self.last_reserved(rates).is_some_and(|last| last.due() > now)
    }
}

impl Turn {
    /// A time that somebody has left, or else leave to ask, or else a place in the queue.
    pub(super) fn of(
        shared: &Arc<LimitObject>,
        demand: &Demand,
        arrival: u64,
        until: Tick,
        now: Tick,
    ) -> Result<Turn, Queued> {
        let mut demands = shared.reservations().demands();
        if let Some(waiter) = Waiter::left_over(shared, demand, arrival, until, &mut demands, now) {
            return Ok(Turn::Wait(waiter));
        }
        let is_first = demands.queue.callers.first_key_value().is_none_or(|(first, _)| arrival < *first);
        if is_first && demands.ahead.has_room(demand) {
            return Ok(Turn::Ask(Permit::new(shared, demand, &mut demands)));
        }
        let (turn, told) = oneshot::channel();
        demands.queue.add(arrival, Caller { demand: demand.clone(), until, turn });
        demands.refuse_late();
        Err(Queued { shared: shared.clone(), arrival, told: Some(told) })
    }
}

impl Permit {
    fn new(shared: &Arc<LimitObject>, demand: &Demand, demands: &mut Demands) -> Permit {
        demands.queue.asking += 1;
        Permit { shared: shared.clone(), counted: Some(demands.ahead.add(demand)) }
    }

    /// For the caller that has reserved.
    pub(super) fn keep(&mut self) -> Counted {
        self.counted.take().expect("it is kept once")
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.shared.client().tasks.leak_if_forked(&self.shared) {
            return;
        }
        let mut demands = self.shared.reservations().demands();
        demands.queue.asking -= 1;
        self.counted.take().into_iter().for_each(|counted| demands.ahead.remove(counted));
        demands.serve(&self.shared);
    }
}

impl Queued {
    /// Its turn, if that has come.
    pub(super) fn turn_now(&mut self) -> Option<Turn> {
        match self.told.as_mut()?.try_recv() {
            Ok(turn) => Some(turn),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Closed) => {
                self.told = None;
                None
            }
        }
    }

    /// Completes when it is this caller's turn; not when the client closes, which the caller hears by itself. Cancel safe.
    pub(super) async fn turn(&mut self) -> Turn {
        if let Some(told) = &mut self.told
            && let Ok(turn) = told.await
        {
            return turn;
        }
        self.told = None;
        pending().await
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.shared.client().tasks.leak_if_forked(&self.shared) {
            return;
        }
        let mut demands = self.shared.reservations().demands();
        if demands.queue.remove(self.arrival).is_some() {
            demands.serve(&self.shared);
        }
        // A turn that it did not take goes to others, because the receiver drops it.
    }
}
