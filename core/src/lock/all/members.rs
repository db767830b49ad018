//! The locks that a holder has of a set, each with its grant: views, which end nothing when they are dropped.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use super::{HolderId, LockAll, LostMember};
use crate::contended::extend_together;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, LossReason};
use crate::lock::{Lock, LockObject};
use crate::wait::{Wait, by_deadline};

/// What a holder has of a set: some of its locks while it is being taken, and all of them afterwards.
#[derive(Clone)]
pub struct Members {
    pub(super) all: LockAll,
    /// Each with its place in the set; in that order once the set is complete.
    members: Vec<(usize, Grant)>,
}

impl Members {
    pub(super) fn new(all: &LockAll) -> Members {
        Members { all: all.clone(), members: Vec::new() }
    }

    pub(super) fn add(&mut self, at: usize, grant: Grant) {
        self.members.push((at, grant));
    }

    /// To be called once the set is complete.
    pub(super) fn sort(&mut self) {
        self.members.sort_by_key(|(at, _)| *at);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Takes all of them out.
    pub(super) fn take(&mut self) -> Vec<(usize, Grant)> {
        std::mem::take(&mut self.members)
    }

    pub(super) fn each(&self) -> impl ExactSizeIterator<Item = (&Lock, &Grant)> {
        self.members.iter().map(|(at, grant)| (&self.all.locks[*at], grant))
    }

    pub(super) fn grants(&self) -> impl ExactSizeIterator<Item = &Grant> {
        self.members.iter().map(|(_, grant)| grant)
    }

    /// The name and the fencing token of each, in the order of the keys.
    pub fn tokens(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.each().map(|(lock, grant)| (lock.name(), grant.token()))
    }

    /// As [`HeldAll::is_valid`](super::HeldAll::is_valid).
    pub fn is_valid(&self) -> bool {
        !self.remaining().is_zero()
    }

    /// As [`HeldAll::remaining`](super::HeldAll::remaining).
    pub fn remaining(&self) -> Duration {
        self.grants().map(Grant::remaining).min().unwrap_or_default()
    }

    /// As [`HeldAll::loss`](super::HeldAll::loss).
    pub fn loss(&self) -> Option<LostMember> {
        self.each().find_map(|(lock, grant)| Some(LostMember::new(lock, grant.loss()?)))
    }

    /// As [`HeldAll::lost`](super::HeldAll::lost).
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost(&self) -> Option<LostMember> {
        type Lost<'a> = Pin<Box<dyn Future<Output = Option<LossReason>> + Send + 'a>>;
        let waits = |(lock, grant)| -> (&Lock, Option<Lost<'_>>) { (lock, Some(Box::pin(Grant::lost(grant)))) };
        let mut waiting: Vec<_> = self.each().map(waits).collect();
        std::future::poll_fn(move |context| {
            let mut pending = false;
            for (lock, waits) in &mut waiting {
                let Some(lost) = waits else { continue };
                match lost.as_mut().poll(context) {
                    Poll::Ready(Some(reason)) => return Poll::Ready(Some(LostMember::new(lock, reason))),
                    Poll::Ready(None) => *waits = None,
                    Poll::Pending => pending = true,
                }
            }
            if pending { Poll::Pending } else { Poll::Ready(None) }
        })
        .await
    }

    /// As [`HeldAll::lost_within`](super::HeldAll::lost_within).
    ///
    /// # Errors and cancel safety
    /// As there.
    pub async fn lost_within(&self, wait: Wait) -> Result<Option<LostMember>> {
        const OP: &str = "lost";
        let first = &self.all.locks[0];
        let clock = &first.client().clock;
        let now = clock.now();
        let over = by_deadline(clock, wait.until(now).unwrap_or(now), pin!(self.lost())).await;
        let busy = || Error::new(ErrorKind::Busy, OP, "the hold was not over within the wait").on(first.key());
        over.ok_or_else(busy)
    }

    /// Has all of them last for `lease` from now on, by one request.
    pub(super) async fn extend(&self, op: &'static str, lease: Duration) -> Result<()> {
        let holds: Vec<_> = self.each().map(|(lock, grant)| (lock.shared.clone(), grant.clone())).collect();
        extend_together(op, &holds, lease).await
    }

    /// Takes each back from `holder`; those that were its last acquire, and the first error.
    pub(super) fn take_back(&self, holder: HolderId) -> (Vec<(Arc<LockObject>, Grant)>, Result<()>) {
        let (mut last, mut result) = (Vec::new(), Ok(()));
        for (lock, grant) in self.each() {
            match lock.take_back(holder, Some(grant.token())) {
                Ok(Some(grant)) => last.push((lock.shared.clone(), grant)),
                Ok(None) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        (last, result)
    }
}

impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.each().map(|(lock, grant)| (lock.name(), grant))).finish()
    }
}
