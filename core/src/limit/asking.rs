//! How a limiter asks for tokens: once, or until they may be used.
//!
//! The clock is read when a call begins, or a turn of its wait, and when an answer comes.

use std::pin::{Pin, pin};
use std::time::{Duration, SystemTime};

use super::answer::Answer;
use super::decision::Decision;
use super::limiter::RateLimiter;
use super::queue::{Permit, Turn};
use super::reservations::{By, Demand, Reservations};
use super::step::{Judge, Judged};
use super::tat;
use super::waiter::Waiter;
use crate::backend::{Done, Failed};
use crate::ended::{cut_off, while_open};
use crate::error::{Error, ErrorKind, Result};
use crate::step::Step;
use crate::task::UnderWay;
use crate::time::Tick;

impl RateLimiter {
    /// Asks once, for tokens that are there now.
    pub(super) async fn decide(&self, cost: u64, asked_at: Tick) -> Result<Decision> {
        self.check_open(Judge::OP)?;
        let asking = pin!(self.ask_beside_others(cost, asked_at));
        let judged = self.while_open(Judge::OP, asking).await?;
        self.decided(cost, judged)
    }

    /// The decision from a judgement of tokens that are there now.
    fn decided(&self, cost: u64, judged: Result<Done<Judged>, Failed>) -> Result<Decision> {
        match self.answer(cost, Asking::Now, judged, self.shared.client().clock.now())? {
            Answer::Decided(decision) => Ok(decision),
            // Only what waits is told of a later time.
            Answer::Reserved(reserved) => Ok(reserved.decision),
        }
    }

    /// Asks until there is an answer that does not change before `until`, and waits for what was reserved.
    pub(super) async fn wait_until(&self, until: Tick, cost: u64, asked_at: Tick) -> Result<Decision> {
        if self.rates.grantable(cost) == 0 {
            return self.decide(cost, asked_at).await;
        }
        let (arrival, demand) = (self.shared.reservations().arrive(), (self.rates.clone(), cost));
        let (client, clock) = (self.shared.client(), &self.shared.client().clock);
        let mut now = asked_at;
        loop {
            let turn = match Turn::of(&self.shared, &demand, arrival, until, now) {
                Ok(turn) => turn,
                Err(mut queued) => match queued.turn_now() {
                    Some(turn) => turn,
                    None => {
                        if let Some(decision) = Box::pin(self.ask_if_reset(cost, until, now)).await? {
                            return Ok(decision);
                        }
                        let turn = tokio::select! {
                            biased;
                            turn = queued.turn() => turn,
                            () = clock.sleep_until(until) => Turn::TooLate(until),
                        };
                        now = clock.now();
                        turn
                    }
                },
            };
            let permit = match turn {
                Turn::Ask(permit) => permit,
                Turn::Wait(waiter) => return Ok(waiter.wait(clock).await),
                Turn::TooLate(due) => return Box::pin(self.refuse(cost, due, until, now)).await,
            };
            let Some(mut asked) = client.tasks.operation(self.asking(cost, until, now, permit)).await else {
                return Err(cut_off(Judge::OP, &client.tasks, "the decision").on(self.key()));
            };
            let heard = asked.heard;
            let waiter_or_next = match asked.take()? {
                Answer::Reserved(reserved) => {
                    let counted = asked.permit.keep();
                    Ok(Waiter::with(&self.shared, &demand, arrival, reserved, counted, heard))
                }
                Answer::Decided(decision) => match again_at(&decision, until, heard) {
                    Some(next) => Err(next),
                    None => return Ok(decision),
                },
            };
            drop(asked);
            match waiter_or_next {
                Ok(waiter) => return Ok(waiter.wait(clock).await),
                Err(next) => clock.sleep_until(next).await,
            }
            now = clock.now();
        }
    }

    /// Asks for a caller that has to queue, if there can only be tokens when the limiter was reset: nobody else tells of that, and
    /// what was reserved before keeps its times.
    async fn ask_if_reset(&self, cost: u64, until: Tick, now: Tick) -> Result<Option<Decision>> {
        if !self.shared.reservations().demands().is_used_up(&self.rates, now) {
            return Ok(None);
        }
        let decision = self.ask_out_of_turn(cost, until, now).await?;
        Ok(Some(decision).filter(|decision| decision.allowed))
    }

    /// Asks once for a caller that has no leave to reserve.
    async fn ask_out_of_turn(&self, cost: u64, until: Tick, now: Tick) -> Result<Decision> {
        let judged = self.ask(Judge::new(&self.rates, cost), now, self.longest(until, now)).await;
        let decision = self.decided(cost, judged)?;
        if decision.allowed && decision.server_time.is_some() {
            Reservations::forget(&self.shared);
        }
        Ok(decision)
    }

    /// The answer to a caller that gets its tokens no sooner than `due`, and does not wait for that.
    async fn refuse(&self, cost: u64, due: Tick, until: Tick, now: Tick) -> Result<Decision> {
        let decision = self.ask_out_of_turn(cost, until, now).await?;
        let later = Duration::from_micros(due.since(now).as_nanos().div_ceil(1_000) as u64);
        let retry_after = decision.retry_after.map(|pause| if decision.allowed { pause } else { pause.max(later) });
        Ok(Decision { retry_after, ..decision })
    }

    /// One decision, which goes on when it is not awaited any more: what it brings is given back then.
    fn asking(&self, cost: u64, until: Tick, now: Tick, permit: Permit) -> impl Future<Output = Asked> + Send + use<> {
        let (limiter, longest) = (self.clone(), self.longest(until, now));
        async move {
            let within = until.since(now);
            let judged = limiter.ask(Judge::new(&limiter.rates, cost).within(within), now, longest).await;
            let heard = limiter.shared.client().clock.now();
            let answer = limiter.answer(cost, Asking::Within { within, until }, judged, heard);
            let under_way = limiter.shared.client().tasks.under_way();
            let demand = (limiter.rates.clone(), cost);
            Asked { answer: Some(answer), heard, limiter, demand, permit, _under_way: under_way }
        }
    }

    /// When the last answer comes to a caller that waits until `until` and asks now.
    fn longest(&self, until: Tick, now: Tick) -> Tick {
        until.max(now.plus(self.shared.client().options.response_timeout))
    }

    /// The server's answer to what was asked at `asked_at`, and is over at `end`, or none as soon as the server is known to be
    /// away: then no caller waits for it. A limiter that has a policy does not wait until that is known, either.
    pub(super) async fn ask<S: Step>(&self, step: S, asked_at: Tick, end: Tick) -> Result<Done<S::Reply>, Failed> {
        let (client, name) = (self.shared.client(), self.shared.name());
        let options = &client.options;
        let deadline = asked_at.plus(options.operation_timeout);
        let (shares, has_policy) = (self.shared.shares(), self.policy.answers_alone());
        let known_away = if has_policy { shares.is_alone() } else { shares.is_failing() };
        if has_policy || known_away {
            let deadline = deadline.min(asked_at.plus(options.response_timeout)).min(end);
            return client.backend.run_while_there(name, &step, deadline, known_away).await;
        }
        // A server that could not be reached for that long before the call is known to be away.
        let gone = client.backend.down_since(name).map(|since| since.plus(options.operation_timeout));
        let deadline = gone.filter(|gone| *gone <= asked_at).unwrap_or(deadline);
        let done = client.operate_until(name, &step, deadline, end).await;
        if let Err(failed) = &done
            && failed.away
            && failed.error.kind() != ErrorKind::Connection
            && client.clock.now() >= asked_at.plus(options.response_timeout)
        {
            shares.set_failing(true);
        }
        done
    }

    /// What was judged, as the call is told it that heard of it at `heard`.
    pub(super) fn answer(
        &self,
        cost: u64,
        asking: Asking,
        judged: Result<Done<Judged>, Failed>,
        heard: Tick,
    ) -> Result<Answer> {
        match judged {
            Ok(Done { reply, .. }) if reply.allowed && !asking.covers(&reply) => {
                let message =
                    "the server granted tokens for later than they were asked for, as no version of libdlock does";
                Err(Error::new(ErrorKind::Server, Judge::OP, message).on(self.key()).permanent())
            }
            Ok(Done { reply: judged, sent, .. }) if judged.standings.len() == self.rates.len() => {
                self.policy.server_is_back(&self.shared);
                let (now, at) =
                    (tat::since_2025(judged.now), SystemTime::UNIX_EPOCH + Duration::from_micros(judged.now.0));
                Ok(Answer::of(&self.rates, cost, judged, now, By::Server, (sent, heard)).on_server(at))
            }
            Ok(_) => {
                let message = "the server answered for another number of rates, as no version of libdlock does";
                Err(Error::new(ErrorKind::Server, Judge::OP, message).on(self.key()).permanent())
            }
            Err(failed) if failed.away => {
                // Asking has taken its part of the wait.
                let wait = match asking {
                    Asking::Now => Duration::ZERO,
                    Asking::Within { until, .. } => until.since(heard),
                };
                self.policy.decide(&self.shared, cost, wait, heard, failed.error)
            }
            Err(failed) => Err(self.explained(failed.error)),
        }
    }

    /// With what may have happened to a key of another form: most often somebody else counts by another algorithm.
    pub(super) fn explained(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::WrongType {
            return error;
        }
        let mut algorithms: Vec<&str> = self.rates.iter().map(|rate| rate.algorithm().as_str()).collect();
        algorithms.dedup();
        let message = format!(
            "the key, or one beside it, holds no rate limit by {}; it was left untouched. Give the same algorithm everywhere, \
             choose another name, or reset the limiter if it had another algorithm before",
            algorithms.join(" or ")
        );
        error.retold(error.op(), message)
    }

    pub(super) async fn while_open<T>(&self, op: &'static str, work: Pin<&mut impl Future<Output = T>>) -> Result<T> {
        while_open(op, &self.shared.client().tasks, work).await.map_err(|error| error.on(self.key()))
    }
}

/// For when tokens are asked for.
#[derive(Clone, Copy)]
pub(super) enum Asking {
    Now,
    /// At the latest so long after the server is asked; the call is over at `until`.
    Within {
        within: Duration,
        until: Tick,
    },
}

impl Asking {
    /// Whether this is what was asked for: a caller never waits for longer than it wants to, whatever a server says.
    fn covers(self, judged: &Judged) -> bool {
        let within = match self {
            Asking::Now => Duration::ZERO,
            Asking::Within { within, .. } => within,
        };
        u128::from(judged.at.saturating_sub(tat::since_2025(judged.now))) <= within.as_micros()
    }
}

/// When it is worth to ask again after a decision that was heard of at `heard`.
pub(super) fn again_at(decision: &Decision, until: Tick, heard: Tick) -> Option<Tick> {
    let pause = decision.retry_after.filter(|_| !decision.allowed)?;
    Some(heard.plus(pause)).filter(|next| *next <= until)
}

/// An answer on its way to a caller, which may have given up: a reservation is given back when this is dropped with it.
struct Asked {
    limiter: RateLimiter,
    demand: Demand,
    answer: Option<Result<Answer>>,
    /// When the answer came.
    heard: Tick,
    permit: Permit,
    /// A client that closes waits until it is given back.
    _under_way: UnderWay,
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
            Reservations::give_back(&self.limiter.shared, &self.demand, reserved);
        }
    }
}
