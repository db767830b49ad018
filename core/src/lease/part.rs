//! One hold on the server that several holders of a process have together: each has a part in it, which ends by itself, and the
//! hold ends with the last part.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use tokio::sync::Notify;

use super::grant::Inner;
use super::tenure::Stage;
use super::{Grant, LossReason};
use crate::time::Tick;

/// What one holder has of a hold that is shared.
pub(super) struct Part {
    /// How many have one.
    parts: Arc<AtomicUsize>,
    ended: AtomicU8,
    /// The hold itself.
    whole: Arc<Inner>,
}

const HELD: u8 = 0;
const RELEASED: u8 = 1;
const ABANDONED: u8 = 2;
/// Its holder has done with a hold that was lost before: the part stays lost, as the hold.
const LOST: u8 = 3;

impl Part {
    /// The first part of a hold.
    fn first(whole: Arc<Inner>) -> Part {
        Part { parts: Arc::new(AtomicUsize::new(1)), ended: AtomicU8::new(HELD), whole }
    }

    /// One more part; `None` once the last has ended.
    fn join(&self) -> Option<Part> {
        let one_more = |parts: usize| (parts > 0).then_some(parts + 1);
        self.parts.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).ok()?;
        Some(Part { parts: self.parts.clone(), ended: AtomicU8::new(HELD), whole: self.whole.clone() })
    }

    /// Ends this part as `RELEASED`, `ABANDONED` or `LOST`; true when it was the last. Ends it once.
    fn end(&self, to: u8) -> bool {
        if self.ended.compare_exchange(HELD, to, Ordering::AcqRel, Ordering::Acquire).is_err() {
            return false;
        }
        self.parts.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// How it ended, if it has by itself.
    pub(super) fn ended(&self) -> Option<Stage> {
        match self.ended.load(Ordering::Acquire) {
            // As the hold itself.
            HELD | LOST => None,
            RELEASED => Some(Stage::Released),
            _ => Some(Stage::Lost(LossReason::Closed)),
        }
    }
}

impl Grant {
    /// As the first of several grants that are one hold on the server: each ends by itself, and the hold with the last.
    pub(crate) fn shared(self) -> Grant {
        let since = self.inner.since;
        Grant::part(Part::first(self.inner), since)
    }

    /// One more grant of a hold that is shared; `None` where it is not, or once the last of its holders has gone.
    pub(crate) fn join(&self) -> Option<Grant> {
        let part = self.inner.part.as_ref()?.join()?;
        Some(Grant::part(part, self.inner.tenure.clock.now()))
    }

    fn part(part: Part, since: Tick) -> Grant {
        let Inner { tenure, turn, token, parcel, .. } = &*part.whole;
        let (tenure, turn, token, parcel) = (tenure.clone(), *turn, *token, parcel.clone());
        let (over, part) = (Notify::new(), Some(Box::new(part)));
        Grant { inner: Arc::new(Inner { tenure, turn, token, since, over, part, parcel }) }
    }

    /// Its holder has done with it; true when nobody else has it too, and the hold itself is to be ended. What was lost stays
    /// lost.
    pub(crate) fn leave(&self) -> bool {
        self.end_part(if self.loss().is_some() { LOST } else { RELEASED })
    }

    /// As [`Grant::leave`], of a holder that went away: it is lost.
    pub(crate) fn leave_abandoned(&self) -> bool {
        self.end_part(ABANDONED)
    }

    fn end_part(&self, to: u8) -> bool {
        let Some(part) = &self.inner.part else { return true };
        let last = part.end(to);
        self.inner.over.notify_waiters();
        last
    }

    /// The hold itself, whoever shares it.
    pub(crate) fn whole(&self) -> Grant {
        Grant { inner: self.hold().clone() }
    }

    /// Of the hold itself.
    pub(super) fn hold(&self) -> &Arc<Inner> {
        self.inner.part.as_ref().map_or(&self.inner, |part| &part.whole)
    }
}
