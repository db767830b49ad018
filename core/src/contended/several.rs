//! One request for several callers of this process, of an object that several can hold.
//!
//! To the server it is several acquires, one after the other in one instant, up to the first that is not granted. Each has an
//! owner of its own: each is granted, given back and undone by itself.

use std::sync::Arc;

use super::contend::{Contender, Next};
use super::delivery::Delivery;
use super::object::Contended;
use super::outcome::TOO_LATE_IN_A_ROW;
use super::owed::undo;
use super::{AcquireStep, Acquired, Primitive, Wanted};
use crate::backend::{Done, Failed, echo_until};
use crate::ended::cut_off;
use crate::error::Result;
use crate::lease::{Grant, HolderId};
use crate::stats::Way;
use crate::step::Step;
use crate::time::Tick;

impl<P: Primitive> Contender<P> {
    /// The outcome of a request that was made for the caller that wants `wanted[0]`, and for those behind it.
    pub(super) fn came_for_several(
        &mut self,
        wanted: &[P::Wanted],
        step: &P::Acquire,
        sent: Tick,
        outcome: Result<Done<Acquired>, Failed>,
    ) -> Next<P> {
        let (steps, echo_until) = (step.each(), echo_until(&outcome));
        let (granted, refused) = match &outcome {
            Ok(Done { reply: Acquired::Granted { .. }, .. }) => (steps.len(), None),
            Ok(Done { reply: Acquired::Several { granted, then, .. }, .. }) => (*granted, Some(Acquired::clone(then))),
            Ok(Done { reply, .. }) => (0, Some(reply.clone())),
            Err(_) => (0, None),
        };
        let refused_at = granted.min(steps.len());
        for step in &steps[refused_at..] {
            // An error may have come after some were granted; not where nothing was sent.
            if echo_until.is_some() || outcome.as_ref().is_err_and(|failed| !failed.away) {
                undo(&self.shared, step.owner(), step.lease(), echo_until);
            }
        }
        let done = match outcome {
            Ok(done) => done,
            Err(failed) => {
                // Those behind the ones that were granted, and do not count, have joined the queue.
                self.queued = true;
                return self.failed(failed, sent);
            }
        };
        let way = self.way();
        for (at, (wanted, step)) in wanted.iter().zip(&steps[..refused_at]).enumerate() {
            self.granted_one(*wanted, (step, at), &done, way);
        }
        match (refused, wanted.get(refused_at).zip(steps.get(refused_at))) {
            (Some(reply), Some((wanted, step))) => self.answered(*wanted, step, sent, Done { reply, ..done }),
            _ => Next::Ask,
        }
    }

    /// Gives what one of the acquires was granted to the first in line; back to the server when nobody wants it any more.
    fn granted_one(&mut self, wanted: P::Wanted, (step, at): (&P::Acquire, usize), done: &Done<Acquired>, way: Way) {
        self.was_granted();
        let spec = self.shared.grant_spec(wanted.term(), step, (0, at), done);
        if spec.is_over() {
            drop(undo(&self.shared, step.owner(), step.lease(), done.echo_until));
        } else if let Some(spec) = self.deliver(wanted, step, spec, way) {
            // Dropping it gives it back.
            drop(Delivery::new(&self.shared, self.shared.admit(spec), way));
        }
    }
}

impl<P: Primitive> Contended<P> {
    /// Asks once, without waiting, for all acquires of a request; the grants up to the first that is not granted. It is carried
    /// through even if the caller goes away, and then what was granted is given back.
    pub(crate) async fn ask_for_several(
        self: &Arc<Self>,
        holder: HolderId,
        wanted: P::Wanted,
        request: impl Fn() -> P::Acquire,
    ) -> Result<Vec<Grant>> {
        let asked_at = self.client().clock.now();
        for _ in 0..=TOO_LATE_IN_A_ROW {
            self.check_open(P::Acquire::OP)?;
            let (shared, step) = (self.clone(), request());
            let asking = async move { shared.try_several(wanted, step).await };
            let asked = self.client().tasks.operation(asking).await;
            let cut_off = || Err(cut_off(P::Acquire::OP, &self.client().tasks, "the attempt").on(self.name().as_str()));
            if let Some(deliveries) = asked.unwrap_or_else(cut_off)? {
                return deliveries.into_iter().map(|each| each.accept(P::Acquire::OP, holder, asked_at)).collect();
            }
        }
        Err(self.too_late(P::Acquire::OP))
    }

    /// `None` when the request came too late.
    async fn try_several(self: &Arc<Self>, wanted: P::Wanted, step: P::Acquire) -> Result<Option<Vec<Delivery<P>>>> {
        let deadline = self.client().operation_deadline();
        let outcome = self.send_acquire(&step, deadline, deadline).await;
        let (steps, echo_until) = (step.each(), echo_until(&outcome));
        let granted = match &outcome {
            Ok(Done { reply: Acquired::Granted { .. }, .. }) => steps.len(),
            Ok(Done { reply: Acquired::Several { granted, .. }, .. }) => (*granted).min(steps.len()),
            _ => 0,
        };
        for step in &steps[granted..] {
            if echo_until.is_some() || outcome.as_ref().is_err_and(|failed| !failed.away) {
                drop(undo(self, step.owner(), step.lease(), echo_until));
            }
        }
        let done = outcome.map_err(|failed| failed.error)?;
        if matches!(done.reply, Acquired::TooLate { .. }) {
            return Ok(None);
        }
        let mut deliveries = Vec::with_capacity(granted);
        for (at, step) in steps[..granted].iter().enumerate() {
            let spec = self.grant_spec(wanted.term(), step, (0, at), &done);
            if spec.is_over() {
                drop(undo(self, step.owner(), step.lease(), done.echo_until));
            } else {
                deliveries.push(Delivery::new(self, self.admit(spec), Way::AtOnce));
            }
        }
        Ok(Some(deliveries))
    }
}
