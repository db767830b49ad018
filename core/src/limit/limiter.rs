//! A rate limiter and its calls.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tracing::Span;

use super::absent::CheckedPolicy;
use super::decision::Decision;
use super::limits::Limits;
use super::object::LimitObject;
use super::options::LimiterOptions;
use super::prefetch::{Pocket, Pockets};
use super::rate::{Algorithm, Rate};
use super::rates::Rates;
use super::redisson::{RedissonState, Terms};
use super::reservations::Reservations;
use super::step::{Judge, LimitState, Reset};
use crate::ended::while_moving;
use crate::error::{Error, Result};
use crate::objects::ObjectKind;
use crate::span;
use crate::step::Step;
use crate::time::Tick;
use crate::wait::Wait;

/// A named rate limiter. Cheap to clone; all limiters that any process makes of one name share one bucket.
///
/// Whoever shares a name should give the same [`Rate`]: each call is judged by the rate it comes with, and one whose burst
/// refills sooner forgives what lies beyond its own horizon. Under [`Algorithm::Redisson`] the rate on the server counts, for
/// all.
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
    pub(super) shared: Arc<LimitObject>,
    pub(super) rates: Rates,
    pub(super) policy: CheckedPolicy,
    /// What was fetched ahead, if it fetches ahead.
    pub(super) pocket: Option<Arc<Pocket>>,
}

impl Limits {
    /// The limiter of this name. No I/O.
    pub(crate) fn open(self: &Arc<Self>, name: &str, options: LimiterOptions) -> Result<RateLimiter> {
        let name = match options.rates.first().map(Rate::algorithm) {
            Some(Algorithm::Redisson { .. }) => self.context().name_of::<RedissonState>(LimitObject::KIND, name)?,
            _ => self.context().name_of::<LimitState>(LimitObject::KIND, name)?,
        };
        let make = || LimitObject::new(name.clone(), self.clone());
        RateLimiter::new(self.context().objects.get_or_insert(&name, make), options)
    }
}

impl RateLimiter {
    fn new(shared: Arc<LimitObject>, options: LimiterOptions) -> Result<RateLimiter> {
        let on = |error: Error| error.on(shared.name().as_str());
        options.rates.check().map_err(on)?;
        let policy = CheckedPolicy::new(options.absent, &options.rates).map_err(on)?;
        let pocket = options.prefetch.map(|share| Pockets::open(&shared, &options.rates, share));
        let pocket = pocket.transpose().map_err(on)?.flatten();
        shared.opened_with(&options.rates);
        Ok(RateLimiter { shared, rates: options.rates, policy, pocket })
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

    /// What it lets through: one rate, or several.
    pub fn rates(&self) -> &[Rate] {
        &self.rates
    }

    /// Takes `cost` tokens if they are there now. Does not wait, and is refused while others wait. A cost that can never be
    /// granted is refused with `retry_after` `None`: one above the burst, and any under a rate of 0 tokens.
    ///
    /// A cost of 0 asks how things stand for one token, in every call as in [`RateLimiter::peek`]: it spends nothing, never
    /// waits, is allowed when one token could be had now, and `retry_after` says when else.
    ///
    /// # Errors
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) when the reply was lost: count the tokens as spent.
    /// [`Connection`](crate::ErrorKind::Connection) when the server was not reached: nothing was spent. Neither comes under a
    /// policy other than [`Absent::Fail`](super::Absent::Fail). [`WrongType`](crate::ErrorKind::WrongType) when the key holds
    /// something else; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may have spent the tokens.
    pub async fn try_acquire(&self, cost: u64) -> Result<Decision> {
        let asked_at = self.shared.client().clock.now();
        if let Some(decision) = self.look(cost, asked_at) {
            self.count_at_once(&decision);
            return Ok(decision);
        }
        let deciding = async {
            match self.terms() {
                None => self.decide_or_fetch(cost, asked_at).await,
                Some(terms) => self.decide_by_log(terms, cost, asked_at).await,
            }
        };
        let decision = self.traced(cost, deciding).await?;
        self.count(cost, asked_at, &decision);
        Ok(decision)
    }

    async fn traced(&self, cost: u64, deciding: impl Future<Output = Result<Decision>>) -> Result<Decision> {
        let told = |span: &Span, decision: &Decision| {
            span.record("outcome", if decision.allowed { "granted" } else { "refused" });
            span.record("remaining", decision.remaining);
        };
        span::within(span::rate_limit(self.key(), cost), deciding, told, |error| error).await
    }

    /// [`RateLimiter::try_acquire`] as far as it needs no server, in a fraction of a microsecond: the decision, if
    /// [prefetched](super::LimiterOptions::prefetch) tokens or what the server said a moment ago allow one. `None` says that
    /// the server has to be asked, or that there is an error to tell; nothing was spent. For callers outside of
    /// asynchronous code, and hosts of other languages.
    ///
    /// ```
    /// # let client = libdlock::Client::blocking_connect("memory://")?;
    /// use std::time::Duration;
    ///
    /// use libdlock::limit::LimiterOptions;
    /// use libdlock::Rate;
    ///
    /// let rate = Rate::new(1_000_000, Duration::from_secs(1));
    /// let api = client.rate_limiter_with("api", LimiterOptions::new(rate).prefetch(0.1))?;
    /// let decision = match api.try_acquire_now(1) {
    ///     Some(decision) => decision,
    ///     None => client.block_on(api.try_acquire(1))?,
    /// };
    /// assert!(decision.allowed);
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    pub fn try_acquire_now(&self, cost: u64) -> Option<Decision> {
        let decision = self.look(cost, self.shared.client().clock.now())?;
        self.count_at_once(&decision);
        Some(decision)
    }

    /// Those of a limiter that is kept as Redisson's.
    pub(super) fn terms(&self) -> Option<Terms> {
        match self.rates[0].algorithm() {
            Algorithm::Redisson { per_client } => Some(Terms::of(self.rates[0], per_client)),
            _ => None,
        }
    }

    /// Takes `cost` tokens, waiting for them at most as long as `wait` says. All that wait, in all processes, are served in the
    /// order in which their requests reach the server: a wait reserves its tokens with one request, and sleeps until they may
    /// be used. When that is later than the wait allows, it is refused at once; so is any wait under a rate of 0 tokens.
    ///
    /// A client reserves no more than what its rates bring in 10 s, and the tokens of one caller that wants more: they stay charged
    /// when its process is killed, until their time or a [`RateLimiter::reset`]. Its other callers wait in the client, in their
    /// order.
    ///
    /// A decision that is under way when the time is over is waited for, up to `response_timeout`.
    ///
    /// # Errors
    /// As [`RateLimiter::try_acquire`]; [`Closed`](crate::ErrorKind::Closed).
    ///
    /// # Cancel safety
    /// Dropping the future gives the tokens back, to callers behind it in this client first. When other processes have reserved
    /// since, they stay with this client, for its next caller. Under [`Algorithm::Redisson`] a wait reserves nothing, and
    /// dropping the future while it asks may have spent the tokens.
    pub async fn acquire(&self, cost: u64, wait: Wait) -> Result<Decision> {
        let client = self.shared.client();
        let asked_at = client.clock.now();
        let Some(until) = wait.until(asked_at).filter(|_| cost > 0) else { return self.try_acquire(cost).await };
        let terms = self.terms();
        if terms.is_none() {
            if let Some(decision) = self.take_or_fetch(cost, asked_at).await? {
                self.count(cost, asked_at, &decision);
                return Ok(decision);
            }
            self.check_open(Judge::OP)?;
        }
        let waiting = client.counters.limiter.waits();
        let deciding = async {
            let decided = async {
                match terms {
                    None => self.wait_until(until, cost, asked_at).await,
                    Some(terms) => self.wait_by_log(terms, cost, until).await,
                }
            };
            let decided = pin!(decided);
            let decided = while_moving(Judge::OP, Some(&client.clock), decided);
            self.while_open(Judge::OP, pin!(decided)).await?.map_err(|error| error.on(self.key()))?
        };
        let decision = self.traced(cost, deciding).await?;
        drop(waiting);
        self.count(cost, asked_at, &decision);
        Ok(decision)
    }

    /// Counts what a call was told, but for one that only asked how things stand.
    pub(super) fn count(&self, cost: u64, asked_at: Tick, decision: &Decision) {
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

    /// As [`RateLimiter::count`], of a decision without I/O.
    fn count_at_once(&self, decision: &Decision) {
        let counts = &self.shared.client().counters.limiter;
        match decision.allowed {
            true => counts.granted(decision.granted, Duration::ZERO),
            false => counts.refused(),
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

    /// Forgets what was taken, and a block, for everybody. For operators and tests. Those that wait already keep their times, and
    /// what other clients have [prefetched](super::LimiterOptions::prefetch) can be used for another second at most.
    ///
    /// # Errors
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) when no reply came (it is not sent twice); else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn reset(&self) -> Result<()> {
        if self.terms().is_some() {
            return self.reset_log().await;
        }
        self.check_open(Reset::OP)?;
        let step = Reset::new(&self.rates);
        let reset = self.shared.client().operate(self.shared.name(), &step);
        let done = self.while_open(Reset::OP, pin!(reset)).await?.map(drop).map_err(|failed| failed.error);
        if done.is_ok() {
            Reservations::forget(&self.shared);
        }
        // What was fetched before is not charged any more. A request that is under way may bring more of it.
        self.shared.pockets().all().iter().for_each(|pocket| pocket.empty());
        done
    }

    pub(super) fn check_open(&self, op: &'static str) -> Result<()> {
        self.shared.client().check_open(op).map_err(|error| error.on(self.key()))
    }
}

impl Drop for RateLimiter {
    fn drop(&mut self) {
        self.shared.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimiter").field("name", self.shared.name()).field("rates", &&*self.rates).finish()
    }
}
