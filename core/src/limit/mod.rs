//! The rate limiter: so many tokens a period, a burst of so many at once, shared by every process that uses the name.
//!
//! The algorithm is GCRA, the generic cell rate algorithm of ATM networks: one stored instant, the *theoretical arrival
//! time* (TAT) at which the bucket will be full again. A request pushes it on by its cost and is refused when it would then
//! lie further ahead than the whole burst takes to refill. A wait pushes it further, and may use its tokens when that is within
//! reach: a reservation. Everything is judged by the server's clock, in exact fractions
//! of a microsecond (`tat.rs`), so a limiter neither drifts nor depends on who asks.
//!
//! A decision is never asked for twice: one whose reply was lost counts as spent. `docs/protocol` tells what stands on
//! the server.

mod absent;
mod answer;
mod decision;
mod limits;
#[cfg(test)]
mod model_test;
mod object;
#[cfg(test)]
mod oracle_test;
mod reservations;
mod rate;
mod shares;
mod step;
mod tat;

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use absent::Absent;
pub use decision::Decision;
pub(crate) use limits::Limits;
pub use rate::Rate;
#[cfg(test)]
pub(crate) use step::LimitState;

use self::absent::Stand;
use self::answer::Answer;
use self::reservations::{By, Reservations, Waiter};
use self::object::LimitObject;
use self::step::{Gcra, Judged, Reset};
use self::tat::Span;
use crate::backend::{Done, Failed};
use crate::wait::Wait;
use crate::error::{Error, Result};
use crate::step::Step;
use crate::time::Tick;
use crate::ended::{cut_off, while_open};

/// How a [`RateLimiter`] is made.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// use std::time::Duration;
///
/// use libdlock::limit::{Absent, LimiterOptions};
/// use libdlock::Rate;
///
/// // While the server is away, each of about four processes goes on with a quarter of the rate.
/// let rate = Rate::new(100, Duration::from_secs(1));
/// let api = client.rate_limiter_with("api", LimiterOptions::new(rate).absent(Absent::LocalShare { of: 4 }))?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

    /// Sets what it answers while the server cannot be reached.
    pub fn absent(mut self, absent: Absent) -> LimiterOptions {
        self.absent = absent;
        self
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
    shared: Arc<LimitObject>,
    rate: Rate,
    stand: Stand,
}

impl Limits {
    /// The limiter of this name. No I/O.
    pub(crate) fn open(self: &Arc<Self>, name: &str, options: LimiterOptions) -> Result<RateLimiter> {
        let name = self.context().name_of("rate limiter", name)?;
        let make = || LimitObject::new(name.clone(), self.clone());
        RateLimiter::new(self.context().objects.get_or_insert(&name, make), options)
    }
}

impl RateLimiter {
    fn new(shared: Arc<LimitObject>, options: LimiterOptions) -> Result<RateLimiter> {
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

    /// Takes `cost` tokens if they are there now. Does not wait, and is refused while others wait. A rate of 0 tokens refuses
    /// every cost.
    ///
    /// A cost of 0 asks how things stand for one token, in every call as in [`RateLimiter::peek`]: it spends nothing, never
    /// waits, is allowed when one token could be had now, and `retry_after` says when else.
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
        let asked_at = self.shared.client().clock.now();
        let decision = self.decide(cost).await?;
        self.count(cost, asked_at, &decision);
        Ok(decision)
    }

    async fn decide(&self, cost: u64) -> Result<Decision> {
        self.check(cost)?;
        let deadline = self.deadline();
        let asking = pin!(self.ask(Gcra::new(self.rate, cost), deadline));
        let judged = self.while_open(Gcra::OP, asking).await?;
        match self.answer(cost, None, judged)? {
            Answer::Decided(decision) => Ok(decision),
            // Only what waits is told of a later time.
            Answer::Reserved(reserved) => Ok(reserved.decision),
        }
    }

    /// Takes `cost` tokens, waiting for them at most as long as `wait` says. All that wait, in all processes, are served in the
    /// order in which their requests reach the server: a wait reserves its tokens with one request, and sleeps until they may be
    /// used. When that is later than the wait allows, it is refused at once; so is any wait under a rate of 0 tokens.
    ///
    /// A decision that is under way when the time is over is waited for, up to `response_timeout`.
    ///
    /// # Errors
    /// As [`RateLimiter::try_acquire`]; [`ErrorKind::Closed`].
    ///
    /// # Cancel safety
    /// Dropping the future gives the tokens back, to callers behind it in this client first. When other processes have reserved
    /// since, they stay with this client, for its next caller.
    pub async fn acquire(&self, cost: u64, wait: Wait) -> Result<Decision> {
        self.check(cost)?;
        let Some(until) = self.until(wait, cost)? else {
            return self.try_acquire(cost).await;
        };
        let client = self.shared.client();
        let (asked_at, _waiting) = (client.clock.now(), client.counters.limiter.waits());
        let decision = self.while_open(Gcra::OP, pin!(self.wait_until(until, cost))).await??;
        self.count(cost, asked_at, &decision);
        Ok(decision)
    }

    /// Counts what a call was told, but for one that only asked how things stand.
    fn count(&self, cost: u64, asked_at: Tick, decision: &Decision) {
        if cost == 0 {
            return;
        }
        let client = self.shared.client();
        let counts = &client.counters.limiter;
        match decision.allowed {
            true => counts.granted(decision.granted, client.clock.now().since(asked_at)),
            false => counts.refused(),
        }
        if decision.server_time.is_none() {
            counts.decided_by_policy();
        }
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

    /// Fills the bucket, for everybody. For operators and tests. Those that wait already keep their times.
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
        self.while_open(Reset::OP, pin!(reset)).await?.map(drop).map_err(|failed| failed.error)
    }

    /// Until when a wait for so many tokens goes on; `None` for what does not wait.
    fn until(&self, wait: Wait, cost: u64) -> Result<Option<Tick>> {
        let until = wait.until(&self.shared.client().clock);
        Ok(until.filter(|_| cost > 0))
    }

    fn check(&self, cost: u64) -> Result<()> {
        self.shared.client().check_open(Gcra::OP).map_err(|error| error.on(self.key()))?;
        self.rate.check_cost(Gcra::OP, cost).map_err(|error| error.on(self.key()))
    }

    async fn wait_until(&self, until: Tick, cost: u64) -> Result<Decision> {
        let arrival = self.shared.reservations().arrive();
        let (client, clock) = (self.shared.client(), &self.shared.client().clock);
        loop {
            if let Some(waiter) = Waiter::left_over(&self.shared, (self.rate, cost), arrival, until) {
                return Ok(waiter.wait(clock).await);
            }
            let longest = until.max(clock.now().plus(client.options.response_timeout));
            let asking = self.asking(cost, until, self.deadline().min(longest));
            let Some(mut asked) = client.tasks.operation(asking).await else {
                // A runtime that was shut down ends it too, and the client with it.
                let error = client.check_open(Gcra::OP).err().unwrap_or_else(|| cut_off(Gcra::OP, "the decision"));
                return Err(error.on(self.key()));
            };
            match asked.take()? {
                Answer::Reserved(reserved) => {
                    return Ok(Waiter::with(&self.shared, (self.rate, cost), arrival, reserved).wait(clock).await);
                }
                Answer::Decided(decision) => match self.again_at(&decision, until) {
                    Some(next) => clock.sleep_until(next).await,
                    None => return Ok(decision),
                },
            }
        }
    }

    /// When it is worth to ask again after this decision.
    fn again_at(&self, decision: &Decision, until: Tick) -> Option<Tick> {
        let pause = decision.retry_after.filter(|_| !decision.allowed)?;
        Some(self.shared.client().clock.now().plus(pause)).filter(|next| *next <= until)
    }

    /// One decision, which goes on when it is not awaited any more: what it brings is given back then.
    fn asking(&self, cost: u64, until: Tick, deadline: Tick) -> impl Future<Output = Asked> + Send + use<> {
        let limiter = self.clone();
        async move {
            let wait = limiter.left_until(Some(until));
            let judged = limiter.ask(Gcra::new(limiter.rate, cost).within(wait), deadline).await;
            Asked { answer: Some(limiter.answer(cost, Some(until), judged)), limiter, cost }
        }
    }

    /// The server's answer, or none as soon as it is known to be away and the limiter has an answer of its own.
    async fn ask(&self, step: Gcra, deadline: Tick) -> Result<Done<Judged>, Failed> {
        let (client, name) = (self.shared.client(), self.shared.name());
        match self.stand.is_policy() {
            true => client.backend.run_while_there(name, &step, deadline, self.shared.shares().is_alone()).await,
            false => client.backend.run(name, &step, deadline).await,
        }
    }

    /// What a call may still wait; nothing if it does not wait.
    fn left_until(&self, until: Option<Tick>) -> Duration {
        until.map_or(Duration::ZERO, |until| until.since(self.shared.client().clock.now()))
    }

    fn answer(&self, cost: u64, until: Option<Tick>, judged: Result<Done<Judged>, Failed>) -> Result<Answer> {
        match judged {
            Ok(Done { reply: Judged { allowed, now, tat }, .. }) => {
                self.stand.server_is_back(&self.shared);
                let heard = self.shared.client().clock.now();
                let at = SystemTime::UNIX_EPOCH + Duration::from_micros(now.0);
                Ok(Answer::of(self.rate, cost, allowed, Span::at(now), tat, By::Server, heard).on_server(at))
            }
            // Asking has taken its part of the wait.
            Err(failed) if failed.away => self.stand.decide(&self.shared, cost, self.left_until(until), failed.error),
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

    async fn while_open<T>(&self, op: &'static str, work: Pin<&mut impl Future<Output = T>>) -> Result<T> {
        while_open(op, &self.shared.client().tasks, work).await.map_err(|error| error.on(self.key()))
    }
}

/// An answer on its way to a caller, which may have given up: a reservation is given back when this is dropped with it.
struct Asked {
    limiter: RateLimiter,
    cost: u64,
    answer: Option<Result<Answer>>,
}

impl Asked {
    fn take(&mut self) -> Result<Answer> {
        self.answer.take().expect("it is taken once")
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        if let Some(Ok(Answer::Reserved(reserved))) = self.answer.take()
            && !self.limiter.shared.client().tasks.is_forked()
        {
            Reservations::leave(&self.limiter.shared, (self.limiter.rate, self.cost), reserved);
        }
    }
}

impl Drop for RateLimiter {
    fn drop(&mut self) {
        self.shared.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter").field("name", self.shared.name()).field("rate", &self.rate).finish()
    }
}
