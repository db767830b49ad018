//! A pool of worker numbers, as one client sees it: how a number is leased, and which it has.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use super::span::Span;
use super::step::{Acquire, Leased, Release};
use super::tenancy::Tenancy;
use super::{OP, WorkerOptions};
use crate::backend::{Done, Failed, RequiredReplicas};
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{GrantSpec, HolderId};
use crate::name::ObjectName;
use crate::objects::{Object, ObjectKind, Releasing};
use crate::stats::Way;
use crate::time::Tick;

/// How often a request that came too late is made anew: the server's clock may be jumping.
const TOO_LATE_IN_A_ROW: u32 = 3;

/// The latest time that a holder's clock of nanoseconds can begin at and go on from, in the year 2262.
const LATEST_MS: u64 = i64::MAX as u64 / 1_000_000;

pub(super) struct Pool {
    name: ObjectName,
    context: Arc<Context>,
    tenancies: Mutex<Vec<Weak<Tenancy>>>,
}

impl Pool {
    pub(super) fn new(name: ObjectName, context: Arc<Context>) -> Pool {
        Pool { name, context, tenancies: Mutex::default() }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(super) fn client(&self) -> &Context {
        &self.context
    }

    /// Leases a number.
    pub(super) async fn lease(self: Arc<Self>, options: WorkerOptions) -> Result<Arc<Tenancy>> {
        let client = self.client();
        let begun = client.clock.now();
        let lease = options.lease.unwrap_or(client.options.lease);
        for _ in 0..=TOO_LATE_IN_A_ROW {
            let step = Acquire { owner: client.next_owner(), lease, size: options.size() };
            let done = match client.operate(&self.name, &step).await {
                Ok(done) => done,
                Err(failed) => {
                    self.undo(&step.owner, lease, failed.echo_until);
                    return Err(failed.error);
                }
            };
            match done.reply {
                Leased::Granted { number, until_ms, .. } if number >= options.size() || until_ms > LATEST_MS => {
                    self.undo(&step.owner, lease, Some(client.clock.now()));
                    return Err(self.unusable(options, number, until_ms));
                }
                Leased::Granted { number, until_ms, .. } => {
                    let granted = self.granted(step, lease, &done, number, until_ms).await;
                    if granted.is_ok() {
                        client.counters.worker.acquired(client.clock.now().since(begun), Way::AtOnce);
                    }
                    return granted;
                }
                Leased::Full { taken, first_ms, .. } => {
                    client.counters.worker.wait_timed_out();
                    self.undo(&step.owner, lease, done.echo_until);
                    return Err(self.exhausted(options, taken, first_ms.map(Duration::from_millis)));
                }
                Leased::TooLate { .. } => self.undo(&step.owner, lease, done.echo_until),
            }
        }
        let message = "the server's clock jumps back and forth; check its time synchronisation";
        Err(Error::new(ErrorKind::Clock, OP, message).temporary().on(self.name.as_str()))
    }

    async fn granted(
        self: &Arc<Self>,
        step: Acquire,
        lease: Duration,
        done: &Done<Leased>,
        number: u64,
        until_ms: u64,
    ) -> Result<Arc<Tenancy>> {
        let client = self.client();
        if let Err(error) = self.acknowledged(done).await {
            self.undo(&step.owner, lease, done.echo_until.or(Some(client.clock.now())));
            return Err(error.on(self.name.as_str()));
        }
        let spec = GrantSpec {
            name: self.name.clone(),
            owner: step.owner,
            // Tells it from others of this client; a number has no fencing token.
            token: client.next_number(),
            lease,
            leased: true,
            watchdog: Some(lease),
            clock_drift: client.options.clock_drift,
            sent: done.sent,
            granted: client.clock.now(),
            echo_until: done.echo_until,
            reached: done.reached,
            parcel: None,
        };
        if spec.is_over() {
            self.undo(&spec.owner, lease, done.echo_until.or(Some(client.clock.now())));
            let message = spec.too_slow(&client.target);
            return Err(Error::new(ErrorKind::Connection, OP, message).on(self.name.as_str()));
        }
        let from_ms = until_ms.saturating_sub(crate::time::millis(lease));
        let span = Span::new(client.clock.clone(), spec.clock_drift, from_ms, spec.granted, spec.sent, lease);
        let tenancy = Tenancy::new(self, spec, number, span);
        let mut tenancies = self.tenancies();
        tenancies.retain(|one| one.strong_count() > 0);
        tenancies.push(Arc::downgrade(&tenancy));
        drop(tenancies);
        client.keeper.watch(tenancy.grant());
        Ok(tenancy)
    }

    /// Whether as many replicas have the lease as the option `replicas` says.
    async fn acknowledged(&self, done: &Done<Leased>) -> Result<()> {
        let client = self.client();
        let Some(RequiredReplicas { count, timeout }) = RequiredReplicas::of(&client.options) else { return Ok(()) };
        let counted = client.backend.count_replicas(&self.name, done.reached).await;
        let had = counted.map_err(|Failed { error, .. }| error.renamed(OP))?;
        if had >= count {
            return Ok(());
        }
        let message = format!(
            "{had} replicas had the lease within {timeout:?} (option replica_timeout), of {count} that must have it (option \
             replicas); nothing is leased. Check that the replicas are connected and keep up (INFO replication), or require fewer"
        );
        Err(Error::new(ErrorKind::Server, OP, message))
    }

    fn exhausted(&self, options: WorkerOptions, taken: u64, first: Option<Duration>) -> Error {
        let next = match first {
            Some(first) => format!("the first lease ends in {first:?}, unless it is renewed"),
            None => "no lease ends".to_owned(),
        };
        let message = format!(
            "all {} numbers of {} bits are taken, {taken} are leased from this pool, and {next}; release numbers, wait, or take more \
             bits",
            options.size(),
            options.bits
        );
        Error::new(ErrorKind::Busy, OP, message).retry_in(first).on(self.name.as_str())
    }

    /// What no server leases whose keys nobody else has changed.
    fn unusable(&self, options: WorkerOptions, number: u64, until_ms: u64) -> Error {
        let error = if until_ms > LATEST_MS {
            let message = format!(
                "worker number {number} is taken until {until_ms} ms after 1970, later than ids can be: the server's clock was far \
                 ahead, or its keys were changed. Delete the keys of the pool when nobody holds a number of it, or use another pool"
            );
            Error::new(ErrorKind::Clock, OP, message)
        } else {
            let size = options.size();
            let message =
                format!("the server leased number {number} of a pool of {size}, as no version of libdlock does");
            Error::new(ErrorKind::Server, OP, message)
        };
        error.permanent().on(self.name.as_str())
    }

    /// Releases, in the background, what an attempt without an answer may have taken, once its bytes can no longer take effect.
    pub(super) fn undo(self: &Arc<Self>, owner: &str, lease: Duration, echo_until: Option<Tick>) {
        let Some(until) = echo_until else { return };
        let (pool, step) = (self.clone(), Release { owner: owner.to_owned(), used_ms: 0 });
        let at = until.plus(self.client().backend.attempt_budget());
        self.client().tasks.spawn_operation(async move {
            let client = pool.client();
            tokio::select! {
                _ = client.tasks.closing_at_once() => {}
                () = client.clock.sleep_until(at) => {}
            }
            // A lease that cannot be given back runs out.
            let _ = client.operate_until(&pool.name, &step, at.plus(lease), Tick::NEVER).await;
        });
    }

    fn tenancies(&self) -> MutexGuard<'_, Vec<Weak<Tenancy>>> {
        self.tenancies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ObjectKind for Pool {
    const KIND: &'static str = OP;
}

impl Object for Pool {
    fn name(&self) -> &ObjectName {
        &self.name
    }

    /// Nobody waits for a number.
    fn refuse_waiters(&self, _error: &Error) {}

    fn look_again(&self) {}

    /// A number belongs to no thread or task.
    fn abandon(&self, _holder: HolderId) {}

    /// Each is kept by its workers and generators only.
    fn let_go(&self) {}

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        let held: Vec<_> = self.tenancies().iter().filter_map(Weak::upgrade).collect();
        held.iter().filter_map(|tenancy| tenancy.take_from_holder()).collect()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.context.objects.forget::<Pool>(&self.name);
    }
}
