//! What every step of a limiter knows of a request: its cost and the horizon, in the parts of its rate.

use super::super::rate::{LONGEST_US, Rate};
use super::super::tat::{Span, Stored};
use crate::step::Call;

#[derive(Clone, Copy, Debug)]
pub(super) struct Scale {
    /// In how many parts a microsecond is counted.
    pub(super) unit: u64,
    /// What the request pushes the theoretical arrival time on by; zero only looks.
    pub(super) cost: Span,
    /// How far ahead of now it may lie for what is granted now.
    pub(super) horizon: Span,
}

impl Scale {
    pub(super) fn new(rate: Rate, cost: u64) -> Scale {
        // A rate of nothing grants nothing and charges nothing: it only looks.
        let cost = if rate.tokens() == 0 { 0 } else { cost };
        Scale { unit: rate.unit(), cost: rate.span(cost), horizon: rate.span(rate.limit()) }
    }

    pub(super) fn encode(&self, call: &mut Call) {
        let Scale { unit, cost, horizon } = *self;
        [unit, cost.us, cost.part, horizon.us, horizon.part].into_iter().for_each(|number| call.args.number(number));
    }

    /// Up to where the bucket has tokens now.
    pub(super) fn top(&self, now: Span) -> Span {
        now.plus(self.horizon, self.unit)
    }

    /// The theoretical arrival time that counts, no sooner than now, and whether a step of the clock has moved it.
    ///
    /// Beyond the horizon lie reservations. Else it is what a step of the server's clock, or another rate, has left there, and
    /// is pulled back. Reservations move with a clock that steps back: all of them are as far ahead as they were.
    pub(super) fn settle(&self, stored: Stored, now: Span) -> (Span, bool) {
        let top = self.top(now);
        let most = Span { us: top.us.saturating_add(LONGEST_US), ..top };
        let (tat, moved) = match stored.at {
            Some(at) if at > now.us => (stored.tat.minus(Span { us: at - now.us, part: 0 }, self.unit), true),
            Some(_) => (stored.tat, false),
            None => (stored.tat.min(top), stored.tat > top),
        };
        (tat.min(most).max(now), moved || tat > most)
    }

    /// What is to be stored for this theoretical arrival time.
    pub(super) fn stored(&self, tat: Span, now: Span) -> Stored {
        Stored { tat, at: (tat > self.top(now)).then_some(now.us) }
    }
}
