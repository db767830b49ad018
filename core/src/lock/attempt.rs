//! One attempt to take a lock: what is asked of the server, and what becomes of its answer.

use std::sync::Arc;

use super::contend::{self, First, Guard};
use super::line::Tenure;
use super::release::undo;
use super::shared::{Delivery, LockShared, Obstacle};
use super::step::{self, Acquired};
use crate::backend::{Begun, Done, Failed, echo_until};
use crate::error::Result;
use crate::lease::{GrantSpec, Lease};
use crate::stats::Way;
use crate::time::Tick;

/// A request for a line, and what came of it so far.
pub(super) struct Attempt {
    pub(super) kind: Lease,
    pub(super) step: step::Acquire,
    pub(super) sent: Tick,
    pub(super) came: Came,
}

pub(super) enum Came {
    /// It got no answer: the same again.
    Nothing(Begun),
    Outcome(Result<Done<Acquired>, Failed>),
}

/// What a try came to.
pub(super) enum Tried {
    Granted(Delivery),
    Refused(Obstacle),
    Stale,
    /// Granted, but the answer took longer than the lease: given back.
    Late,
}

/// What the first attempt of a line came to.
pub(super) enum Opened {
    Granted(Delivery),
    Goes(Onward),
}

/// What a contender has to go on with. Should nobody take it, because its caller went away, one is started for it.
pub(super) struct Onward {
    shared: Arc<LockShared>,
    first: Option<First>,
}

impl Onward {
    /// How the contender of a caller that stands in line begins.
    pub(super) fn into_first(mut self) -> First {
        self.first.take().unwrap_or(First::Leave)
    }
}

impl Drop for Onward {
    fn drop(&mut self) {
        if let Some(first) = self.first.take() {
            contend::start(&self.shared, first);
        }
    }
}

/// An attempt that joins no queue.
pub(super) struct Try {
    pub(super) kind: Lease,
    pub(super) step: step::Acquire,
    /// It contends for the line: a grant is the line's.
    pub(super) contends: bool,
}

impl LockShared {
    /// What came of a line's first attempt: a grant is its caller's at once.
    pub(super) fn opened(self: &Arc<Self>, mut guard: Guard, attempt: Attempt) -> Opened {
        guard.disarm();
        let Attempt { kind, step, sent, came } = attempt;
        if let Came::Outcome(Ok(done)) = &came
            && let Acquired::Granted { token, .. } = done.reply
        {
            let spec = self.grant_spec(kind, &step, token, done);
            if !spec.is_over(self.client().clock.now()) {
                let tenure = self.tenure(kind, &step, &spec);
                self.line().hold(tenure);
                return Opened::Granted(Delivery::new(self, self.admit(spec), Way::AtOnce));
            }
        }
        let first = Some(First::Begun(Attempt { kind, step, sent, came }));
        Opened::Goes(Onward { shared: self.clone(), first })
    }

    /// The request of an attempt that nobody made before. `alone`: nobody stands in line behind who gets it.
    pub(super) fn acquire_step(&self, kind: Lease, waits: bool, alone: bool) -> step::Acquire {
        let client = self.client();
        let options = &client.options;
        // A hold that is passed on within the process needs a token for each holder, and a lease that is renewed.
        let passed_on = kind == Lease::Watchdog && !options.strict_fifo && !alone;
        step::Acquire {
            owner: client.next_owner(),
            lease: kind.duration(options.lease),
            token_ttl: options.token_ttl,
            block: if passed_on { options.cohort_max.into() } else { 1 },
            waits,
        }
    }

    pub(super) fn grant_spec(&self, kind: Lease, step: &step::Acquire, token: u64, done: &Done<Acquired>) -> GrantSpec {
        GrantSpec {
            name: self.name().clone(),
            owner: step.owner.clone(),
            token,
            lease: step.lease,
            watchdog: (kind == Lease::Watchdog).then_some(step.lease),
            sent: done.sent,
            echo_until: done.echo_until,
            server_generation: self.client().backend.server_generation(),
        }
    }

    /// For how long and with which tokens a grant may be passed on within the process.
    pub(super) fn tenure(&self, kind: Lease, step: &step::Acquire, spec: &GrantSpec) -> Tenure {
        let client = self.client();
        // From now on, not from the sending: where the way is long, handing on is worth most.
        let until = client.clock.now().plus(client.options.cohort_age).min(spec.sent.plus(step.lease / 4));
        let until = if kind == Lease::Watchdog { until } else { spec.sent };
        Tenure { token: spec.token, last_token: spec.token + step.block - 1, until: until.0 }
    }

    /// An attempt without an answer may have been granted, or may yet be. Unless this is that grant, nobody will hold it.
    pub(super) fn undo_unless_granted(
        self: &Arc<Self>,
        step: &step::Acquire,
        outcome: &Result<Done<Acquired>, Failed>,
    ) {
        let echo_until = echo_until(outcome);
        let granted = outcome.as_ref().is_ok_and(|done| matches!(done.reply, Acquired::Granted { .. }));
        if echo_until.is_some() && !granted {
            undo(self, step.owner.clone(), step.lease, echo_until);
        }
    }

    /// What came of a try; lets those who came meanwhile contend.
    pub(super) fn tried(self: &Arc<Self>, attempt: Try, outcome: Result<Done<Acquired>, Failed>) -> Result<Tried> {
        let contends = attempt.contends;
        let tried = self.judge(attempt, outcome);
        if contends && !matches!(tried, Ok(Tried::Granted(_))) {
            let rest = self.line().rest();
            contend::go_on(self, rest);
        }
        tried
    }

    fn judge(self: &Arc<Self>, attempt: Try, outcome: Result<Done<Acquired>, Failed>) -> Result<Tried> {
        let Try { kind, step, contends } = attempt;
        self.undo_unless_granted(&step, &outcome);
        let done = outcome.map_err(|failed| failed.error)?;
        let token = match done.reply {
            Acquired::Granted { token, .. } => token,
            Acquired::Busy { ttl, holder, .. } => return Ok(Tried::Refused(Obstacle::Holder { holder, ttl })),
            Acquired::NotYourTurn { .. } => return Ok(Tried::Refused(Obstacle::Queue)),
            Acquired::Stale { .. } => return Ok(Tried::Stale),
        };
        let spec = self.grant_spec(kind, &step, token, &done);
        if spec.is_over(self.client().clock.now()) {
            undo(self, step.owner, step.lease, done.echo_until);
            return Ok(Tried::Late);
        }
        if contends {
            let tenure = self.tenure(kind, &step, &spec);
            self.line().hold(tenure);
        }
        Ok(Tried::Granted(Delivery::new(self, self.admit(spec), Way::AtOnce)))
    }
}
