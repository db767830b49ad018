//! One number that is held: its lease, its time, and how it ends.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::super::generator::NumberLease;
use super::super::identity::Shared;
use super::super::layout::{Fields, Layout};
use super::pool::Pool;
use super::span::Span;
use super::step::{Release, Renew};
use crate::ended::{cut_off, ended};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::lease::{Grant, GrantSpec, LossReason, Source};
use crate::objects::Releasing;
use crate::step::Step;
use crate::task::Life;
use crate::time::Tick;

/// Lives as long as a worker or a generator has it, and is released with the last of them.
pub(super) struct Tenancy {
    pool: Arc<Pool>,
    grant: Grant,
    pub(super) number: u64,
    span: Arc<Span>,
    /// What was used of the time, for each layout: generators of one layout share it.
    slots: Mutex<Vec<(Layout, Arc<Shared>)>>,
}

impl Tenancy {
    pub(super) fn new(pool: &Arc<Pool>, spec: GrantSpec, number: u64, span: Span) -> Arc<Tenancy> {
        let (pool, clock, span) = (pool.clone(), pool.client().clock.clone(), Arc::new(span));
        Arc::new_cyclic(|source: &Weak<Tenancy>| {
            let grant = Grant::new::<Renew>(spec, clock, source.clone());
            Tenancy { pool, grant, number, span, slots: Mutex::default() }
        })
    }

    pub(super) fn grant(&self) -> &Grant {
        &self.grant
    }

    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// What generators of this layout share.
    pub(super) fn slots(&self, fields: &Fields) -> Arc<Shared> {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, shared)) = slots.iter().find(|(layout, _)| *layout == fields.layout) {
            return shared.clone();
        }
        let shared = Arc::new(self.span.slots(fields));
        slots.push((fields.layout, shared.clone()));
        shared
    }

    /// Gives the number back.
    pub(super) async fn release(self: &Arc<Self>) -> Result<()> {
        let client = self.pool.client();
        let now = client.clock.now();
        client.check_open(Release::OP)?;
        client.keeper.expire(&self.grant, now);
        if self.grant.loss_at(now).is_some() || !self.grant.begin_release() {
            return Err(self.over(Release::OP));
        }
        let freeing = client.tasks.operation(Box::pin(self.freeing()));
        freeing.await.unwrap_or_else(|| Err(cut_off(Release::OP, &client.tasks, "the release")))
    }

    /// Ends the hold for its holder, and gives the number back; nothing if it is over already.
    pub(super) fn take_from_holder(self: &Arc<Self>) -> Option<Releasing> {
        self.grant.take_from_holder().then(|| Box::pin(self.freeing()) as Releasing)
    }

    /// Frees a number whose release has begun, when it is polled. Nothing is made under it any more.
    fn freeing(&self) -> impl Future<Output = Result<()>> + Send + 'static + use<> {
        let (pool, grant) = (self.pool.clone(), self.grant.clone());
        let client = pool.client();
        let used_ms = self.span.end();
        client.keeper.forget(&grant);
        client.counters.worker.released(client.clock.now().since(grant.since()));
        async move {
            let step = Release { owner: grant.owner().to_owned(), used_ms };
            let freed = pool.client().operate(pool.name(), &step).await;
            grant.release();
            // Bytes of an attempt without an answer may still lease it, for nobody.
            let client = pool.client();
            let arriving = |until: &Tick| until.plus(client.backend.attempt_budget()) > client.clock.now();
            if grant.echo_until().as_ref().is_some_and(arriving) {
                pool.undo(grant.owner(), grant.lease(), grant.echo_until());
            }
            match freed {
                // A repeat that finds nothing: an attempt before it has freed the number.
                Ok(done) if done.reply || done.echo_until.is_some() => Ok(()),
                Ok(_) => {
                    let message = "the server did not show the number as held any more: it was given to another holder, or removed, \
                                   since the last renewal";
                    Err(Error::new(ErrorKind::NotHeld, Release::OP, message).on(pool.name().as_str()))
                }
                Err(failed) => Err(failed.error.permanent()),
            }
        }
    }

    /// Why nothing can be done with it any more.
    pub(super) fn over(&self, op: &'static str) -> Error {
        let number = self.number;
        let error = match self.grant.loss() {
            Some(LossReason::Closed) if self.pool.client().tasks.is_forked() => return ended(op, Life::Forked),
            Some(reason) => {
                let message = format!(
                    "worker number {number} is not held any more: {reason}. Lease another one: ids that were made under it are \
                     unique"
                );
                Error::new(if op == Release::OP { ErrorKind::NotHeld } else { ErrorKind::Lost }, op, message)
            }
            None if self.grant.is_valid() => {
                let message = format!("the server has not confirmed worker number {number} for long enough");
                Error::new(ErrorKind::Lost, op, message)
            }
            None => Error::new(ErrorKind::NotHeld, op, format!("worker number {number} was released")),
        };
        error.on(self.pool.name().as_str())
    }
}

impl Source for Tenancy {
    fn lost(self: Arc<Self>, _grant: &Grant, _reason: LossReason) {
        self.span.end();
    }

    fn renewal_data(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        Some(self.span.clone())
    }
}

impl NumberLease for Tenancy {
    fn check(&self) -> Result<()> {
        if self.pool.client().tasks.is_forked() {
            return Err(ended("next id", Life::Forked));
        }
        if self.span.goes_on() { Ok(()) } else { Err(self.over("next id")) }
    }
}

impl Drop for Tenancy {
    fn drop(&mut self) {
        let client = self.pool.client();
        if client.tasks.leak_if_forked(&self.pool) {
            // A thread that is not here may have locked what is in it.
            std::mem::forget(self.grant.clone());
            return;
        }
        if !self.grant.begin_release() {
            return;
        }
        let (freeing, pool) = (self.freeing(), self.pool.clone());
        client.tasks.spawn_operation(async move {
            if let Err(error) = freeing.await {
                let message = format!("not confirmed as released, the lease runs out instead: {}", error.message());
                pool.client().events.emit(Level::Warn, Some(pool.name().as_str()), message);
            }
        });
    }
}
