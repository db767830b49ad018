//! The rate limiter: so many tokens a period, a burst of so many at once, shared by every process that uses the name.
//!
//! The algorithm is GCRA, the generic cell rate algorithm of ATM networks: one stored instant, the *theoretical arrival
//! time* (TAT) at which the bucket will be full again. A request pushes it on by its cost and is refused when it would then
//! lie further ahead than the whole burst takes to refill. Everything is judged by the server's clock, in exact fractions
//! of a microsecond (`tat.rs`), so a limiter neither drifts nor depends on who asks.
//!
//! A decision is never asked for twice: one whose reply was lost counts as spent. `docs/protocol.md` tells what stands on
//! the server.

mod absent;
mod decision;
mod direct;
#[cfg(test)]
mod model_test;
#[cfg(test)]
mod oracle_test;
mod rate;
mod shared;
mod shares;
mod step;
mod tat;

use std::fmt;
use std::sync::Arc;

pub use absent::Absent;
pub use decision::Decision;
pub use rate::Rate;
pub(crate) use shared::LimitShared;
pub(crate) use shares::Shares;
pub(crate) use step::LimitState;

use self::absent::Stand;
use self::step::{Gcra, Judged, Reset};
use crate::backend::{Done, Failed};
use crate::deadline::{Wait, by_deadline};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::error::{Error, Result};
use crate::step::Step;
use crate::time::Tick;
use crate::wait::{Turn, while_open};

/// How a [`RateLimiter`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimiterOptions {
    /// What it lets through.
    pub rate: Rate,
    /// What it answers while the server cannot be reached; an error by default.
    pub absent: Absent,
}

impl LimiterOptions {
    /// This rate, and an error while the server cannot be reached.
    pub fn new(rate: Rate) -> LimiterOptions {
        LimiterOptions { rate, absent: Absent::default() }
    }
}

/// A named rate limiter. Cheap to clone; all limiters that any process makes of one name share one bucket.
///
/// Whoever shares a name should give the same [`Rate`]: each call is judged by the rate it comes with, and one whose burst
/// refills sooner forgives what lies beyond its own horizon.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use std::time::Duration;
/// use libdlock::{Client, Rate, Wait};
///
/// let client = Client::connect("memory://").await?;
/// let api = client.rate_limiter("api", Rate::new(100, Duration::from_secs(1)).burst(20))?;
/// let decision = api.try_acquire(1).await?;
/// assert!(decision.allowed && decision.remaining == 19);
/// // Waits its turn, a second at most.
/// assert!(api.acquire(20, Wait::For(Duration::from_secs(1))).await?.allowed);
/// # Ok::<(), libdlock::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct RateLimiter {
    shared: Arc<LimitShared>,
    rate: Rate,
    stand: Stand,
}

impl RateLimiter {
    pub(crate) fn new(shared: Arc<LimitShared>, options: LimiterOptions) -> Result<RateLimiter> {
        let on = |error: Error| error.on(shared.name().as_str());
        options.rate.check().map_err(on)?;
        let stand = Stand::new(options.absent, options.rate).map_err(on)?;
        Ok(RateLimiter { shared, rate: options.rate, stand })
    }

    /// The name that it was made with. On the server the client's `key_prefix` stands before it, and so it does in errors and
    /// events, for whoever looks for the key there.
    pub fn name(&self) -> &str {
        self.shared.name().as_given()
    }

    /// The name on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.shared.name().as_str()
    }

    /// What it lets through.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// Takes `cost` tokens if they are there now. Does not wait, and may overtake those who do. A cost of 0 only looks, see
    /// [`RateLimiter::peek`]; a rate of 0 tokens refuses every cost.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for a cost above the burst, which could never be granted.
    /// [`ErrorKind::OutcomeUnknown`] when the reply was lost: count the tokens as spent. [`ErrorKind::Connection`] when the
    /// server was not reached: nothing was spent. Neither comes under a policy other than [`Absent::Fail`].
    /// [`ErrorKind::WrongType`] when the key holds something else; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may have spent the tokens.
    pub async fn try_acquire(&self, cost: u64) -> Result<Decision> {
        self.check(cost)?;
        let deadline = self.deadline();
        self.while_open(Gcra::OP, self.judge(cost, deadline)).await?
    }

    /// Takes `cost` tokens, waiting for them at most as long as `wait` says. Those who wait in one process are served in the
    /// order in which they came, each by one timer; a wait that cannot be long enough is refused at once, and so is any under
    /// a rate of 0 tokens.
    ///
    /// A decision that is under way when the time is over is waited for, up to `response_timeout`. One whose time is over
    /// before its turn came is refused without the server: `server_time` is `None`, and the rest is as far as is known.
    ///
    /// # Errors
    /// As [`RateLimiter::try_acquire`]; [`ErrorKind::InvalidArgument`] for the wait; [`ErrorKind::Closed`].
    ///
    /// # Cancel safety
    /// Dropping the future gives up the place in the line, and spends nothing unless a decision was under way.
    pub async fn acquire(&self, cost: u64, wait: Wait) -> Result<Decision> {
        self.check(cost)?;
        let Some(until) = self.until(wait, cost)? else {
            return self.try_acquire(cost).await;
        };
        self.while_open(Gcra::OP, self.wait_until(until, cost)).await?
    }

    /// Says how things stand for one token, and spends nothing: `allowed` when it could be had now.
    ///
    /// # Errors
    /// As [`RateLimiter::try_acquire`].
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn peek(&self) -> Result<Decision> {
        self.try_acquire(0).await
    }

    /// Fills the bucket, for everybody. For operators and tests. Those who wait already keep to their timers.
    ///
    /// # Errors
    /// [`ErrorKind::OutcomeUnknown`] when no reply came (it is not sent twice); else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn reset(&self) -> Result<()> {
        self.shared.client().check_open(Reset::OP).map_err(|error| error.on(self.key()))?;
        let deadline = self.shared.client().operation_deadline();
        let reset = self.shared.client().backend.run(self.shared.name(), &Reset, deadline);
        self.while_open(Reset::OP, reset).await?.map(drop).map_err(|failed| failed.error)
    }

    /// Until when a wait for so many tokens goes on; `None` for what does not wait.
    fn until(&self, wait: Wait, cost: u64) -> Result<Option<Tick>> {
        let until = wait.until(Gcra::OP, &self.shared.client().clock).map_err(|error| error.on(self.key()))?;
        Ok(until.filter(|_| cost > 0))
    }

    fn check(&self, cost: u64) -> Result<()> {
        self.shared.client().check_open(Gcra::OP).map_err(|error| error.on(self.key()))?;
        self.rate.check_cost(Gcra::OP, cost).map_err(|error| error.on(self.key()))
    }

    /// The first in line asks; when it is refused it sleeps until its tokens are there, and asks again.
    async fn wait_until(&self, until: Tick, cost: u64) -> Result<Decision> {
        let clock = &self.shared.client().clock;
        let Some(turn) = by_deadline(clock, until, self.shared.line().turn()).await else {
            return Ok(self.shared.refused_in_line(self.rate, cost, clock.now()));
        };
        self.wait_as_first(turn, until, cost, None).await
    }

    /// Waits as the first in line, with the last decision if there was one.
    async fn wait_as_first(&self, _turn: Turn, until: Tick, cost: u64, mut last: Option<Decision>) -> Result<Decision> {
        let clock = &self.shared.client().clock;
        loop {
            let decision = match last.take() {
                Some(decision) => decision,
                None => {
                    let longest = until.max(clock.now().plus(self.shared.client().options.response_timeout));
                    self.judge(cost, self.deadline().min(longest)).await?
                }
            };
            let Some(pause) = decision.retry_after.filter(|_| !decision.allowed) else {
                return Ok(decision);
            };
            let next = clock.now().plus(pause);
            if next > until {
                return Ok(decision);
            }
            self.shared.head_waits_until(next);
            clock.sleep_until(next).await;
        }
    }

    /// One decision: the server's, or the policy's when there is no server.
    async fn judge(&self, cost: u64, deadline: Tick) -> Result<Decision> {
        let step = Gcra::new(self.rate, cost);
        let judged = self.shared.client().backend.run(self.shared.name(), &step, deadline).await;
        self.answer(cost, judged)
    }

    fn answer(&self, cost: u64, judged: Result<Done<Judged>, Failed>) -> Result<Decision> {
        match judged {
            Ok(done) => {
                self.shared.saw(done.reply, self.shared.client().clock.now());
                self.stand.server_is_back(&self.shared);
                Ok(Decision::of(self.rate, cost, done.reply))
            }
            Err(failed) if failed.away => self.stand.decide(&self.shared, cost, failed.error),
            Err(failed) => Err(failed.error),
        }
    }

    /// A limiter that has an answer of its own does not make its caller wait for a server that is away.
    fn deadline(&self) -> Tick {
        let client = self.shared.client();
        match self.stand.is_policy() {
            true => client.clock.now().plus(client.options.response_timeout.min(client.options.operation_timeout)),
            false => client.operation_deadline(),
        }
    }

    async fn while_open<T>(&self, op: &'static str, work: impl Future<Output = T>) -> Result<T> {
        while_open(op, &self.shared.client().tasks, work).await.map_err(|error| error.on(self.key()))
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter").field("name", self.shared.name()).field("rate", &self.rate).finish()
    }
}
