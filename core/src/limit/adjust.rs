//! What a limiter is told outside of a decision: tokens that are taken for later, taken all the same, or given back, and a time in
//! which nothing is granted.

use std::pin::pin;
use std::time::Duration;

use super::answer::Answer;
use super::asking::Asking;
use super::decision::Decision;
use super::limiter::RateLimiter;
use super::prefetch::Pocket;
use super::rate::LONGEST_US;
use super::step::{Block, Judge, Reward};
use crate::error::{Error, ErrorKind, Result};
use crate::step::Step;
use crate::time::Tick;
use crate::wait::Wait;

impl RateLimiter {
    /// Takes `cost` tokens now, for use when they are there, within `wait`: `usable_after` of the decision says how long that is.
    /// Refused when it would be longer. The caller keeps to that time; nothing waits here. (Guava and Go have it under this
    /// name.) What is not wanted after all goes back with [`RateLimiter::reward`].
    ///
    /// ```
    /// # let client = libdlock::Client::blocking_connect("memory://")?;
    /// # client.block_on(async {
    /// use std::time::Duration;
    ///
    /// use libdlock::{Rate, Wait};
    ///
    /// let mails = client.rate_limiter("mails", Rate::new(1, Duration::from_secs(1)))?;
    /// assert!(mails.reserve(1, Wait::Forever).await?.usable_after.is_zero());
    /// let second = mails.reserve(1, Wait::For(Duration::from_secs(5))).await?;
    /// assert!(second.allowed && second.usable_after > Duration::from_millis(900));
    /// # Ok::<(), libdlock::Error>(()) })?;
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`RateLimiter::try_acquire`]; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) under
    /// [`Algorithm::Redisson`](super::Algorithm::Redisson), which has no reservations.
    ///
    /// # Cancel safety
    /// Dropping the future may have taken the tokens.
    pub async fn reserve(&self, cost: u64, wait: Wait) -> Result<Decision> {
        self.check_own("reserve")?;
        self.check_open(Judge::OP)?;
        let clock = &self.shared.client().clock;
        let asked_at = clock.now();
        let longest = match wait {
            Wait::Try => Duration::ZERO,
            Wait::For(longest) => longest,
            Wait::Forever => Duration::MAX,
        };
        let asking = pin!(self.ask(Judge::new(&self.rates, cost).within(longest), asked_at, Tick::NEVER));
        let judged = self.while_open(Judge::OP, asking).await?;
        let heard = clock.now();
        let decision =
            match self.answer(cost, Asking::Within { within: longest, until: heard.plus(longest) }, judged, heard)? {
                Answer::Decided(decision) => decision,
                Answer::Reserved(reserved) => Decision { usable_after: reserved.wait, ..reserved.decision },
            };
        self.count(cost, asked_at, &decision);
        Ok(decision)
    }

    /// Takes `tokens` whether or not they are there: who comes next waits the longer for it. For a request that turned out to
    /// cost more than it was let in for, or that deserves to be slowed down.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for 0 tokens, or more than can be had at once, and under
    /// [`Algorithm::Redisson`](super::Algorithm::Redisson);
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) when no reply came (it is not sent twice); else as the server says.
    /// No policy for an absent server applies.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn penalty(&self, tokens: u64) -> Result<()> {
        self.check_tokens("penalty", tokens)?;
        let step = Judge::new(&self.rates, tokens).within(Duration::MAX);
        self.tell("penalty", step).await.map(drop)
    }

    /// Gives `tokens` back, as if they had not been taken: never more than were. For a request that turned out to cost less, or
    /// that failed. What waits already keeps its time.
    ///
    /// # Errors
    /// As [`RateLimiter::penalty`].
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn reward(&self, tokens: u64) -> Result<()> {
        self.check_tokens(Reward::OP, tokens)?;
        self.tell(Reward::OP, Reward::new(&self.rates, tokens)).await
    }

    /// Refuses everybody for so long from now on, whatever the rates would allow; zero ends it. Those that wait, or come to
    /// wait, get their tokens after it; those that have reserved already keep their times. The last call counts. What other clients
    /// have [prefetched](super::LimiterOptions::prefetch) can be used for another second at most; this one gives it back.
    ///
    /// Zero to 100 years, in whole microseconds.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a longer time, and under
    /// [`Algorithm::Redisson`](super::Algorithm::Redisson); else as the server says. A call without a reply
    /// is sent again.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn block(&self, length: Duration) -> Result<()> {
        self.check_own(Block::OP)?;
        if length.as_micros() > u128::from(LONGEST_US) {
            let what = format_args!("block length {length:?} is out of range");
            let refused = Error::refused(ErrorKind::InvalidArgument, Block::OP, what, "zero to 100 years");
            return Err(refused.on(self.key()));
        }
        let told = self.tell(Block::OP, Block::new(&self.rates, length)).await;
        if !length.is_zero() {
            // Also where it is not known whether it is blocked.
            self.shared.pockets().all().iter().for_each(Pocket::drain);
        }
        told
    }

    /// Redisson's keys have no place for any of this.
    fn check_own(&self, op: &'static str) -> Result<()> {
        if self.terms().is_none() {
            return Ok(());
        }
        let what = format_args!("a limiter that is kept as Redisson's has no {op}");
        let allowed = "a limiter by any other algorithm";
        Err(Error::refused(ErrorKind::InvalidArgument, op, what, allowed).on(self.key()))
    }

    fn check_tokens(&self, op: &'static str, tokens: u64) -> Result<()> {
        self.check_own(op)?;
        let most = self.rates.limit();
        if (1..=most).contains(&tokens) {
            return Ok(());
        }
        let what = format_args!("{tokens} tokens are out of range");
        Err(Error::refused(ErrorKind::InvalidArgument, op, what, format!("1 to {most}")).on(self.key()))
    }

    async fn tell<S: Step>(&self, op: &'static str, step: S) -> Result<S::Reply> {
        self.check_open(op)?;
        let told = self.shared.client().operate(self.shared.name(), &step);
        let done = self.while_open(op, pin!(told)).await?;
        done.map(|done| done.reply).map_err(|failed| self.explained(failed.error))
    }
}
