//! How holds of a kind are renewed. Each hold carries it, so that the keeper knows no kind.

use std::any::TypeId;
use std::fmt;
use std::pin::Pin;
use std::time::Duration;

use super::{Grant, Renewed};
use crate::backend::{Backend, Done, Failed};
use crate::stats::{Counters, HoldCounts};
use crate::step::{Batch, BatchStep};
use crate::time::Tick;

/// The step by which a kind prolongs its holds, up to `CHUNK` of them in one script.
///
/// It leaves alone what lasts for longer: a hold that nothing renews is verified with a lease of next to nothing. Only what
/// [`Grant::asks_for`] returns cuts a hold short.
pub(crate) trait Renewal: BatchStep<Reply = Renewed> {
    /// Whether its holds have fencing tokens.
    const FENCED: bool = true;

    /// For `lease` from when the server carries it out.
    fn of(grant: &Grant, lease: Duration) -> Self;

    /// Where holds of this kind, and waits for them, are counted.
    fn counts(of: &Counters) -> &HoldCounts;
}

/// A hold that is to be renewed, and for how long.
pub(super) type ToRenew = (Grant, Duration);

type Sending<'a> = Pin<Box<dyn Future<Output = Result<Done<Vec<Renewed>>, Failed>> + Send + 'a>>;

/// A [`Renewal`] without its type.
pub(super) struct RenewedBy {
    step: fn() -> TypeId,
    /// The most holds that one script renews.
    pub(super) chunk: usize,
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
            &RenewedBy { step: TypeId::of::<R>, chunk: R::CHUNK, fenced: R::FENCED, send: send::<R>, counts: R::counts }
        }
    }

    /// Sends one script for these holds, which all are renewed by this.
    pub(super) fn send<'a>(&self, backend: &'a Backend, holds: &[ToRenew], deadline: Tick) -> Sending<'a> {
        (self.send)(backend, holds, deadline)
    }
}

fn send<'a, R: Renewal>(backend: &'a Backend, holds: &[ToRenew], deadline: Tick) -> Sending<'a> {
    let items = holds.iter().map(|(grant, lease)| (grant.name().clone(), R::of(grant, *lease))).collect();
    Box::pin(backend.run_batch(Batch { items }, deadline))
}

/// By the step: there may be several values for one.
impl PartialEq for RenewedBy {
    fn eq(&self, other: &RenewedBy) -> bool {
        (self.step)() == (other.step)()
    }
}

impl fmt::Debug for RenewedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenewedBy").field("step", &(self.step)()).field("chunk", &self.chunk).finish()
    }
}
