//! The direct path: one round trip on the thread of a caller who may block, without the hop to the runtime and back.
//!
//! A caller that finds no connection free goes on by the runtime's connection. So does one that gets no answer in 40 ms, with the
//! same owner and the same first sending, if the step may be repeated; else another thread waits for the answer that is under way,
//! up to `response_timeout`.

mod pipelined;
mod pool;
mod several;

use redis::{RedisResult, Value};
use tokio::task::JoinHandle;

pub(super) use self::pool::Direct;
use self::pool::{Beside, Loan};
pub(super) use self::several::{Connection, NoAnswer};
use super::socket::PATIENCE;
use super::verdict::{self, Redial, StepKind, Verdict};
use super::{RedisBackend, Sent, outcome_unknown};
use crate::backend::{Done, Failed};
use crate::name::ObjectName;
use crate::step::{Call, Step};
use crate::time::Tick;

/// What came of a step's one attempt on the calling thread.
pub(super) enum Directly<R> {
    Done(Done<R>),
    Failed(Failed),
    /// Nothing was done: there is no connection for it, or the server refuses for now.
    Unavailable,
    /// No answer in 40 ms to a step that may be repeated.
    Unanswered(Begun),
    /// No answer in 40 ms to one that may not: [`RedisBackend::answer_of`] waits for it.
    Waiting(Waiting),
}

/// An attempt that got no answer and is to be repeated, elsewhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) sent: Tick,
    /// Until when its bytes may take effect.
    pub(super) echo_until: Tick,
}

/// A request without an answer so far, which another thread waits for. It does so to the end when this is dropped.
pub(super) struct Waiting {
    answer: JoinHandle<(Loan, RedisResult<Value>)>,
    sent: Tick,
}

impl RedisBackend {
    /// Runs a step on the calling thread, which it blocks for 40 ms at most, and only if that is over by the time until which
    /// its caller waits. One attempt.
    pub(super) fn run_directly<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
    ) -> Directly<S::Reply> {
        let Some((mut loan, call, sent)) = self.borrow_for(name, step, deadline.min(caller)) else {
            return Directly::Unavailable;
        };
        let answer = loan.run(S::script(), &call, sent);
        let left = || deadline.min(self.echo_of(sent)).since(self.clock.now());
        match answer {
            Err(error) if error.is_timeout() && !S::IDEMPOTENT && !left().is_zero() => {
                self.direct.rest(verdict::how(&error));
                let (runtime, left) = (self.direct.runtime().clone(), left());
                let answer = runtime.spawn_blocking(move || {
                    let answer = loan.go_on(S::script(), &call, left);
                    (loan, answer)
                });
                Directly::Waiting(Waiting { answer, sent })
            }
            answer => self.heard::<S>(name, loan, answer, sent),
        }
    }

    /// The answer that another thread waits for; never [`Directly::Waiting`]. Cancel safe: it is read to the end all the same.
    pub(super) async fn answer_of<S: Step>(&self, name: &ObjectName, waiting: Waiting) -> Directly<S::Reply> {
        let Waiting { answer, sent } = waiting;
        match answer.await {
            Ok((loan, answer)) => self.heard::<S>(name, loan, answer, sent),
            Err(_) => {
                let stopped = self.target_error(S::OP, "was asked by a thread that was stopped");
                let error = outcome_unknown(StepKind::of::<S>(), &stopped);
                Directly::Failed(Failed { error, echo_until: Some(self.echo_of(sent)), away: true }.on(name))
            }
        }
    }

    /// A connection, the request and the time of its sending, if this is a time for direct calls.
    fn borrow_for<S: Step>(&self, name: &ObjectName, step: &S, deadline: Tick) -> Option<(Loan, Call, Tick)> {
        let sent = self.clock.now();
        let attempt = self.attempt_at(sent);
        let loan = self.borrow(sent, deadline)?;
        let mut call = Call::default();
        step.encode(name, attempt, &mut call);
        Some((loan, call, sent))
    }

    /// A connection, if this is a time for direct calls that are to be over at `deadline`.
    fn borrow(&self, now: Tick, deadline: Tick) -> Option<Loan> {
        if now.plus(PATIENCE) > deadline {
            return None;
        }
        let beside = self.link.up(|connected| Beside {
            link: connected.number,
            endpoint: connected.endpoint.clone(),
            reached: connected.reached,
        })?;
        self.direct.borrow(beside, now)
    }

    /// What an answer says, or its absence.
    fn heard<S: Step>(
        &self,
        name: &ObjectName,
        loan: Loan,
        answer: RedisResult<Value>,
        sent: Tick,
    ) -> Directly<S::Reply> {
        let failed = |failed: Failed| Directly::Failed(failed.on(name));
        let now = self.clock.now();
        let theirs = match answer {
            Ok(value) => {
                let reached = loan.beside.reached;
                loan.give_back(now);
                let sent = Sent { first: sent, last: sent, answered: now, echo_until: None, reached };
                return self.read(S::OP, value, S::decode, sent).map_or_else(failed, |done| {
                    self.note_time::<S>(&done.reply, now);
                    Directly::Done(done)
                });
            }
            Err(error) => error,
        };
        match verdict::of(StepKind::of::<S>(), &theirs, &loan.beside.endpoint) {
            Verdict::Unknown(error) => {
                drop(loan);
                self.direct.rest(verdict::how(&theirs));
                let echo_until = self.echo_of(sent);
                match S::IDEMPOTENT {
                    true => Directly::Unanswered(Begun { sent, echo_until }),
                    false => {
                        let error = outcome_unknown(StepKind::of::<S>(), &error);
                        failed(Failed { error, echo_until: Some(echo_until), away: true })
                    }
                }
            }
            // Nothing was done. The other way knows how to wait, and finds out where the address leads now.
            Verdict::Refused { redial: Redial::AtOnce, .. } => Directly::Unavailable,
            Verdict::NoScript | Verdict::Refused { .. } => {
                loan.give_back(now);
                Directly::Unavailable
            }
            Verdict::Fatal { error, halfway } => {
                // After anything but a reply there may be more to come.
                if verdict::is_reply(&theirs) {
                    loan.give_back(now);
                }
                failed(Failed { error, echo_until: halfway.then_some(now), away: false })
            }
        }
    }
}

#[cfg(test)]
mod tests;
