//! A decision on the thread of a caller who may block: one round trip, without the hop to the runtime and back.

use super::step::Gcra;
use super::{Decision, RateLimiter};
use crate::backend::Directly;
use crate::deadline::Wait;
use crate::error::Result;
use crate::step::Step;
use crate::time::Tick;
use crate::wait::Turn;

/// What the calling thread could find out.
enum First {
    Decided(Decision),
    /// Nothing was asked.
    Unasked,
    /// Refused, and there is time to wait, first in line.
    Refused(Turn, Tick, Decision),
}

impl RateLimiter {
    /// As [`RateLimiter::acquire`], for a thread that may block: it asks the server itself, on a connection of its own of which
    /// there are as many as the option `blocking_connections` says, before this returns. That takes 40 ms at most. The future is
    /// the rest, which is nothing unless it has to wait or no such connection was free.
    ///
    /// Not for a thread that runs a runtime's tasks.
    ///
    /// # Errors
    /// As [`RateLimiter::acquire`], from the future. A decision without an answer in 40 ms is not asked for again: it is
    /// [`ErrorKind::OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown), or the policy's.
    ///
    /// # Cancel safety
    /// As [`RateLimiter::acquire`]; the tokens may be spent when this returns.
    pub fn acquire_directly(&self, cost: u64, wait: Wait) -> impl Future<Output = Result<Decision>> + Send + use<> {
        let (limiter, first) = (self.clone(), self.first(cost, wait));
        async move {
            match first? {
                First::Decided(decision) => Ok(decision),
                First::Unasked => limiter.acquire(cost, wait).await,
                First::Refused(turn, until, decision) => {
                    let waiting = limiter.wait_as_first(turn, until, cost, Some(decision));
                    limiter.while_open(Gcra::OP, waiting).await?
                }
            }
        }
    }

    fn first(&self, cost: u64, wait: Wait) -> Result<First> {
        self.check(cost)?;
        let until = self.until(wait, cost)?;
        // Who waits asks in its turn only.
        let turn = until.map(|until| self.shared.line().try_turn().map(|turn| (turn, until)));
        if matches!(turn, Some(None)) {
            return Ok(First::Unasked);
        }
        let client = self.shared.client();
        let judged = match client.backend.run_directly(self.shared.name(), &Gcra::new(self.rate, cost), self.deadline())
        {
            Directly::Done(done) => Ok(done),
            Directly::Failed(failed) => Err(failed),
            // The second is for idempotent steps.
            Directly::Unavailable | Directly::Unanswered(_) => return Ok(First::Unasked),
        };
        let decision = self.answer(cost, judged)?;
        Ok(match turn.flatten() {
            Some((turn, until)) if !decision.allowed => First::Refused(turn, until, decision),
            _ => First::Decided(decision),
        })
    }
}
