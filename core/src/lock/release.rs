//! Releasing, and giving back what nobody wants.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::holds::Leaving;
use super::step::{Release, Released};
use super::{HolderId, Lock, LockShared};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::lease::{Grant, LossReason};
use crate::time::Tick;

const OP: &str = "release";

impl Lock {
    /// Ends one acquire of `holder`; the last one frees the lock and wakes a waiter.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold it, or has lost it: then nothing of anybody else's was touched.
    /// [`ErrorKind::OutcomeUnknown`] or [`ErrorKind::Connection`] when no reply came within `operation_timeout`: the hold is
    /// over all the same, and the lease runs out on the server.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release.
    pub async fn release_as(&self, holder: HolderId) -> Result<()> {
        let leaving = self.shared.holds().leave(holder);
        match leaving {
            Leaving::NotHolding => {
                self.shared.check_open(OP)?;
                Err(self.shared.not_held(OP, None))
            }
            Leaving::Inner(grant) if grant.loss().is_some() => Err(self.shared.not_held(OP, Some(&grant))),
            Leaving::Inner(_) => Ok(()),
            Leaving::Last(grant) => self.shared.release(grant).await,
        }
    }

    /// Ends one acquire of `holder`, unattended: it is not the holder's any more when this returns, and the server is told in
    /// the background. For grants that reach nobody. What was lost by more than its lease running out is left alone.
    pub fn release_in_background(&self, holder: HolderId) {
        let leaving = self.shared.holds().leave(holder);
        if let Leaving::Last(grant) = leaving
            && matches!(grant.loss(), None | Some(LossReason::Expired))
        {
            self.shared.give_back(&grant);
        }
    }

    /// Forgets what `holder` holds without a word to the server, as when the holder went away: stops its renewal and warns.
    /// The lease runs out by itself.
    pub fn abandon_as(&self, holder: HolderId) {
        self.shared.abandon(holder);
    }
}

impl LockShared {
    /// Frees a grant that has been taken out of the holds.
    pub(crate) async fn release(self: &Arc<Self>, grant: Grant) -> Result<()> {
        if grant.loss().is_some() || !grant.begin_release() {
            // Its timer may not have come to it yet.
            grant.lose(LossReason::Expired);
            self.check_open(OP)?;
            // The key may outlive the client's belief in it by the margin: whoever waits need not wait for that.
            if grant.loss() == Some(LossReason::Expired) {
                self.give_back(&grant);
            }
            return Err(self.not_held(OP, Some(&grant)));
        }
        let (tell, told) = oneshot::channel();
        let (shared, its_grant) = (self.clone(), grant.clone());
        self.client().tasks.spawn_operation(async move {
            // Nobody may listen any more; the release was done.
            let _ = tell.send(shared.free(&its_grant).await);
        });
        let freed = told.await.unwrap_or_else(|_| {
            let message = "the release was cut off: its runtime was shut down, or libdlock has a defect";
            Err(Error::new(ErrorKind::Internal, OP, message))
        });
        match freed {
            Ok(Released::Freed { .. }) => Ok(()),
            Ok(Released::NotHeld) => {
                let message = format!(
                    "the server did not show it as held any more: it was taken away or removed since its last renewal; work \
                     done with token {} may have overlapped another holder's",
                    grant.token()
                );
                Err(Error::new(ErrorKind::NotHeld, OP, message).on(self.name().as_str()))
            }
            Err(error) => Err(error.on(self.name().as_str())),
        }
    }

    /// Frees a grant in the background.
    pub(super) fn give_back(self: &Arc<Self>, grant: &Grant) {
        let (shared, grant) = (self.clone(), grant.clone());
        self.client().tasks.spawn_operation(async move {
            if let Err(error) = shared.free(&grant).await {
                let message = format!("not confirmed as released, the lease runs out instead: {}", error.message());
                shared.client().events.emit(Level::Warn, Some(shared.name().as_str()), message);
            }
        });
    }

    /// Tells the server, then lets the next one of this process go on.
    async fn free(self: &Arc<Self>, grant: &Grant) -> Result<Released> {
        let client = self.client();
        grant.begin_release();
        client.keeper.forget(grant);
        let step = Release { owner: grant.owner().to_owned(), rejoin: false };
        let freed = client.backend.run(self.name(), &step, client.operation_deadline()).await;
        grant.release();
        let outcome = match freed {
            // A retry that finds nothing: the first attempt did it.
            Ok(done) if done.reply == Released::NotHeld && done.echo_until.is_some() => {
                Ok(Released::Freed { announced: true, rank: None })
            }
            Ok(done) => Ok(done.reply),
            Err(failed) => Err(failed.error),
        };
        if let Ok(Released::Freed { announced: false, .. }) = outcome {
            let message = "released, but the server's access rules forbid to tell the waiters, who come by their timers; \
                           allow the channel with &redisson_lock__channel:*";
            client.events.emit(Level::Warn, Some(self.name().as_str()), message);
        }
        // An attempt of this owner that was never answered may still arrive, and take the lock for nobody.
        if let Some(until) = grant.echo_until() {
            undo(self, grant.owner().to_owned(), grant.lease(), Some(until));
        }
        outcome
    }
}

/// Makes sure, in the background, that `owner` holds nothing: now, and once more when bytes of an attempt that was never
/// answered can no longer take effect. Gives up when the lease would have run out anyway. Keeps no client alive.
pub(super) fn undo(shared: &Arc<LockShared>, owner: String, lease: Duration, echo_until: Option<Tick>) {
    let client = shared.client();
    let (name, backend, clock, tasks) =
        (shared.name().clone(), client.backend.clone(), client.clock.clone(), client.tasks.clone());
    let first = client.tasks.under_way();
    tasks.clone().spawn(async move {
        let step = Release { owner, rejoin: false };
        // A failure leaves the key to its TTL, which is what the deadline says.
        let _ = backend.run(&name, &step, clock.now().plus(lease)).await;
        drop(first);
        if let Some(until) = echo_until.filter(|until| *until > clock.now()) {
            let again = until.plus(backend.attempt_budget());
            tokio::select! {
                () = tasks.closed() => return,
                () = clock.sleep_until(again) => {}
            }
            let _ = backend.run(&name, &step, again.plus(lease)).await;
        }
    });
}
