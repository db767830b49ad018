//! What a limiter answers while its server cannot be reached.

use std::time::Duration;

use super::answer::Answer;
use super::decision::Decision;
use super::object::LimitObject;
use super::rate::{Algorithm, Rate};
use super::rates::Rates;
use super::reservations::By;
use super::shares::instant;
use super::step::Judge;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::objects::ObjectKind;
use crate::step::WrongType;
use crate::time::Tick;

/// The policy of a limiter for the time in which its server cannot be reached, loses a reply, or refuses for now (it loads its
/// data, is a replica, ...). With a policy other than [`Absent::Fail`] a call is answered within `response_timeout`, and at
/// once while the server is known to be away: from the first call that was decided without it until it answers again.
/// [`Absent::Fail`] answers within `operation_timeout`, and at once when that has been in vain before: a call got no reply for
/// `response_timeout`, or the server refused or could not be reached for `operation_timeout`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Absent {
    /// The error, for the caller to decide.
    #[default]
    Fail,
    /// Refuses.
    Deny,
    /// Grants without counting.
    Allow,
    /// Grants this client's share, which it counts by itself in the same way: one `of`th of each rate and of its burst (of which
    /// one token at least); by GCRA where the limiter is kept as Redisson's. 1 to 1,000,000.
    LocalShare {
        /// Among how many clients the rate is shared.
        of: u32,
    },
}

const MOST_SHARES: u32 = 1_000_000;

/// One `of`th of a rate.
fn share(rate: &Rate, of: u32) -> Rate {
    let longer =
        |per: Duration, times: u64| per.checked_mul(u32::try_from(times).unwrap_or(u32::MAX)).unwrap_or(Duration::MAX);
    let (tokens, parts) = (rate.tokens(), u64::from(of));
    match rate.algorithm() {
        // Redisson's log has no twin in the client.
        Algorithm::Gcra | Algorithm::Redisson { .. } => {
            Rate::new(tokens, longer(rate.per(), parts)).burst((rate.limit() / parts).max(1))
        }
        by if tokens == 0 || tokens >= parts => Rate::new(tokens / parts, rate.per()).by(by),
        // Less than one token in a period.
        by => Rate::new(1, longer(rate.per(), parts.div_ceil(tokens))).by(by),
    }
}

/// A policy that has been checked, with the rates that it needs.
#[derive(Clone, Debug)]
pub(super) struct CheckedPolicy {
    policy: Absent,
    rates: Rates,
}

impl CheckedPolicy {
    pub(super) fn new(policy: Absent, rates: &Rates) -> Result<CheckedPolicy> {
        let Absent::LocalShare { of } = policy else {
            return Ok(CheckedPolicy { policy, rates: rates.clone() });
        };
        if !(1..=MOST_SHARES).contains(&of) {
            let what = format_args!("local share of one in {of} is out of range");
            let allowed = format!("one in 1 to {MOST_SHARES}");
            return Err(Error::refused(ErrorKind::InvalidArgument, LimitObject::KIND, what, allowed));
        }
        let rates = Rates::from(rates.iter().map(|rate| share(rate, of)).collect::<Vec<Rate>>());
        rates.iter().try_for_each(Rate::check)?;
        Ok(CheckedPolicy { policy, rates })
    }

    /// Whether there is an answer without a server.
    pub(super) fn answers_alone(&self) -> bool {
        self.policy != Absent::Fail
    }

    /// The answer to `cost`, within `wait` from `now` on, when asking has failed with `error`.
    pub(super) fn decide(
        &self,
        shared: &LimitObject,
        cost: u64,
        wait: Duration,
        now: Tick,
        error: Error,
    ) -> Result<Answer> {
        let answer = match self.policy {
            Absent::Fail => return Err(error),
            Absent::Deny => Answer::Decided(Decision::deny(&self.rates, cost)),
            Absent::Allow => Answer::Decided(Decision::allow(&self.rates, cost)),
            Absent::LocalShare { .. } => {
                let step = Judge::new(&self.rates, cost).within(wait);
                match shared.shares().run(shared.name(), &step, now) {
                    Ok(judged) => Answer::of(&self.rates, cost, judged, instant(now), By::Share, (now, now)),
                    // Limiters of one name that count in different ways.
                    Err(WrongType) => Answer::Decided(Decision::deny(&self.rates, cost)),
                }
            }
        };
        if shared.shares().set_alone(true) {
            let message = format!(
                "decided by its policy ({}), as others of this client will be until the server answers: {}",
                self.word(),
                error.message()
            );
            shared.client().events.emit(Level::Warn, Some(shared.name().as_str()), message);
        }
        Ok(answer)
    }

    /// Called with every answer of the server.
    pub(super) fn server_is_back(&self, shared: &LimitObject) {
        shared.shares().set_failing(false);
        if shared.shares().set_alone(false) {
            shared.client().events.emit(Level::Info, Some(shared.name().as_str()), "the server decides again");
        }
    }

    fn word(&self) -> &'static str {
        match self.policy {
            Absent::Fail => "fail",
            Absent::Deny => "deny",
            Absent::Allow => "allow",
            Absent::LocalShare { .. } => "local share",
        }
    }
}
