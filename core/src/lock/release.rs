//! Releasing, and giving back what nobody wants.

use std::sync::Arc;
use std::time::Duration;

use super::contend::{self, First};
use super::holds::Leaving;
use super::line::{Pass, Rest};
use super::shared::{Delivery, LockShared};
use super::step::{Release, Released};
use super::{HolderId, Lock};
use crate::backend::{Begun, Directly, Done, Failed};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::lease::{Grant, Lease, LossReason};
use crate::stats::Way;
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
        match self.leave(holder)? {
            Some(grant) => self.shared.release(grant).await,
            None => Ok(()),
        }
    }

    /// As [`Lock::release_as`], for a thread that may block; see [`Lock::acquire_directly`].
    ///
    /// # Errors and cancel safety
    /// As [`Lock::release_as`].
    pub async fn release_directly(&self, holder: HolderId) -> Result<()> {
        match self.leave(holder)? {
            Some(grant) => self.shared.release_directly(grant).await,
            None => Ok(()),
        }
    }

    /// Takes one acquire of `holder` back; the grant if it was the last one.
    pub(super) fn leave(&self, holder: HolderId) -> Result<Option<Grant>> {
        if self.leave_now(holder) {
            return Ok(None);
        }
        let leaving = self.shared.holds().leave(holder);
        match leaving {
            Leaving::NotHolding => {
                self.shared.check_open(OP)?;
                Err(self.shared.not_held(OP, None))
            }
            Leaving::Inner(grant) if grant.loss().is_some() => Err(self.shared.not_held(OP, Some(&grant))),
            Leaving::Inner(_) => Ok(None),
            Leaving::Last(grant) => Ok(Some(grant)),
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
        match self.end_hold(&grant)? {
            Some(freeing) => self.free_to_the_end(grant, freeing, None).await,
            None => Ok(()),
        }
    }

    pub(super) async fn release_directly(self: &Arc<Self>, grant: Grant) -> Result<()> {
        let Some(freeing) = self.end_hold(&grant)? else { return Ok(()) };
        let client = self.client();
        let sent = client.clock.now();
        let outcome = match client.backend.run_directly(self.name(), &freeing.step(&grant), Tick::NEVER) {
            Directly::Done(done) => Ok(done),
            Directly::Failed(failed) => Err(failed),
            Directly::Unavailable => return self.free_to_the_end(grant, freeing, None).await,
            Directly::Unanswered(begun) => return self.free_to_the_end(grant, freeing, Some(begun)).await,
        };
        let freed = self.freed(&grant, freeing, sent, outcome);
        self.reported(&grant, freed)
    }

    /// Frees a hold, and goes on with that when nobody waits for it any more.
    async fn free_to_the_end(self: &Arc<Self>, grant: Grant, freeing: Freeing, begun: Option<Begun>) -> Result<()> {
        let (shared, its_grant) = (self.clone(), grant.clone());
        let freeing = async move { shared.free(&its_grant, freeing, begun).await };
        let freed = self.client().tasks.operation(freeing).await.unwrap_or_else(|| {
            let message = "the release was cut off: its runtime was shut down, or libdlock has a defect";
            Err(Error::new(ErrorKind::Internal, OP, message))
        });
        self.reported(&grant, freed)
    }

    /// Ends a hold for its holder. `None`: the next of this process has it. An error: it was lost.
    fn end_hold(self: &Arc<Self>, grant: &Grant) -> Result<Option<Freeing>> {
        // Its timer may not have come to it yet.
        if !grant.is_valid() && grant.lose(LossReason::Expired) {
            self.client().counters.lost();
        }
        if let Some(loss) = grant.loss() {
            self.check_open(OP)?;
            // The key may outlive the client's belief in it by the margin: whoever waits need not wait for that.
            if loss == LossReason::Expired {
                self.give_back(grant);
            }
            return Err(self.not_held(OP, Some(grant)));
        }
        Ok(self.pass_on(grant))
    }

    /// What a holder is told of its release.
    fn reported(&self, grant: &Grant, freed: Result<Released>) -> Result<()> {
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

    /// Ends, in the background, a hold that nobody wants, or whose holder believes it over.
    pub(super) fn give_back(self: &Arc<Self>, grant: &Grant) {
        let Some(freeing) = self.pass_on(grant) else { return };
        let (shared, grant) = (self.clone(), grant.clone());
        self.client().tasks.spawn_operation(async move {
            if let Err(error) = shared.free(&grant, freeing, None).await {
                let message = format!("not confirmed as released, the lease runs out instead: {}", error.message());
                shared.client().events.emit(Level::Warn, Some(shared.name().as_str()), message);
            }
        });
    }

    /// Hands a hold to the next in line, without the server, if it may. Else it is over here and to be freed there.
    fn pass_on(self: &Arc<Self>, grant: &Grant) -> Option<Freeing> {
        let client = self.client();
        let (held_for, now) = (grant.held_for(), client.clock.now());
        // One that was extended is not handed on: who gets it asked for the watchdog's lease, and no longer one.
        let plain = grant.is_renewed() && grant.lease() == client.options.lease;
        let kind = if plain { Lease::Watchdog } else { Lease::Fixed(grant.lease()) };
        let hand_over = |token| client.keeper.hand_over(grant, token, self.on_end(token));
        let pass = self.line().pass(grant.token(), kind, now.0, hand_over);
        let freeing = match pass {
            Pass::To(ticket, next) => {
                client.counters.released(held_for);
                ticket.deliver(Delivery::new(self, next, Way::Local));
                return None;
            }
            Pass::Release { rejoin } => Freeing { rejoin, contends: true },
            Pass::Aside => Freeing { rejoin: false, contends: false },
        };
        if grant.begin_release() {
            client.counters.released(held_for);
        }
        client.keeper.forget(grant);
        Some(freeing)
    }

    /// Tells the server, then lets the next one contend.
    async fn free(self: &Arc<Self>, grant: &Grant, freeing: Freeing, begun: Option<Begun>) -> Result<Released> {
        let (client, step) = (self.client(), freeing.step(grant));
        let sent = client.clock.now();
        let freed = client.backend.run_from(self.name(), &step, client.operation_deadline(), begun).await;
        self.freed(grant, freeing, sent, freed)
    }

    /// What follows from the server's answer to a release that was sent at `sent`, for the hold and for those who wait.
    fn freed(
        self: &Arc<Self>,
        grant: &Grant,
        freeing: Freeing,
        sent: Tick,
        freed: Result<Done<Released>, Failed>,
    ) -> Result<Released> {
        grant.release();
        let outcome = match freed {
            // A retry that finds nothing: the first attempt did it.
            Ok(done) if done.reply == Released::NotHeld && done.echo_until.is_some() => {
                Ok(Released::Freed { announced: true, rank: None })
            }
            Ok(done) => Ok(done.reply),
            Err(failed) => Err(failed.error),
        };
        if freeing.contends {
            let rank = match outcome {
                Ok(Released::Freed { rank, .. }) => rank,
                _ => None,
            };
            self.go_on(freeing.rejoin, rank, sent);
        }
        if let Ok(Released::Freed { announced: false, .. }) = outcome {
            let message = "released, but the server's access rules forbid to tell the waiters, who come by their timers; \
                           allow the channels with &redisson_lock__channel:* &dlock_inbox:*";
            self.client().events.emit(Level::Warn, Some(self.name().as_str()), message);
        }
        // An attempt of this owner that was never answered may still arrive, and take the lock for nobody.
        if let Some(until) = grant.echo_until() {
            undo(self, grant.owner().to_owned(), grant.lease(), Some(until));
        }
        outcome
    }

    /// A release is over: those who wait contend, and a place in the queue that nobody needs is left.
    fn go_on(self: &Arc<Self>, rejoined: bool, rank: Option<u64>, sent: Tick) {
        let mut line = self.line();
        // A release without a reply does not know whether it has joined.
        if rejoined && line.wanted().is_none() {
            line.owe_leaving();
        }
        let rest = line.rest();
        drop(line);
        match (rest, rank) {
            (Rest::Waiting, Some(rank)) => contend::start(self, First::Joined { rank, sent }),
            (Rest::Waiting, None) => contend::start(self, First::Ask { queued: rejoined }),
            (rest, _) => contend::go_on(self, rest),
        }
    }
}

/// A hold that is over here and to be freed on the server.
#[derive(Clone, Copy)]
struct Freeing {
    /// Join the queue in the same step: others of this process wait.
    rejoin: bool,
    /// The line waits for it.
    contends: bool,
}

impl Freeing {
    fn step(self, grant: &Grant) -> Release {
        Release { owner: grant.owner().to_owned(), rejoin: self.rejoin }
    }
}

/// Makes sure, in the background, that `owner` holds nothing: now, and once more when bytes of an attempt that was never
/// answered can no longer take effect. Gives up when the lease would have run out anyway. Keeps no client alive.
pub(super) fn undo(shared: &Arc<LockShared>, owner: String, lease: Duration, echo_until: Option<Tick>) {
    let client = shared.client();
    let (name, backend, clock, tasks, client) = (
        shared.name().clone(),
        client.backend.clone(),
        client.clock.clone(),
        client.tasks.clone(),
        shared.client_weak(),
    );
    let first = tasks.under_way();
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
        if echo_until.is_some() {
            // The lock may have been forgotten here, and made anew.
            client.upgrade().into_iter().for_each(|client| client.lock_shared(&name).leave_queue());
        }
    });
}
