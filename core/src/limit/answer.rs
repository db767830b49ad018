//! What asking for tokens brought.

use std::time::Duration;

use super::clocks::Charged;
use super::decision::Decision;
use super::rates::Rates;
use super::reservations::By;
use super::step::{Judged, Stood};
use super::times::Reserved;
use crate::time::Tick;

#[expect(clippy::large_enum_variant, reason = "taken apart as soon as it is there")]
pub(super) enum Answer {
    Decided(Decision),
    /// Charged, for later.
    Reserved(Reserved),
}

impl Answer {
    /// Answers a caller from a judgement that was requested at `sent` and arrived at `heard`; `now` in us since 2025.
    pub(super) fn of(
        rates: &Rates,
        cost: u64,
        judged: Judged,
        now: u64,
        by: By,
        (sent, heard): (Tick, Tick),
    ) -> Answer {
        let later = judged.at.saturating_sub(now);
        // What can never be granted has only been looked at.
        if !judged.allowed || rates.grantable(cost) == 0 || later == 0 {
            return Answer::Decided(Decision::of(rates, cost, &judged, now));
        }
        // From when the answer came, not from when the question was sent: never sooner than on the clock that it was judged by.
        let wait = Duration::from_micros(later);
        let decision = Decision::of(rates, cost, &judged, judged.at);
        let charged = Charged { now, at: judged.at, sent, heard };
        let (rates, stood) = (rates.clone(), Stood { before: judged.before, after: judged.standings });
        Answer::Reserved(Reserved { due: heard.plus(wait), wait, decision, rates, cost, stood, by, charged })
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
