//! What becomes of the answer to an acquire.

use std::sync::Arc;

use super::contend::{self, First};
use super::cut_off::CutOffOnDrop;
use super::delivery::Delivery;
use super::object::{Contended, Obstacle};
use super::owed::{Undone, undo};
use super::{AcquireStep, Acquired, Primitive, Wanted};
use crate::backend::{Done, Failed, echo_until};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{GrantKind, GrantSpec, Term};
use crate::stats::Way;
use crate::step::Step;
use crate::time::Tick;

/// How often a request that came too late is repeated at once, an acquire or a cancel: the server's clock may be jumping.
pub(super) const TOO_LATE_IN_A_ROW: u32 = 3;

/// The error of a caller that wants more than there is.
pub(super) fn more_than_there_is(op: &'static str, total: i64) -> Error {
    let allowed = format!("1 to {}, of which there are so many in all", total.max(0));
    Error::refused(ErrorKind::InvalidArgument, op, "more permits were asked for than there are", allowed)
}

/// What was asked of the server for a waiter, and its outcome.
pub(super) struct AcquireOutcome<P: Primitive> {
    pub(super) wanted: P::Wanted,
    /// What further callers want, for whom the same request asks.
    pub(super) others: Vec<P::Wanted>,
    pub(super) step: P::Acquire,
    pub(super) sent: Tick,
    pub(super) outcome: Result<Done<Acquired>, Failed>,
}

/// What came of a non-blocking attempt.
pub(super) enum NonBlockingOutcome<P: Primitive> {
    Granted(Delivery<P>),
    Refused(Obstacle),
    /// The request reached the server after its `not_after`. If it was sent more than once, and an answer is missing that may
    /// have been a grant, that is being undone.
    TooLate(Option<Undone>),
    /// Granted, but the answer took longer than the lease, in the words of [`GrantSpec::too_slow`]; the grant is given back.
    LeaseOver(String),
}

/// What came of a line's first request.
pub(super) enum Opened<P: Primitive> {
    Granted(Delivery<P>),
    Waits(ContenderStart<P>),
}

/// How the contender begins after a first request that brought no grant. If the caller drops this without taking it, the
/// contender is started nevertheless.
pub(super) struct ContenderStart<P: Primitive> {
    shared: Arc<Contended<P>>,
    first: Option<First<P>>,
}

impl<P: Primitive> ContenderStart<P> {
    /// How the contender of a caller that stands in line begins.
    pub(super) fn into_first(mut self) -> First<P> {
        self.first.take().unwrap_or(First::Leave)
    }
}

impl<P: Primitive> Drop for ContenderStart<P> {
    fn drop(&mut self) {
        if self.shared.client().tasks.leak_if_forked(&self.shared) {
            return;
        }
        if let Some(first) = self.first.take() {
            contend::start(&self.shared, first);
        }
    }
}

/// A non-blocking attempt: a request that joins no queue.
pub(super) struct NonBlocking<P: Primitive> {
    pub(super) wanted: P::Wanted,
    pub(super) step: P::Acquire,
    /// It contends for the line, which stands behind the grant then.
    pub(super) contends: bool,
}

impl<P: Primitive> Contended<P> {
    /// Handles the outcome of a line's first request: a grant goes to its caller at once.
    pub(super) fn opened(self: &Arc<Self>, mut guard: CutOffOnDrop<P>, opening: AcquireOutcome<P>) -> Opened<P> {
        guard.disarm();
        let AcquireOutcome { wanted, others, step, sent, outcome } = opening;
        if let Ok(done) = &outcome
            && let Acquired::Granted { token, .. } = done.reply
        {
            let spec = self.grant_spec(wanted.term(), &step, (token, 0), done);
            if !spec.is_over() {
                if P::ONE_GRANT_ENDS {
                    let cohort = P::cohort(self.client(), wanted, &step, &spec);
                    self.line().hold(cohort);
                    return Opened::Granted(Delivery::new(self, self.admit(spec), Way::AtOnce));
                }
                let grant = self.admit_all(wanted, spec);
                let rest = self.line().rest();
                contend::go_on(self, rest);
                return Opened::Granted(Delivery::new(self, grant, Way::AtOnce));
            }
        }
        let first = Some(First::Begun(AcquireOutcome { wanted, others, step, sent, outcome }));
        Opened::Waits(ContenderStart { shared: self.clone(), first })
    }

    /// What a grant for this term is made from: the one with this token, number `at` of its request.
    pub(super) fn grant_spec(
        &self,
        term: Term,
        step: &P::Acquire,
        (token, at): (u64, usize),
        done: &Done<Acquired>,
    ) -> GrantSpec {
        let parcel = done.reply.parcel(at);
        let token = parcel.as_ref().map_or(token, |parcel| parcel.token);
        GrantSpec {
            name: self.name().clone(),
            owner: step.owner().to_owned(),
            token: step.token(token),
            lease: step.lease(),
            leased: P::Renew::LEASED,
            watchdog: term.watchdog(),
            clock_drift: self.client().options.clock_drift,
            sent: done.sent,
            granted: self.client().clock.now(),
            echo_until: done.echo_until,
            reached: done.reached,
            parcel,
        }
    }

    /// Undoes an acquire of which an attempt got no answer, which may have been granted or may yet be, unless this is that
    /// grant.
    pub(super) fn undo_unless_granted(
        self: &Arc<Self>,
        step: &P::Acquire,
        outcome: &Result<Done<Acquired>, Failed>,
    ) -> Option<Undone> {
        let echo_until = echo_until(outcome);
        let granted = outcome.as_ref().is_ok_and(|done| matches!(done.reply, Acquired::Granted { .. }));
        (echo_until.is_some() && !granted).then(|| undo(self, step.owner(), step.lease(), echo_until))
    }

    /// Handles the outcome of a non-blocking attempt, and lets callers that came meanwhile contend.
    pub(super) fn non_blocking_done(
        self: &Arc<Self>,
        request: NonBlocking<P>,
        outcome: Result<Done<Acquired>, Failed>,
    ) -> Result<NonBlockingOutcome<P>> {
        let contends = request.contends;
        let tried = self.judge(request, outcome);
        let line_holds = P::ONE_GRANT_ENDS && matches!(tried, Ok(NonBlockingOutcome::Granted(_)));
        if contends && !line_holds {
            let rest = self.line().rest();
            contend::go_on(self, rest);
        }
        tried
    }

    fn judge(
        self: &Arc<Self>,
        request: NonBlocking<P>,
        outcome: Result<Done<Acquired>, Failed>,
    ) -> Result<NonBlockingOutcome<P>> {
        let NonBlocking { wanted, step, contends } = request;
        let undone = self.undo_unless_granted(&step, &outcome);
        let done = outcome.map_err(|failed| failed.error)?;
        let token = match done.reply {
            Acquired::Granted { token, .. } => token,
            Acquired::Busy { ttl, holder, .. } => {
                return Ok(NonBlockingOutcome::Refused(Obstacle::Holder { holder, ttl }));
            }
            // One caller's request makes one acquire.
            Acquired::NotYourTurn { .. } | Acquired::Several { .. } => {
                return Ok(NonBlockingOutcome::Refused(Obstacle::Queue));
            }
            Acquired::TooLate { .. } => return Ok(NonBlockingOutcome::TooLate(undone)),
            Acquired::MoreThanThereIs { total, .. } => {
                return Err(more_than_there_is(P::Acquire::OP, total).on(self.name().as_str()));
            }
        };
        let spec = self.grant_spec(wanted.term(), &step, (token, 0), &done);
        if spec.is_over() {
            undo(self, step.owner(), step.lease(), done.echo_until);
            return Ok(NonBlockingOutcome::LeaseOver(spec.too_slow(&self.client().target)));
        }
        if contends && P::ONE_GRANT_ENDS {
            let cohort = P::cohort(self.client(), wanted, &step, &spec);
            self.line().hold(cohort);
        }
        Ok(NonBlockingOutcome::Granted(Delivery::new(self, self.admit_all(wanted, spec), Way::AtOnce)))
    }
}
