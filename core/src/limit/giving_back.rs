//! Gives back what no caller wants any more: the charges of one limiter, of all its callers, in the opposite order to that in which
//! they were made, because only the last charge can be given back.

use std::cmp::Reverse;
use std::mem;
use std::sync::Arc;

use super::object::LimitObject;
use super::reservations::{By, Demand, Demands};
use super::times::{Place, Time};

/// Maximum number of requests written at once: other requests of the client wait behind them.
const MOST: usize = 256;

/// Progress of giving back.
#[derive(Debug, Default)]
pub(super) struct GivingBack {
    /// A task does it.
    under_way: bool,
    /// The latest charge that has to stay, with all before it, because others have charged since: on the server, and in a
    /// local share.
    stays_on_server: Option<Place>,
    stays_in_share: Option<Place>,
}

impl GivingBack {
    pub(super) fn is_under_way(&self) -> bool {
        self.under_way
    }

    fn stays(&self, by: By) -> Option<&Place> {
        match by {
            By::Server => self.stays_on_server.as_ref(),
            By::Share => self.stays_in_share.as_ref(),
        }
    }

    fn stays_mut(&mut self, by: By) -> &mut Option<Place> {
        match by {
            By::Server => &mut self.stays_on_server,
            By::Share => &mut self.stays_in_share,
        }
    }
}

impl Demands {
    /// In the background, if there is something to give back.
    pub(super) fn give_back(&mut self, shared: &Arc<LimitObject>) {
        if !self.giving_back.under_way && self.left_over().next().is_some() {
            self.begin_to_give_back(shared);
        }
    }

    /// Gives back all left-over times, those of later calls too, and then the fetched tokens, which were charged before.
    pub(super) fn give_back_at_the_end(&mut self, shared: &Arc<LimitObject>) {
        let is_left = self.left_over().next().is_some() || !shared.pockets().all().is_empty();
        if is_left && !self.giving_back.under_way {
            self.begin_to_give_back(shared);
        }
    }

    fn begin_to_give_back(&mut self, shared: &Arc<LimitObject>) {
        self.giving_back.under_way = true;
        let shared = shared.clone();
        shared.client().tasks.clone().spawn_operation(async move { give_all_back(&shared).await });
    }

    /// All times that have no caller and may be the last charge: when each was charged, of which demand it is, and where.
    fn left_over(&self) -> impl Iterator<Item = (Place, &Demand, usize)> {
        let all = self.by_demand.iter().flat_map(|(demand, waiters)| {
            let left = waiters.times.all_left_over(waiters.callers.len());
            left.map(move |(at, time)| (time.reserved.by, time.place(), demand, at))
        });
        let may_be_last = all.filter(|(by, place, _, _)| self.giving_back.stays(*by).is_none_or(|stays| place > stays));
        may_be_last.map(|(_, place, demand, at)| (place, demand, at))
    }

    /// Takes out the last charges, at most `most`, the last first. Ends giving back when there are none.
    fn take_last(&mut self, most: usize) -> (Vec<Demand>, Vec<Time>) {
        let mut left: Vec<(Place, &Demand, usize)> = self.left_over().collect();
        left.sort_unstable_by(|(one, _, _), (other, _, _)| other.cmp(one));
        // A client that closes has little time.
        left.truncate(if self.closed { MOST } else { most });
        let mut places: Vec<(usize, Demand, usize)> =
            left.into_iter().enumerate().map(|(order, (_, demand, at))| (order, demand.clone(), at)).collect();
        // From the back, so that no place changes before its time is taken.
        places.sort_unstable_by_key(|(_, _, at)| Reverse(*at));
        let mut taken: Vec<(usize, Demand, Time)> = Vec::with_capacity(places.len());
        for (order, demand, at) in places {
            let time = self.by_demand.get_mut(&demand).and_then(|waiters| waiters.times.remove(at));
            self.tidy(&demand);
            taken.extend(time.map(|time| (order, demand, time)));
        }
        taken.sort_unstable_by_key(|(order, _, _)| *order);
        self.giving_back.under_way = !taken.is_empty();
        taken.into_iter().map(|(_, demand, time)| (demand, time)).unzip()
    }

    /// Takes in what was not given back, and says whether that is nothing.
    fn keep(&mut self, shared: &Arc<LimitObject>, demands: Vec<Demand>, times: Vec<Time>, given: &[bool]) -> bool {
        for (time, _) in times.iter().zip(given).filter(|(_, given)| **given) {
            // The charge before it may be the last one now.
            *self.giving_back.stays_mut(time.reserved.by) = None;
        }
        for ((demand, time), _) in demands.into_iter().zip(times).zip(given).filter(|(_, given)| !**given) {
            let stays = self.giving_back.stays_mut(time.reserved.by);
            *stays = mem::take(stays).max(Some(time.place()));
            self.by_demand.entry(demand.clone()).or_default().add(time);
            self.hand_on(shared, &demand);
        }
        given.iter().all(|given| *given)
    }
}

/// Until nothing is left that can be given back.
async fn give_all_back(shared: &Arc<LimitObject>) {
    let reservations = shared.reservations();
    // Few requests are in vain if others have charged since.
    let mut most = 1;
    loop {
        let (demands, times) = reservations.demands().take_last(most);
        if times.is_empty() {
            break;
        }
        let given = shared.give_back(&times).await;
        let all = reservations.demands().keep(shared, demands, times, &given);
        most = if all { MOST.min(2 * most) } else { 1 };
    }
    reservations.demands().serve(shared);
    if reservations.demands().closed {
        for pocket in shared.pockets().all() {
            pocket.give_back().await;
        }
    }
}
