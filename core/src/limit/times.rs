//! The times that are reserved for callers who ask for the same.

use std::collections::VecDeque;
use std::time::Duration;

use smallvec::SmallVec;

use super::clocks::{Charged, ClockId};
use super::decision::Decision;
use super::rates::Rates;
use super::reservations::By;
use super::step::{GiveBack, Standing, Stood, soonest};
use crate::time::Tick;

/// Tokens that were charged, and when they may be used.
#[derive(Clone, Debug)]
pub(super) struct Reserved {
    pub(super) due: Tick,
    /// Time until `due` when it was reserved.
    pub(super) wait: Duration,
    /// Answer that the caller gets then.
    pub(super) decision: Decision,
    /// The rates that they were charged by, how many, and how the rates stood before it and after it.
    pub(super) rates: Rates,
    pub(super) cost: u64,
    pub(super) stood: Stood,
    pub(super) by: By,
    pub(super) charged: Charged,
}

impl Reserved {
    pub(super) fn giving_back(&self) -> GiveBack {
        GiveBack::new(&self.rates, self.cost, self.stood.clone())
    }
}

/// The place of a charge among the others of its clock. Within a microsecond a later one leaves the rates with more.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    clock: ClockId,
    now: u64,
    after: SmallVec<[Standing; 1]>,
}

/// A reserved time, and the clock that it was charged by.
#[derive(Debug)]
pub(super) struct Time {
    pub(super) reserved: Reserved,
    pub(super) clock: ClockId,
}

impl Time {
    pub(super) fn due(&self) -> Tick {
        self.reserved.due
    }

    pub(super) fn place(&self) -> Place {
        Place { clock: self.clock, now: self.reserved.charged.now, after: self.reserved.stood.after.clone() }
    }

    /// By one clock, what may be used later was charged later.
    pub(super) fn order(&self) -> (u64, u64, &[Standing]) {
        let Charged { now, at, .. } = self.reserved.charged;
        (at, now, &self.reserved.stood.after)
    }

    /// The soonest time at which the last of `tokens` is due that are charged after it.
    pub(super) fn next(&self, tokens: u64) -> Tick {
        let Reserved { rates, stood, charged, .. } = &self.reserved;
        let us = rates.iter().zip(&stood.after).map(|(rate, standing)| soonest(rate, *standing, charged.at, tokens));
        self.due().plus(Duration::from_micros(us.max().unwrap_or(0)))
    }
}

/// By when they are due, those that are due at the same time as they were charged.
#[derive(Debug, Default)]
pub(super) struct Times {
    times: VecDeque<Time>,
    /// Whether they may be of several clocks.
    mixed: bool,
}

impl Times {
    /// Says when it is due, which may be sooner than its own answer said: by one clock, what comes later is due no sooner, and
    /// some answers take longer than others.
    pub(super) fn add(&mut self, mut time: Time) -> Tick {
        self.mixed = self.times.back().is_some_and(|last| self.mixed || last.clock != time.clock);
        if self.mixed {
            return self.add_to_several(time);
        }
        let mut at = self.times.len();
        while at > 0 && self.times[at - 1].order() > time.order() {
            at -= 1;
        }
        if let Some(next) = self.times.get(at) {
            time.reserved.due = time.due().min(next.due());
        }
        let due = time.due();
        self.times.insert(at, time);
        for earlier in self.times.range_mut(..at).rev() {
            if earlier.due() <= due {
                break;
            }
            earlier.reserved.due = due;
        }
        due
    }

    /// Times of different clocks have no order but that in which they are due.
    fn add_to_several(&mut self, mut time: Time) -> Tick {
        let of_its_clock = |other: &&mut Time| other.clock == time.clock;
        let behind = self.times.iter_mut().filter(of_its_clock).filter(|other| other.order() > time.order());
        let due = behind.map(|other| other.due()).fold(time.due(), Tick::min);
        for earlier in self.times.iter_mut().filter(of_its_clock).filter(|other| other.order() <= time.order()) {
            earlier.reserved.due = earlier.due().min(due);
        }
        time.reserved.due = due;
        let clock = time.clock;
        self.times.push_back(time);
        let times = self.times.make_contiguous();
        times.sort_by(|one, other| (one.due(), one.clock, one.order()).cmp(&(other.due(), other.clock, other.order())));
        self.mixed = times.iter().any(|other| other.clock != clock);
        due
    }

    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub(super) fn first(&self) -> Option<&Reserved> {
        self.times.front().map(|first| &first.reserved)
    }

    pub(super) fn take_first(&mut self) {
        self.times.pop_front();
    }

    pub(super) fn last(&self) -> Option<&Time> {
        self.times.back()
    }

    /// The first that is left when each of the callers has one.
    pub(super) fn left_over(&self, callers: usize) -> Option<&Reserved> {
        self.times.get(callers).map(|time| &time.reserved)
    }

    /// All that are left then, and where. Without any of these each of the callers still has the time that it has.
    pub(super) fn all_left_over(&self, callers: usize) -> impl Iterator<Item = (usize, &Time)> {
        self.times.iter().enumerate().skip(callers)
    }

    pub(super) fn remove(&mut self, at: usize) -> Option<Time> {
        self.times.remove(at)
    }

    /// Tokens that nobody took in time may have flown over.
    pub(super) fn forget_before(&mut self, now: Tick) {
        self.times.retain(|time| time.due() >= now);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::limit::Rate;
    use crate::limit::clocks::Clocks;

    /// Charged at `now` for `at` on a clock that is `ahead` of the client's, and heard of `late` later, all in us.
    fn time(clocks: &mut Clocks, now: u64, at: u64, late: u64, ahead: u64) -> Time {
        let tick = |us: u64| Tick(us * 1_000);
        let (sent, heard) = (tick(now), tick(now + late));
        let charged = Charged { now: now + ahead, at: at + ahead, sent, heard };
        let (rates, wait) = (Rates::from(Rate::new(1, Duration::from_secs(1))), Duration::from_micros(at - now));
        let stood = Stood { before: [[0; 3]].into(), after: [[at, now, 0]].into() };
        let decision = Decision::allow(&rates, 1);
        let reserved =
            Reserved { due: heard.plus(wait), wait, decision, rates, cost: 1, stood, by: By::Server, charged };
        Time { clock: clocks.of(By::Server, &reserved.charged), reserved }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// Many charges for each time, as of windows, answers that come in any order, and once another server.
        #[test]
        fn what_was_charged_last_is_the_last(
            charges in prop::collection::vec((0..2_000u64, 0..3_000u64, any::<u32>()), 1..60),
            window in 1..20_000u64,
            failover in 0..90usize,
        ) {
            let (mut clocks, mut now, mut answers) = (Clocks::default(), 50_000_000u64, Vec::new());
            for (number, (pause, late, _)) in charges.iter().enumerate() {
                let ahead = if number < failover { 7_000_000_000 } else { 0 };
                now += pause + 1;
                let at = now - now % window + 4 * window;
                answers.push((now + late, time(&mut clocks, now, at, *late, ahead)));
            }
            let own: Vec<(Place, Tick)> = answers.iter().map(|(_, time)| (time.place(), time.due())).collect();
            answers.sort_by_key(|(heard, _)| *heard);
            let mut times = Times::default();
            for (_, time) in answers {
                let due = time.due();
                prop_assert!(times.add(time) <= due);
            }
            let all: Vec<&Time> = times.all_left_over(0).map(|(_, time)| time).collect();
            prop_assert!(all.iter().map(|time| time.due()).is_sorted());
            for time in &all {
                let place = time.place();
                let (_, due) = own.iter().find(|(other, _)| *other == place).expect("one of them");
                let real_us = time.reserved.charged.at - if place.clock == own[0].0.clock && failover > 0 { 7_000_000_000 } else { 0 };
                prop_assert!(time.due() <= *due && time.due().0 >= real_us * 1_000, "{time:?}");
            }
            for clock in own.iter().map(|(place, _)| place.clock) {
                prop_assert!(all.iter().map(|time| time.place()).filter(|place| place.clock == clock).is_sorted());
            }
        }
    }
}
