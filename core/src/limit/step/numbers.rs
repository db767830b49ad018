//! What the scripts know of a rate and of a request to it: a letter for the algorithm, and five numbers.

use super::super::rate::{Algorithm, Rate};
use super::super::tat::Span;
use crate::step::Call;

/// The largest number of which a Lua number, a double, holds all that are smaller.
pub(super) const LARGEST: u64 = (1 << 53) - 1;

#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    pub(super) algorithm: Algorithm,
    /// The tokens of one period; one at least, so that a rate of none can be looked at.
    pub(super) tokens: u64,
    pub(super) per_us: u64,
    /// Of GCRA: what the request pushes the theoretical arrival time on by, and how far ahead it may lie for what is granted now.
    pub(super) cost: Span,
    pub(super) horizon: Span,
}

impl Numbers {
    /// For a request of `cost`; of 0, which only looks, for one token.
    pub(super) fn new(rate: &Rate, cost: u64) -> Numbers {
        Numbers {
            algorithm: rate.algorithm(),
            tokens: rate.unit(),
            per_us: rate.per_us(),
            cost: rate.span(cost.max(1)),
            horizon: rate.span(rate.limit()),
        }
    }

    /// Of GCRA, for a length of the theoretical time instead of a cost.
    pub(super) fn of_length(rate: &Rate, length: Span) -> Numbers {
        Numbers { cost: length, ..Numbers::new(rate, 1) }
    }

    pub(super) fn encode(&self, call: &mut Call) {
        let Numbers { algorithm, tokens, per_us, cost, horizon } = *self;
        let (letter, numbers) = match algorithm {
            Algorithm::Gcra => ("g", [tokens, cost.us, cost.part, horizon.us, horizon.part]),
            Algorithm::FixedWindow => ("w", [tokens, per_us, 0, 0, 0]),
            Algorithm::AlignedWindow => ("a", [tokens, per_us, 0, 0, 0]),
            Algorithm::SlidingLog | Algorithm::Redisson { .. } => ("l", [tokens, per_us, 0, 0, 0]),
            Algorithm::SlidingCounter => ("c", [tokens, per_us, 0, 0, 0]),
        };
        call.args.push(letter);
        numbers.into_iter().for_each(|number| call.args.number(number));
    }
}
