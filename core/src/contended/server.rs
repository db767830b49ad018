//! Every call of the engine that reaches the server: another kind of server can stand behind this file.

use std::sync::Arc;
use std::time::Duration;

use super::{Acquired, Cancelled, Contended, Looked, Primitive, Released};
use crate::backend::{Backend, Done, Failed, Listen, Subscription};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::lease::{Grant, Renewed};
use crate::name::ObjectName;
use crate::step::{Batch, Step};
use crate::time::Tick;

impl<P: Primitive> Contended<P> {
    /// Asks for a grant until `deadline`, for a caller that waits until `caller`.
    pub(super) async fn send_acquire(
        &self,
        step: &P::Acquire,
        deadline: Tick,
        caller: Tick,
    ) -> Result<Done<Acquired>, Failed> {
        self.client().operate_for(self.name(), step, deadline, caller).await
    }

    /// Frees a hold, within `operation_timeout`.
    pub(super) async fn send_release(&self, step: &P::Release) -> Result<Done<Released>, Failed> {
        self.client().operate(self.name(), step).await
    }

    /// Leaves the queue, within `operation_timeout`.
    pub(super) async fn send_cancel(&self) -> Result<Done<Cancelled>, Failed> {
        let client = self.client();
        client.operate(self.name(), &P::cancel(client.id())).await
    }

    /// Asks for a renewal of a hold until `deadline`, that of `operation_timeout`, or until `end` if that is sooner.
    pub(super) async fn send_renewal(
        &self,
        step: &P::Renew,
        deadline: Tick,
        end: Tick,
    ) -> Result<Done<Renewed>, Failed> {
        self.client().operate_until(self.name(), step, deadline, end).await
    }

    /// Runs a step of the primitive's own that does not wait, within `operation_timeout`.
    pub(crate) async fn run_now<S: Step>(&self, step: &S) -> Result<S::Reply> {
        self.check_open(S::OP)?;
        let done = self.client().operate(self.name(), step).await;
        done.map(|done| done.reply).map_err(|failed| failed.error)
    }

    /// Takes note of what the server said to a renewal for `lease`; true when the hold is still held.
    pub(super) fn settle(&self, grant: &Grant, lease: Duration, done: &Done<Renewed>) -> bool {
        let client = self.client();
        client.keeper.settle(&client.backend, grant, lease, done.sent, done.reply)
    }

    /// When the server last answered any call of the client.
    pub(super) fn heard_at(&self) -> Tick {
        self.client().backend.heard_at()
    }

    /// Why the server cannot be reached, or what it refuses for now, if that is known.
    pub(super) fn why_away(&self) -> Option<Error> {
        self.client().backend.why_away()
    }

    /// How often the client may have found itself on another server.
    pub(super) fn moves(&self) -> u64 {
        self.client().backend.moves()
    }
}

/// The server, for work that must not keep the client alive. Clones are cheap.
#[derive(Clone)]
pub(super) struct ServerHandle(Arc<Backend>);

impl ServerHandle {
    pub(super) fn of(client: &Context) -> ServerHandle {
        ServerHandle(client.backend.clone())
    }

    /// Frees whatever `step` frees, until `deadline`, also when no object of this name is in use any more. A failure leaves the
    /// key to its time to live.
    pub(super) async fn send_release<P: Primitive>(&self, name: &ObjectName, step: &P::Release, deadline: Tick) {
        let _ = self.0.run(name, step, deadline).await;
    }

    /// Looks at objects, at most a chunk of them, in one script.
    pub(super) async fn send_looks<P: Primitive>(
        &self,
        items: Vec<(ObjectName, P::Look)>,
        deadline: Tick,
    ) -> Result<Done<Vec<Looked>>, Failed> {
        self.0.run_batch(Batch { items }, deadline).await
    }
}

/// Listens on a channel; see [`Backend::subscribe`].
pub(super) fn subscribe(client: &Context, channel: &str, listen: Listen) -> Subscription {
    client.backend.subscribe(channel, listen)
}

/// How long the bytes of one attempt may take effect after they were sent.
pub(super) fn attempt_budget(client: &Context) -> Duration {
    client.backend.attempt_budget()
}
