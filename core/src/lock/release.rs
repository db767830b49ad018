//! Releasing.

use super::{HolderId, Lock};
use crate::contended::{LastHolder, TakenBack};
use crate::error::Result;
use crate::lease::{Grant, LossReason};
use crate::objects::Object;

const OP: &str = "release";

impl Lock {
    /// Ends one acquire of `holder`; the last one frees the lock and wakes a waiter.
    ///
    /// # Errors
    /// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` does not hold it, or has lost it: then nothing of anybody else's
    /// was touched. [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) or [`Connection`](crate::ErrorKind::Connection) when
    /// no reply came within `operation_timeout`: the hold is over all the same, and the lease runs out on the server. No retry
    /// helps against any of these: it finds no hold.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release.
    pub async fn release_as(&self, holder: HolderId) -> Result<()> {
        self.release_which(holder, None).await
    }

    /// As [`Lock::release_as`], but only for the hold with this token: a scope that lost its hold does not end a later one of
    /// the same holder.
    ///
    /// # Errors and cancel safety
    /// As [`Lock::release_as`].
    pub(crate) async fn release_hold_as(&self, holder: HolderId, token: u64) -> Result<()> {
        self.release_which(holder, Some(token)).await
    }

    async fn release_which(&self, holder: HolderId, token: Option<u64>) -> Result<()> {
        match self.take_back(holder, token)? {
            Some(grant) => self.shared.release(grant, LastHolder::Caller).await,
            None => Ok(()),
        }
    }

    /// Takes one acquire of `holder` back; the grant if it was the last one.
    pub(super) fn take_back(&self, holder: HolderId, token: Option<u64>) -> Result<Option<Grant>> {
        if self.release_reentry(holder, token) {
            return Ok(None);
        }
        if self.is_forked() {
            self.shared.check_open(OP)?;
        }
        let taken_back = self.shared.holds().take_back(holder, token);
        match taken_back {
            TakenBack::NotHeld => {
                self.shared.check_open(OP)?;
                Err(self.shared.not_held(OP, None))
            }
            TakenBack::Reentry(grant) if grant.loss().is_some() => Err(self.shared.not_held(OP, Some(&grant))),
            TakenBack::Reentry(_) => Ok(None),
            TakenBack::Last(grant) => Ok(Some(grant)),
        }
    }

    /// Ends one acquire of `holder`, of the hold with this token, unattended: it is not the holder's any more when this
    /// returns, and the server is told in the background. For grants that reach nobody. What was lost by more than its lease
    /// running out is left alone.
    pub(crate) fn release_in_background(&self, holder: HolderId, token: u64) {
        if self.is_forked() {
            return;
        }
        let taken_back = self.shared.holds().take_back(holder, Some(token));
        if let TakenBack::Last(grant) = taken_back
            && matches!(grant.loss(), None | Some(LossReason::Expired))
        {
            self.shared.give_back(&grant, LastHolder::Caller);
        }
    }

    /// Forgets what `holder` holds without a word to the server, as when the holder went away: stops its renewal and warns.
    /// The lease runs out by itself.
    pub(crate) fn abandon_as(&self, holder: HolderId) {
        if !self.is_forked() {
            self.shared.abandon(holder);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use crate::Client;

    #[tokio::test]
    async fn a_grant_that_reaches_nobody_is_not_counted_as_released() {
        let client = Client::connect("memory://").await.unwrap();
        let lock = client.lock("jobs").unwrap();
        let held = lock.acquire().await.unwrap();
        let mut waiting = Box::pin(lock.acquire());
        while client.stats().lock.waiting == 0 {
            assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            tokio::task::yield_now().await;
        }
        held.release().await.unwrap();
        while client.stats().lock.held == 0 {
            tokio::task::yield_now().await;
        }
        // The grant lies in the waiter's channel.
        drop(waiting);
        while lock.inspect().await.unwrap().holder.is_some() {
            tokio::task::yield_now().await;
        }
        let stats = client.stats().lock;
        assert_eq!((stats.acquired, stats.released), (1, 1));
    }
}
