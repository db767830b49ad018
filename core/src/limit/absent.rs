//! What a limiter answers while its server cannot be reached.

use std::time::Duration;

use super::answer::Answer;
use super::decision::Decision;
use super::object::LimitObject;
use super::rate::Rate;
use super::reservations::By;
use super::step::Gcra;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::objects::ObjectKind;
use crate::time::Tick;

/// The policy of a limiter for the time in which its server cannot be reached, loses a reply, or refuses for now (it loads its
/// data, is a replica, ...). With a policy other than [`Absent::Fail`] a call is answered within `response_timeout`, and at
/// once while the server is known to be away: from the first call that was decided without it until it answers again.
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
    /// Grants this client's share: a bucket of its own with one `of`th of the rate and of the burst (of which one token at
    /// least). 1 to 1,000,000.
    LocalShare {
        /// Among how many clients the rate is shared.
        of: u32,
    },
}

const MOST_SHARES: u32 = 1_000_000;

/// A policy that has been checked, with the rate that it needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct CheckedPolicy {
    policy: Absent,
    rate: Rate,
}

impl CheckedPolicy {
    pub(super) fn new(policy: Absent, rate: Rate) -> Result<CheckedPolicy> {
        let Absent::LocalShare { of } = policy else {
            return Ok(CheckedPolicy { policy, rate });
        };
        if !(1..=MOST_SHARES).contains(&of) {
            let what = format_args!("local share of one in {of} is out of range");
            let allowed = format!("one in 1 to {MOST_SHARES}");
            return Err(Error::refused(ErrorKind::InvalidArgument, LimitObject::KIND, what, allowed));
        }
        let per = rate.per().checked_mul(of).unwrap_or(Duration::MAX);
        let share = Rate::new(rate.tokens(), per).burst((rate.limit() / u64::from(of)).max(1));
        share.check()?;
        Ok(CheckedPolicy { policy, rate: share })
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
            Absent::Deny => Answer::Decided(Decision::deny(self.rate, cost)),
            Absent::Allow => Answer::Decided(Decision::allow(self.rate, cost)),
            Absent::LocalShare { .. } if cost > self.rate.limit() => Answer::Decided(Decision::deny(self.rate, cost)),
            Absent::LocalShare { .. } => {
                let step = Gcra::new(self.rate, cost).within(wait);
                let (allowed, at, tat) = shared.shares().charge(shared.name(), self.rate, &step, now);
                Answer::of(self.rate, cost, allowed, at, tat, By::Share, now)
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
