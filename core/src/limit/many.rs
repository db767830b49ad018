//! A batch: many keys of one limiter, judged in one round trip.
//!
//! The requests are those that single calls send, written at once. So a batch needs no script of its own, and what one of its
//! items meets (a key of another kind, a node that has changed) is no matter of the others. Only with Redisson's algorithm the
//! keys are asked for one after the other. Callers that ask by themselves at the same time use the same way, see `each.rs`.

use std::pin::pin;

use smallvec::{SmallVec, smallvec};

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

/// One request of a batch.
#[derive(Clone)]
pub(super) struct Item<'a> {
    /// Where its answers go: one caller, or several with one request for the sum of their costs.
    callers: SmallVec<[usize; 1]>,
    /// The key, or none for the limiter's own bucket.
    key: Option<&'a str>,
    /// The cost of each caller.
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
        let mut answers = Answers::to(items.len());
        let mut open = Vec::with_capacity(items.len());
        for (at, (key, cost)) in items.iter().enumerate() {
            match self.item(smallvec![at], Some(key.as_ref()), *cost) {
                Ok(item) => open.push(item),
                Err(refused) => answers.tell(&[at], &Err(refused)),
            }
        }
        self.judge(open, answers, asked_at).await
    }

    /// Asks for all of these, in their order, as many as a chunk has at a time, and adds what comes of them to the `answers`.
    pub(super) async fn judge(
        &self,
        items: Vec<Item<'_>>,
        mut answers: Answers,
        asked_at: Tick,
    ) -> Vec<Result<Decision>> {
        let mut items = items.into_iter();
        loop {
            let chunk: Vec<Item<'_>> = items.by_ref().take(CHUNK).collect();
            if chunk.is_empty() {
                return answers.all();
            }
            let refused = self.judge_chunk(chunk, &mut answers, asked_at).await;
            // Each of their callers alone, of which no more is refused as a sum.
            for chunk in refused.chunks(CHUNK) {
                self.judge_chunk(chunk.to_vec(), &mut answers, asked_at).await;
            }
        }
    }

    /// Gives back, as items of their own, the callers of those sums that were refused.
    async fn judge_chunk<'a>(&self, chunk: Vec<Item<'a>>, answers: &mut Answers, asked_at: Tick) -> Vec<Item<'a>> {
        let mut open = chunk;
        let mut refused = Vec::new();
        // Twice, because the first that is open afterwards is asked for alone: that waits until the server can be reached, say,
        // and then the rest can go together again.
        for _ in 0..2 {
            let tried = self.ask_together(&open, asked_at).await;
            let mut still_open = Vec::new();
            for (item, tried) in open.into_iter().zip(tried) {
                match tried {
                    Some(judged) => self.tell_callers(item, judged, answers, &mut refused),
                    None => still_open.push(item),
                }
            }
            open = still_open;
            if open.is_empty() {
                return refused;
            }
            let first = open.remove(0);
            self.ask_alone(first, answers, &mut refused, asked_at).await;
        }
        for item in open {
            self.ask_alone(item, answers, &mut refused, asked_at).await;
        }
        refused
    }

    /// A request for the sum of what these callers want of one bucket.
    pub(super) fn item<'a>(&self, callers: SmallVec<[usize; 1]>, key: Option<&'a str>, cost: u64) -> Result<Item<'a>> {
        let name = match key {
            None => self.shared.name().clone(),
            Some(key) => self.name_of_key(key)?,
        };
        let step = Judge::new(&self.rates, cost * callers.len() as u64);
        Ok(Item { callers, key, cost, name, step })
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
    async fn ask_alone<'a>(&self, item: Item<'a>, answers: &mut Answers, refused: &mut Vec<Item<'a>>, asked_at: Tick) {
        match self.bucket(item.key) {
            Ok(limiter) => {
                let judged = Box::pin(limiter.ask(item.step.clone(), asked_at, Tick::NEVER)).await;
                self.tell_callers(item, judged, answers, refused);
            }
            Err(error) => answers.tell(&item.callers, &Err(error)),
        }
    }

    /// The limiter of a key, or this one.
    pub(super) fn bucket(&self, key: Option<&str>) -> Result<RateLimiter> {
        key.map_or_else(|| Ok(self.clone()), |key| self.keyed(key))
    }

    /// Tells the callers of an item, or puts them among the refused: one after the other some of them may get their tokens.
    fn tell_callers<'a>(
        &self,
        item: Item<'a>,
        judged: Result<Done<Judged>, Failed>,
        answers: &mut Answers,
        refused: &mut Vec<Item<'a>>,
    ) {
        let several = item.callers.len() > 1;
        if several && item.cost > 0 && judged.as_ref().is_ok_and(|done| !done.reply.allowed) {
            if item.key.is_none() {
                self.shared.together().refused(self.shared.client().clock.now());
            }
            let step = Judge::new(&self.rates, item.cost);
            let each = item.callers.iter().map(|caller| Item {
                callers: smallvec![*caller],
                name: item.name.clone(),
                step: step.clone(),
                ..item
            });
            refused.extend(each);
            return;
        }
        let heard = self.shared.client().clock.now();
        for caller in &item.callers {
            answers.tell(&[*caller], &self.answer_to(&item, judged.clone(), heard));
        }
    }

    fn answer_to(&self, item: &Item<'_>, judged: Result<Done<Judged>, Failed>, heard: Tick) -> Result<Decision> {
        let answer = match judged {
            // What the limiter itself says of a decision is the same for every key.
            Ok(done) => self.answer(item.cost, Asking::Now, Ok(done), heard)?,
            Err(failed) => self.bucket(item.key)?.answer(item.cost, Asking::Now, Err(failed), heard)?,
        };
        match answer {
            Answer::Decided(decision) => Ok(decision),
            // Only what waits is told of a later time.
            Answer::Reserved(reserved) => Ok(reserved.decision),
        }
    }
}

/// An answer to each caller of a batch, in their order.
pub(super) struct Answers(Vec<Option<Result<Decision>>>);

impl Answers {
    pub(super) fn to(callers: usize) -> Answers {
        Answers((0..callers).map(|_| None).collect())
    }

    pub(super) fn tell(&mut self, callers: &[usize], answer: &Result<Decision>) {
        for caller in callers {
            self.0[*caller] = Some(answer.clone());
        }
    }

    /// Once all have been told.
    pub(super) fn all(self) -> Vec<Result<Decision>> {
        self.0.into_iter().map(|answer| answer.expect("each is told")).collect()
    }
}
