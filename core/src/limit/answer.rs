//! What asking for tokens brought.

use std::time::Duration;

use super::decision::Decision;
use super::rate::Rate;
use super::reservations::{By, Reserved};
use super::tat::Span;
use crate::time::Tick;

pub(super) enum Answer {
    Decided(Decision),
    /// Charged, for later.
    Reserved(Reserved),
}

impl Answer {
    /// What follows from a theoretical arrival time after a request at `now`, whose answer came at `heard`.
    pub(super) fn of(rate: Rate, cost: u64, allowed: bool, now: Span, tat: Span, by: By, heard: Tick) -> Answer {
        let unit = rate.unit();
        let used = tat.work(unit).saturating_sub(now.work(unit));
        let later = used.saturating_sub(rate.work(rate.limit()));
        if !allowed || cost == 0 || later == 0 {
            return Answer::Decided(Decision::from_used(rate, cost, allowed, used));
        }
        // From when the answer came, not from when the question was sent: never sooner than on the clock that it was judged by.
        let wait = Duration::from_micros(u64::try_from(later.div_ceil(u128::from(unit))).unwrap_or(u64::MAX));
        let then = Span { us: now.us.saturating_add(wait.as_micros() as u64), part: now.part };
        let decision = Decision::from_used(rate, cost, true, tat.work(unit).saturating_sub(then.work(unit)));
        Answer::Reserved(Reserved { due: heard.plus(wait), wait, decision, rate, cost, tat, by })
    }

    /// The same, decided on the server's clock.
    pub(super) fn on_server(self, now: std::time::SystemTime) -> Answer {
        match self {
            Answer::Decided(decision) => Answer::Decided(Decision { server_time: Some(now), ..decision }),
            Answer::Reserved(reserved) => {
                let decision = Decision { server_time: Some(now + reserved.wait), ..reserved.decision };
                Answer::Reserved(Reserved { decision, ..reserved })
            }
        }
    }
}
