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
                self.client().check_open(OP)?;
                Err(self.shared.not_held(OP, None))
            }
            Leaving::Inner(grant) if grant.loss().is_some() => Err(self.shared.not_held(OP, Some(&grant))),
            Leaving::Inner(_) => Ok(()),
            Leaving::Last(grant) => self.shared.release(grant).await,
        }
    }

    /// One release by `holder`, unattended: a hold that is lost already is left to its lease.
    pub(super) fn release_in_background(&self, holder: HolderId) {
        let leaving = self.shared.holds().leave(holder);
        if let Leaving::Last(grant) = leaving {
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
        if let Some(reason) = grant.loss() {
            grant.lose(reason);
            self.client().check_open(OP).map_err(|error| error.on(self.name().as_str()))?;
            // The key may outlive the client's belief in it by the margin: whoever waits need not wait for that.
            if reason == LossReason::Expired {
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
        let freed = told
            .await
            .unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, OP, "the release panicked, a defect in libdlock")));
        match freed {
            Ok(Released::Freed { .. }) => Ok(()),
            Ok(Released::NotHeld) => Err(self.not_held(OP, Some(&grant))),
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
        // From here on nothing may be renewed: a renewal behind the release would be for nothing.
        client.keeper.forget(grant);
        let step = Release { owner: grant.owner().to_owned() };
        let freed = client.backend.run(self.name(), &step, client.operation_deadline()).await;
        let outcome = match freed {
            // A retry that finds nothing: the first attempt did it.
            Ok(done) if done.reply == Released::NotHeld && done.echo_until.is_some() => {
                Ok(Released::Freed { announced: true })
            }
            Ok(done) => Ok(done.reply),
            Err(failed) => Err(failed.error),
        };
        match outcome {
            Ok(Released::NotHeld) => grant.lose(LossReason::Deleted),
            _ => grant.release(),
        };
        if let Ok(Released::Freed { announced: false }) = outcome {
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
/// answered can no longer take effect. Gives up when the lease would have run out anyway.
pub(super) fn undo(shared: &Arc<LockShared>, owner: String, lease: Duration, echo_until: Option<Tick>) {
    let shared = shared.clone();
    let tasks = shared.client().tasks.clone();
    tasks.spawn(async move {
        let client = shared.client();
        let step = Release { owner };
        let now = client.clock.now();
        let last = echo_until.filter(|until| *until > now).map(|until| until.plus(client.backend.attempt_budget()));
        for at in [Some(now), last].into_iter().flatten() {
            client.clock.sleep_until(at).await;
            let deadline = at.plus(lease);
            // A failure leaves the key to its TTL, which is what the deadline says.
            let _ = client.backend.run(shared.name(), &step, deadline).await;
        }
    });
}
