//! How holds of a kind are renewed. Each hold carries it, so that the keeper knows no kind.

use std::any::TypeId;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use super::{Grant, Renewed};
use crate::backend::{Backend, Done, Failed, Quorum};
use crate::stats::{Counters, HoldCounts};
use crate::step::{Batch, BatchStep};
use crate::time::Tick;

/// The step by which a kind prolongs its holds, up to `CHUNK` of them in one script, or as many as weigh as much.
///
/// It leaves alone what lasts for longer: a hold that nothing renews is verified with a lease of next to nothing. Only what
/// [`Grant::asks_for`] returns cuts a hold short.
pub(crate) trait Renewal: BatchStep<Reply = Renewed> {
    /// Whether its holds have fencing tokens.
    const FENCED: bool = true;

    /// Whether a step of it wants to hear what the server said to it.
    const HEARS: bool = false;

    /// How many ordinary holds make a script as much work as the hold of this owner.
    fn weight(_owner: &str) -> usize {
        1
    }

    /// For `lease` from when the server carries it out.
    fn of(grant: &Grant, lease: Duration) -> Self;

    /// What the server said to it, before anybody acts on it; where [`Renewal::HEARS`].
    fn hear(&self, _reply: Renewed) {}

    /// Renews holds at several servers, of which a majority has to renew each.
    fn at_several(
        quorum: &Arc<Quorum>,
        _holds: &[(Grant, Duration)],
        _deadline: Tick,
    ) -> impl Future<Output = Result<Done<Vec<Renewed>>, Failed>> + Send {
        std::future::ready(Err(quorum.refuse(Self::OP)))
    }

    /// Where holds of this kind, and waits for them, are counted.
    fn counts(of: &Counters) -> &HoldCounts;
}

/// What the grants of a kind are to their client: holds that a [`Renewal`] prolongs, or something that is granted for good.
pub(crate) trait GrantKind: 'static {
    /// Whether its grants end with a lease. The keeper looks after these only.
    const LEASED: bool;

    /// For [`Grant::new`].
    fn renewed_by() -> &'static RenewedBy;

    /// Where grants of this kind, and waits for them, are counted.
    fn counts(of: &Counters) -> &HoldCounts;
}

impl<R: Renewal> GrantKind for R {
    const LEASED: bool = true;

    fn renewed_by() -> &'static RenewedBy {
        RenewedBy::of::<R>()
    }

    fn counts(of: &Counters) -> &HoldCounts {
        <R as Renewal>::counts(of)
    }
}

/// A hold that is to be renewed, and for how long.
pub(super) type ToRenew = (Grant, Duration);

type Sending<'a> = Pin<Box<dyn Future<Output = Result<Done<Vec<Renewed>>, Failed>> + Send + 'a>>;

/// A [`Renewal`] without its type.
pub(crate) struct RenewedBy {
    step: fn() -> TypeId,
    /// The most holds that one script renews, by weight; one hold at least.
    pub(super) chunk: usize,
    /// See [`Renewal::weight`].
    weight: fn(&str) -> usize,
    /// See [`Renewal::FENCED`].
    pub(super) fenced: bool,
    send: for<'a> fn(&'a Backend, &[ToRenew], Tick) -> Sending<'a>,
    /// See [`Renewal::counts`].
    pub(super) counts: fn(&Counters) -> &HoldCounts,
}

impl RenewedBy {
    pub(super) const fn of<R: Renewal>() -> &'static RenewedBy {
        const {
            assert!(R::CHUNK > 0);
            &RenewedBy {
                step: TypeId::of::<R>,
                chunk: R::CHUNK,
                weight: R::weight,
                fenced: R::FENCED,
                send: send::<R>,
                counts: R::counts,
            }
        }
    }

    /// Of a kind that is granted for good: no keeper ever has one of its grants.
    pub(crate) const fn nothing<K: GrantKind>() -> &'static RenewedBy {
        const {
            assert!(!K::LEASED);
            &RenewedBy {
                step: TypeId::of::<K>,
                chunk: 1,
                weight: |_| 1,
                fenced: false,
                send: |_, _, _| unreachable!("what is granted for good is not renewed"),
                counts: K::counts,
            }
        }
    }

    /// See [`Renewal::weight`].
    pub(super) fn weight(&self, (grant, _): &ToRenew) -> usize {
        (self.weight)(grant.owner())
    }

    /// Sends one script for these holds, which all are renewed by this.
    pub(super) fn send<'a>(&self, backend: &'a Backend, holds: &[ToRenew], deadline: Tick) -> Sending<'a> {
        (self.send)(backend, holds, deadline)
    }
}

fn send<'a, R: Renewal>(backend: &'a Backend, holds: &[ToRenew], deadline: Tick) -> Sending<'a> {
    if let Some(quorum) = backend.quorum() {
        let holds = holds.to_vec();
        return Box::pin(async move { R::at_several(quorum, &holds, deadline).await });
    }
    let items: Vec<_> = holds.iter().map(|(grant, lease)| (grant.name().clone(), R::of(grant, *lease))).collect();
    if !R::HEARS {
        return Box::pin(backend.run_batch(Batch { items }, deadline));
    }
    let steps: Vec<R> = items.iter().map(|(_, step)| step.clone()).collect();
    let sending = backend.run_batch(Batch { items }, deadline);
    Box::pin(async move {
        let done = sending.await?;
        steps.iter().zip(&done.reply).for_each(|(step, reply)| step.hear(*reply));
        Ok(done)
    })
}

/// By the step: there may be several values for one.
impl RenewedBy {
    /// Of the step that renews, which tells one kind from another.
    pub(super) fn step_type(&self) -> TypeId {
        (self.step)()
    }
}

impl PartialEq for RenewedBy {
    fn eq(&self, other: &RenewedBy) -> bool {
        self.step_type() == other.step_type()
    }
}

impl fmt::Debug for RenewedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenewedBy").field("step", &self.step_type()).field("chunk", &self.chunk).finish()
    }
}
