//! One caller that waits.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::watch;

use super::object::{LatchObject, LookFailed, Shown};
use super::step::Look;
use super::watch as watching;
use crate::backend::Done;
use crate::error::Result;
use crate::time::Tick;
use crate::wait::{ON_ITS_WAY, Wait, by_deadline};

/// The call's name in errors.
pub(super) const OP: &str = "wait for latch";

/// A caller that waits, from before its first look: a message that comes after that look is not missed.
struct Waiter<'a> {
    object: &'a Arc<LatchObject>,
    /// Taken out when it leaves.
    shown: Option<watch::Receiver<Shown>>,
    /// The first look that counts for it: earlier ones may be older than its call.
    first: u64,
    /// A look of its own has shown it closed.
    seen: bool,
    /// It has not ended by itself.
    cancelled: bool,
}

/// Waits until the latch is open, as long as `wait` says; whether it was open then.
pub(super) async fn wait(object: &Arc<LatchObject>, wait: Wait) -> Result<bool> {
    let client = object.client();
    let counts = &client.counters.latch;
    let began = client.clock.now();
    let opened = match wait.until(began) {
        None => match client.operate(object.name(), &Look).await {
            Ok(done) => done.reply.count == 0,
            Err(failed) => return Err(failed.error.renamed(OP)),
        },
        Some(until) => {
            let _waiting = counts.waits();
            let (mut waiter, others) = Waiter::enter(object);
            let opened = waiter.until(began, until, others).await;
            waiter.cancelled = false;
            opened?
        }
    };
    match opened {
        true => counts.opened(client.clock.now().since(began)),
        false => counts.wait_timed_out(),
    }
    Ok(opened)
}

impl<'a> Waiter<'a> {
    fn enter(object: &'a Arc<LatchObject>) -> (Waiter<'a>, bool) {
        let (shown, first, others) = object.enter();
        (Waiter { object, shown: Some(shown), first, seen: false, cancelled: true }, others)
    }

    /// The first that waits looks itself, in its own time and on its own thread: an open latch needs no subscription. Others
    /// look together with it from then on.
    async fn until(&mut self, began: Tick, until: Tick, others: bool) -> Result<bool> {
        if others {
            watching::start(self.object);
            self.object.note();
        } else {
            let client = self.object.client();
            let deadline = client.operation_deadline();
            match client.operate_until(self.object.name(), &Look, deadline, until).await {
                Ok(Done { reply, .. }) if reply.count == 0 => return Ok(true),
                Ok(_) => self.seen = true,
                // A wait with an end is over at that, whatever the server does meanwhile.
                Err(failed) if failed.away && until != Tick::NEVER => {}
                Err(failed) => return Err(failed.error.renamed(OP)),
            }
            watching::start(self.object);
        }
        self.shown(began, until).await
    }

    /// What the looks that count show until then.
    async fn shown(&mut self, began: Tick, until: Tick) -> Result<bool> {
        let (first, clock) = (self.first, &self.object.client().clock);
        let Some(shown) = &mut self.shown else { return Ok(false) };
        let has_failed = |shown: &Shown| shown.failed.clone().filter(|_| shown.last >= first);
        let ends = |failed: &LookFailed| !failed.away || until == Tick::NEVER;
        let told = {
            let told =
                shown.wait_for(|shown| shown.open >= first || has_failed(shown).is_some_and(|failed| ends(&failed)));
            // The sender lives in the object.
            by_deadline(clock, until, pin!(told)).await.and_then(|told| told.ok().map(|told| told.clone()))
        };
        let last = told.unwrap_or_else(|| shown.borrow().clone());
        match has_failed(&last) {
            _ if last.open >= first => Ok(true),
            Some(failed) => Err(failed.error),
            None if self.seen || last.last >= first || until.since(began) < ON_ITS_WAY => Ok(false),
            None => Err(self.object.away(OP)),
        }
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        if self.object.client().tasks.is_forked() {
            return;
        }
        if self.cancelled {
            self.object.client().counters.latch.cancelled();
        }
        self.shown.take().into_iter().for_each(|shown| self.object.leave(shown));
    }
}
