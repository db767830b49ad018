use super::super::super::rate::Rate;
use super::super::super::tat::{Span, Stored};
use super::super::Standing;
use super::super::numbers::Numbers;
use super::{Asked, LONGEST};
use crate::step::WrongType;

/// A theoretical arrival time, no sooner than now.
#[derive(Clone, Debug)]
pub(in super::super) struct Bucket {
    pub(in super::super) tat: Span,
}

impl Bucket {
    /// Beyond the horizon lie reservations. Else it is what a step of the server's clock, or another rate, has left there, and
    /// is pulled back. Reservations move with a clock that steps back: all of them are as far ahead as they were.
    pub(super) fn read(text: Option<&str>, asked: Asked<'_>) -> Result<(Bucket, bool), WrongType> {
        let Asked { numbers: Numbers { tokens: unit, .. }, now, .. } = asked;
        let stored = text.map(|text| Stored::parse(text, *unit).ok_or(WrongType)).transpose()?;
        let Stored { tat, at } = stored.unwrap_or_default();
        let top = top(asked);
        let most = Span { us: top.us.saturating_add(LONGEST), ..top };
        let (tat, moved) = match at {
            Some(at) if at > now => (tat.minus(Span { us: at - now, part: 0 }, *unit), true),
            Some(_) => (tat, false),
            None => (tat.min(top), tat > top),
        };
        Ok((Bucket { tat: tat.min(most).max(Span { us: now, part: 0 }) }, moved || tat > most))
    }

    pub(in crate::limit::step) fn due(&self, asked: Asked<'_>) -> u64 {
        let Numbers { tokens: unit, cost, horizon, .. } = *asked.numbers;
        let due = self.tat.plus(cost, unit).minus(horizon, unit);
        due.us + u64::from(due.part > 0)
    }

    pub(super) fn charge(&mut self, asked: Asked<'_>, at: u64) {
        // Another rate, or a block, says later: until then the bucket fills.
        if at > self.tat.us + u64::from(self.tat.part > 0) {
            self.tat = Span { us: at, part: 0 };
        }
        self.tat = self.tat.plus(asked.numbers.cost, asked.numbers.tokens);
    }

    pub(in crate::limit::step) fn take_back(&mut self, asked: Asked<'_>) {
        let less = self.tat.minus(asked.numbers.cost, asked.numbers.tokens);
        self.tat = less.max(Span { us: asked.now, part: 0 });
    }

    pub(super) fn restore(&mut self, asked: Asked<'_>, [us, part, _]: Standing) {
        self.tat = Span { us, part };
        if us < asked.now {
            self.tat = Span { us: asked.now, part: 0 };
        }
    }

    pub(super) fn text(&self, asked: Asked<'_>) -> String {
        let at = (self.tat > top(asked)).then_some(asked.now);
        Stored { tat: self.tat, at }.text(asked.numbers.tokens)
    }
}

/// Up to where the bucket has tokens now.
pub(super) fn top(asked: Asked<'_>) -> Span {
    Span { us: asked.now, part: 0 }.plus(asked.numbers.horizon, asked.numbers.tokens)
}

pub(super) fn outlook(rate: &Rate, [us, part, _]: Standing, at: u64) -> (u64, u64) {
    let unit = rate.unit();
    let used = Span { us, part }.work(unit).saturating_sub(Span { us: at, part: 0 }.work(unit));
    let remaining = rate.work(rate.limit()).saturating_sub(used) / rate.work(1).max(1);
    (remaining as u64, used.div_ceil(u128::from(unit)) as u64)
}

pub(super) fn soonest(rate: &Rate, [us, part, _]: Standing, at: u64, tokens: u64) -> u64 {
    let unit = rate.unit();
    let after = Span { us, part }.work(unit) + rate.work(tokens);
    let there = rate.work(rate.limit()) + Span { us: at, part: 0 }.work(unit);
    u64::try_from(after.saturating_sub(there) / u128::from(unit)).unwrap_or(u64::MAX)
}
