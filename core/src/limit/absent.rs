//! What a limiter answers while its server cannot be reached.

use std::time::Duration;

use super::decision::Decision;
use super::rate::Rate;
use super::shared::LimitShared;
use super::step::Gcra;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;

/// The policy of a limiter for the time in which its server cannot be reached, loses a reply, or refuses for now (it loads its
/// data, is a replica, ...). With a policy other than [`Absent::Fail`] a call is answered within `response_timeout`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
pub(super) struct Stand {
    policy: Absent,
    rate: Rate,
}

impl Stand {
    pub(super) fn new(policy: Absent, rate: Rate) -> Result<Stand> {
        let Absent::LocalShare { of } = policy else {
            return Ok(Stand { policy, rate });
        };
        if !(1..=MOST_SHARES).contains(&of) {
            let message = format!("a local share of one in {of} is not possible; it is one in 1 to {MOST_SHARES}");
            return Err(Error::new(ErrorKind::InvalidArgument, "rate limiter", message));
        }
        let per = rate.per().checked_mul(of).unwrap_or(Duration::MAX);
        let share = Rate::new(rate.tokens(), per).burst((rate.limit() / u64::from(of)).max(1));
        share.check()?;
        Ok(Stand { policy, rate: share })
    }

    /// Whether there is an answer without a server.
    pub(super) fn is_policy(&self) -> bool {
        self.policy != Absent::Fail
    }

    /// The answer to `cost` when asking has failed with `error`.
    pub(super) fn decide(&self, shared: &LimitShared, cost: u64, error: Error) -> Result<Decision> {
        let decision = match self.policy {
            Absent::Fail => return Err(error),
            Absent::Deny => Decision::deny(self.rate, cost),
            Absent::Allow => Decision::allow(self.rate, cost),
            Absent::LocalShare { .. } if cost > self.rate.limit() => Decision::deny(self.rate, cost),
            Absent::LocalShare { .. } => {
                let client = shared.client();
                let step = Gcra::new(self.rate, cost);
                let (allowed, used) = client.shares.charge(shared.name(), self.rate, &step, client.clock.now());
                Decision::from_used(self.rate, cost, allowed, used)
            }
        };
        if shared.client().shares.set_alone(true) {
            let message = format!(
                "decided by its policy ({}), as others of this client will be until the server answers: {}",
                self.word(),
                error.message()
            );
            shared.client().events.emit(Level::Warn, Some(shared.name().as_str()), message);
        }
        Ok(decision)
    }

    /// Called with every answer of the server.
    pub(super) fn server_is_back(&self, shared: &LimitShared) {
        if shared.client().shares.set_alone(false) {
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
