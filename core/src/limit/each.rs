//! Callers of one turn of a host's event loop: what each of them asks for, in one call.
//!
//! The host has collected them, so nobody has to be waited for as in `together.rs`: callers that want the same of one bucket are
//! asked for by one request for their sum, and the requests of all buckets are written at once, as those of a batch. The answer
//! of each is what a [`RateLimiter::try_acquire`] of its own would have brought.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::pin::pin;

use smallvec::{SmallVec, smallvec};

use super::decision::Decision;
use super::limiter::RateLimiter;
use super::many::{Answers, Item};
use super::step::Judge;
use crate::error::Result;
use crate::step::Step;
use crate::time::Tick;

/// What one caller asks for: so many tokens that are there now, of the bucket of a [key](RateLimiter::keyed) or of the
/// limiter's own.
type Ask<'a> = (Option<&'a str>, u64);

impl RateLimiter {
    /// How many of these, from the first on, belong in one call of [`RateLimiter::try_acquire_each`], how many of the rest in
    /// the next, and so on. Those of another call may be answered at another time.
    pub(crate) fn parts(&self, asks: &[Ask<'_>]) -> Vec<usize> {
        asks.chunk_by(|one, next| self.go_together(*one, *next)).map(<[_]>::len).collect()
    }

    fn go_together(&self, one: Ask<'_>, other: Ask<'_>) -> bool {
        // Each depends on what came of the one before, or needs no server.
        if self.terms().is_some() || (self.pocket.is_some() && (one.0.is_none() || other.0.is_none())) {
            return false;
        }
        // A node of a cluster that does not answer is to hold up nobody who needs another one.
        one.0 == other.0 || self.shared.client().backend.is_one_server()
    }

    /// As [`RateLimiter::try_acquire`] of each of these, at once and in their order: an answer for each. For those that
    /// [`RateLimiter::parts`] puts together; others do not gain by it.
    pub(crate) async fn try_acquire_each(&self, asks: &[Ask<'_>]) -> Vec<Result<Decision>> {
        if let [ask] = asks {
            return vec![self.try_acquire_one(*ask).await];
        }
        let asked_at = self.shared.client().clock.now();
        if let Err(closed) = self.check_open(Judge::OP) {
            return vec![Err(closed); asks.len()];
        }
        let mut answers = Answers::to(asks.len());
        let items = self.items(asks, &mut answers, asked_at);
        let judging = pin!(self.judge(items, answers, asked_at));
        let answers = match self.while_open(Judge::OP, judging).await {
            Ok(answers) => answers,
            Err(ended) => return vec![Err(ended); asks.len()],
        };
        for ((_, cost), answer) in asks.iter().zip(&answers) {
            answer.iter().for_each(|decision| self.count(*cost, asked_at, decision));
        }
        answers
    }

    async fn try_acquire_one(&self, (key, cost): Ask<'_>) -> Result<Decision> {
        Box::pin(self.bucket(key)?.try_acquire(cost)).await
    }

    /// The requests: for each bucket one, or one for each of its callers, in their order. One that cannot be made is told to its
    /// callers.
    fn items<'a>(&self, asks: &[Ask<'a>], answers: &mut Answers, now: Tick) -> Vec<Item<'a>> {
        let mut buckets: Vec<Bucket<'a>> = Vec::new();
        let mut by_key: HashMap<Option<&str>, usize> = HashMap::new();
        for (caller, &(key, cost)) in asks.iter().enumerate() {
            match by_key.entry(key) {
                Entry::Occupied(at) => buckets[*at.get()].add(caller, cost),
                Entry::Vacant(at) => {
                    at.insert(buckets.len());
                    buckets.push(Bucket { key, cost, callers: smallvec![caller], alike: true });
                }
            }
        }
        let mut items = Vec::with_capacity(buckets.len());
        let mut add = |callers: SmallVec<[usize; 1]>, key, cost| match self.item(callers.clone(), key, cost) {
            Ok(item) => items.push(item),
            Err(refused) => answers.tell(&callers, &Err(refused)),
        };
        for bucket in buckets {
            if self.may_sum(&bucket, now) {
                add(bucket.callers, bucket.key, bucket.cost);
            } else {
                bucket.callers.iter().for_each(|caller| add(smallvec![*caller], bucket.key, asks[*caller].1));
            }
        }
        items
    }

    /// Whether one request may ask for all of them. One that can never be granted would only cost time, and so would one in the
    /// middle of other costs: whom it is refused to, those behind it would overtake.
    fn may_sum(&self, bucket: &Bucket<'_>, now: Tick) -> bool {
        let sum = bucket.cost.checked_mul(bucket.callers.len() as u64);
        let grantable = sum.is_some_and(|sum| sum <= self.rates.limit());
        // Of a key nothing is kept, so nothing is known of its last refusal.
        bucket.alike && grantable && (bucket.key.is_some() || self.shared.together().may_sum(now))
    }
}

/// Those that ask for tokens of one bucket.
struct Bucket<'a> {
    key: Option<&'a str>,
    /// That of the first.
    cost: u64,
    callers: SmallVec<[usize; 1]>,
    /// Whether all ask for as many.
    alike: bool,
}

impl Bucket<'_> {
    fn add(&mut self, caller: usize, cost: u64) {
        self.callers.push(caller);
        self.alike &= cost == self.cost;
    }
}
