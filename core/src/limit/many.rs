//! A batch: many keys of one limiter, judged in one round trip.
//!
//! The requests are those that single calls send, written at once. So a batch needs no script of its own, and what one of its
//! items meets (a key of another kind, a node that has changed) is no matter of the others. Only with Redisson's algorithm the
//! keys are asked for one after the other.

use std::pin::pin;

use super::answer::Answer;
use super::asking::Asking;
use super::decision::Decision;
use super::limiter::RateLimiter;
use super::step::{Judge, Judged};
use crate::backend::{Done, Failed};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::Tick;

/// The most items of a batch.
const MAX_BATCH: usize = 10_000;

/// How many requests are written at once. What else the client asks for meanwhile, a renewal say, waits for these and not for
/// all.
const CHUNK: usize = 256;

/// One item of a batch that can be asked for.
struct Item<'a> {
    /// Where its answer goes.
    at: usize,
    key: &'a str,
    cost: u64,
    name: ObjectName,
    step: Judge,
}

impl RateLimiter {
    /// As [`RateLimiter::try_acquire`] of each of these [keys](RateLimiter::keyed), with its cost, in one round trip for every
    /// 256 of them: an answer for each, in the same order. 1 to 10,000 items; a key may occur several times, and its items are
    /// judged in their order, unless the server refused one of them for now and had to be asked again.
    ///
    /// Each item has its own bucket, and its own answer: what is wrong with one, such as a key that is no name, is an
    /// error in its place and no matter of the others. So the key of one user cannot fail a batch of
    /// a hundred users.
    ///
    /// # Errors
    /// [`InvalidArgument`](ErrorKind::InvalidArgument) for a batch that is empty or too large;
    /// [`Closed`](ErrorKind::Closed). Of one item: as [`RateLimiter::keyed`] and [`RateLimiter::try_acquire`]. When the reply to
    /// a write is lost, each item of it has [`OutcomeUnknown`](ErrorKind::OutcomeUnknown): count its tokens as spent.
    ///
    /// Items of Redisson's algorithm are asked for one after the other.
    ///
    /// # Cancel safety
    /// Dropping the future may have spent the tokens of any item.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use libdlock::{Client, ErrorKind, Rate};
    ///
    /// let client = Client::connect("memory://").await?;
    /// let api = client.rate_limiter("api", Rate::new(2, Duration::from_secs(60)))?;
    /// let answers = api.try_acquire_many(&[("user:1", 2), ("user:2", 1), ("user:1", 1), ("", 1)]).await?;
    /// let allowed: Vec<bool> = answers.iter().map(|answer| answer.as_ref().is_ok_and(|decision| decision.allowed)).collect();
    /// assert_eq!(allowed, [true, true, false, false]);
    /// assert!(answers[3].as_ref().is_err_and(|error| error.kind() == ErrorKind::InvalidName));
    /// # Ok::<(), libdlock::Error>(()) }).unwrap();
    /// ```
    pub async fn try_acquire_many<K: AsRef<str>>(&self, items: &[(K, u64)]) -> Result<Vec<Result<Decision>>> {
        let client = self.shared.client();
        self.check_open(Judge::OP)?;
        self.check_batch(items.len())?;
        let asked_at = client.clock.now();
        if self.terms().is_some() {
            return Ok(self.ask_one_by_one(items).await);
        }
        let answers = self.while_open(Judge::OP, pin!(self.judge_many(items, asked_at))).await?;
        for ((_, cost), answer) in items.iter().zip(&answers) {
            answer.iter().for_each(|decision| self.count(*cost, asked_at, decision));
        }
        Ok(answers)
    }

    pub(crate) fn check_batch(&self, items: usize) -> Result<()> {
        if (1..=MAX_BATCH).contains(&items) {
            return Ok(());
        }
        let what = format!("a batch of {items} was asked for");
        let allowed = format!("1 to {MAX_BATCH} items");
        Err(Error::refused(ErrorKind::InvalidArgument, Judge::OP, what, allowed).on(self.key()))
    }

    /// With Redisson's algorithm, whose requests depend on what the client knows of each key.
    async fn ask_one_by_one<K: AsRef<str>>(&self, items: &[(K, u64)]) -> Vec<Result<Decision>> {
        let mut answers = Vec::with_capacity(items.len());
        for (key, cost) in items {
            answers.push(match self.keyed(key.as_ref()) {
                Ok(limiter) => Box::pin(limiter.try_acquire(*cost)).await,
                Err(refused) => Err(refused),
            });
        }
        answers
    }

    async fn judge_many<K: AsRef<str>>(&self, items: &[(K, u64)], asked_at: Tick) -> Vec<Result<Decision>> {
        let mut answers = Vec::with_capacity(items.len());
        for chunk in items.chunks(CHUNK) {
            let chunk: Vec<(&str, u64)> = chunk.iter().map(|(key, cost)| (key.as_ref(), *cost)).collect();
            answers.append(&mut self.judge_chunk(&chunk, asked_at).await);
        }
        answers
    }

    async fn judge_chunk(&self, chunk: &[(&str, u64)], asked_at: Tick) -> Vec<Result<Decision>> {
        let mut answers: Vec<Option<Result<Decision>>> = chunk.iter().map(|_| None).collect();
        let mut open = Vec::with_capacity(chunk.len());
        for (at, &(key, cost)) in chunk.iter().enumerate() {
            match self.item(at, key, cost) {
                Ok(item) => open.push(item),
                Err(refused) => answers[at] = Some(Err(refused)),
            }
        }
        // Twice, because the first that is open afterwards is asked for alone: that waits until the server can be reached, say,
        // and then the rest can go together again.
        for _ in 0..2 {
            let tried = self.ask_together(&open, asked_at).await;
            let mut still_open = Vec::new();
            for (item, tried) in open.into_iter().zip(tried) {
                match tried {
                    Some(judged) => answers[item.at] = Some(self.answer_to(&item, judged)),
                    None => still_open.push(item),
                }
            }
            if still_open.is_empty() {
                return answers.into_iter().flatten().collect();
            }
            let first = still_open.remove(0);
            answers[first.at] = Some(self.ask_alone(&first, asked_at).await);
            open = still_open;
        }
        for item in &open {
            answers[item.at] = Some(self.ask_alone(item, asked_at).await);
        }
        answers.into_iter().flatten().collect()
    }

    fn item<'a>(&self, at: usize, key: &'a str, cost: u64) -> Result<Item<'a>> {
        let name = self.name_of_key(key)?;
        Ok(Item { at, key, cost, name, step: Judge::new(&self.rates, cost) })
    }

    async fn ask_together(&self, items: &[Item<'_>], asked_at: Tick) -> Vec<Option<Result<Done<Judged>, Failed>>> {
        let client = self.shared.client();
        let options = &client.options;
        let mut deadline = asked_at.plus(options.operation_timeout);
        let alone = self.policy.answers_alone().then(|| self.shared.shares().is_alone());
        if alone.is_some() {
            deadline = deadline.min(asked_at.plus(options.response_timeout));
        }
        let requests: Vec<_> = items.iter().map(|item| (&item.name, &item.step)).collect();
        client.operate_pipelined(&requests, deadline, alone).await
    }

    /// The way of a single call, with all that it does about a server that is not there.
    async fn ask_alone(&self, item: &Item<'_>, asked_at: Tick) -> Result<Decision> {
        let judged = Box::pin(self.keyed(item.key)?.ask(item.step.clone(), asked_at, Tick::NEVER)).await;
        self.answer_to(item, judged)
    }

    fn answer_to(&self, item: &Item<'_>, judged: Result<Done<Judged>, Failed>) -> Result<Decision> {
        let heard = self.shared.client().clock.now();
        let answer = match judged {
            // What the limiter itself says of a decision is the same for every key.
            Ok(done) => self.answer(item.cost, Asking::Now, Ok(done), heard)?,
            Err(failed) => self.keyed(item.key)?.answer(item.cost, Asking::Now, Err(failed), heard)?,
        };
        match answer {
            Answer::Decided(decision) => Ok(decision),
            // Only what waits is told of a later time.
            Answer::Reserved(reserved) => Ok(reserved.decision),
        }
    }
}
