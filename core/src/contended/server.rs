//! Every call of the engine that reaches the server: another kind of server can stand behind this file.

use std::sync::Arc;
use std::time::Duration;

use super::{AcquireStep, Acquired, Cancelled, Contended, Joint, Look, Looked, Primitive, Released, TakenTogether};
use crate::backend::{Backend, Done, Failed, Listen, Reached, Subscription};
use crate::context::Context;
use crate::error::{Error, Result};
use crate::lease::{Grant, GrantKind, LossReason, Renewal, Renewed};
use crate::name::ObjectName;
use crate::step::{Batch, Step};
use crate::time::{ServerTime, Tick};

/// Between two attempts of a renewal that too few of several servers answered.
const PAUSE: Duration = Duration::from_millis(50);

impl<P: Primitive> Contended<P> {
    /// Asks for a grant until `deadline`, for a caller that waits until `caller`. Not for longer than the server would know a
    /// repeat of it. A grant counts when enough replicas have it, which takes time of its own.
    pub(super) async fn send_acquire(
        &self,
        step: &P::Acquire,
        deadline: Tick,
        caller: Tick,
    ) -> Result<Done<Acquired>, Failed> {
        let client = self.client();
        if let Some(quorum) = client.backend.quorum() {
            return step.at_several(quorum, self.name(), deadline, caller).await;
        }
        let deadline = if P::Renew::LEASED { deadline } else { deadline.min(client.clock.now().plus(step.lease())) };
        let done = client.operate_for(self.name(), step, deadline, caller).await?;
        self.acknowledged(step, done).await
    }

    /// How many replicas have what the server `reached` granted; see [`Backend::count_replicas`].
    pub(super) async fn count_replicas(&self, reached: Reached) -> Result<u32, Failed> {
        self.client().backend.count_replicas(self.name(), reached).await
    }

    /// Frees a hold, within `operation_timeout`.
    pub(super) async fn send_release(&self, step: &P::Release) -> Result<Done<Released>, Failed> {
        let client = self.client();
        match client.backend.quorum() {
            Some(quorum) => P::release_at_several(quorum, self.name(), step, client.operation_deadline()).await,
            None => client.operate(self.name(), step).await,
        }
    }

    /// Leaves the queue, within `operation_timeout`.
    pub(super) async fn send_cancel(&self) -> Result<Done<Cancelled>, Failed> {
        let client = self.client();
        if let Some(quorum) = client.backend.quorum() {
            let reply = Cancelled::Done { now: ServerTime::default(), had_place: false };
            return Ok(Done { reply, sent: client.clock.now(), echo_until: None, reached: quorum.reached() });
        }
        client.operate(self.name(), &P::cancel(client.id())).await
    }

    /// Runs a step of the primitive's own that does not wait, within `operation_timeout`.
    pub(crate) async fn run_now<S: Step>(&self, step: &S) -> Result<S::Reply> {
        self.check_open(S::OP)?;
        let done = self.client().operate(self.name(), step).await;
        done.map(|done| done.reply).map_err(|failed| failed.error)
    }

    /// Has the server end every hold of this name, whoever has it, by what `frees` does; what that says. Those of this client are
    /// lost when this returns, also if it said that there were none.
    pub(crate) async fn force_release(&self, frees: impl Future<Output = Result<bool>>) -> Result<bool> {
        // The server has freed these, or showed them gone. One that is granted meanwhile may have come before or after.
        let before = self.primitive().valid();
        let freed = frees.await;
        if freed.is_ok() {
            before.iter().for_each(|grant| self.client().keeper.end_as(grant, LossReason::Deleted));
        }
        self.verify_holds();
        freed
    }

    /// Takes note of what the server said to a renewal for `lease`; true when the hold is still held.
    pub(super) fn settle(&self, grant: &Grant, lease: Duration, done: &Done<Renewed>) -> bool {
        let client = self.client();
        client.keeper.settle(&client.backend, grant, lease, done.sent, done.reply)
    }

    /// Whether processes wait for it in a queue, and not by messages on its own channel and random pauses.
    pub(super) fn has_queue(&self) -> bool {
        self.client().backend.quorum().is_none()
    }

    /// When its server last answered any call of the client.
    pub(super) fn heard_at(&self) -> Tick {
        self.client().backend.heard_at(self.name())
    }

    /// Why its server cannot be reached, or what it refuses for now, if that is known.
    pub(super) fn why_away(&self) -> Option<Error> {
        self.client().backend.why_away(self.name())
    }

    /// The last time that the client may have found it on another server; see [`Backend::moves`].
    pub(crate) fn moves(&self) -> u64 {
        moves(self.client(), self.name())
    }
}

impl<P: Primitive> Contended<P>
where
    P::Renew: Renewal,
{
    /// Asks for a renewal of a hold, for `lease`, until `deadline`, that of `operation_timeout`, or until `end` if that is sooner.
    pub(super) async fn send_renewal(
        &self,
        grant: &Grant,
        lease: Duration,
        deadline: Tick,
        end: Tick,
    ) -> Result<Done<Renewed>, Failed> {
        let client = self.client();
        let Some(quorum) = client.backend.quorum() else {
            return client.operate_until(self.name(), &P::Renew::of(grant, lease), deadline, end).await;
        };
        let (hold, until) = ([(grant.clone(), lease)], deadline.min(end));
        loop {
            let done = P::Renew::at_several(quorum, &hold, until).await;
            let again = client.clock.now().plus(PAUSE);
            match done {
                Err(failed) if failed.away && again < until => client.clock.sleep_until(again).await,
                done => {
                    let Done { reply, sent, echo_until, reached } = done?;
                    let reply = reply.first().copied().unwrap_or(Renewed::Undecided);
                    return Ok(Done { reply, sent, echo_until, reached });
                }
            }
        }
    }
}

/// The last time that the client may have found the object of this name on another server; see [`Backend::moves`].
pub(super) fn moves(client: &Context, name: &ObjectName) -> u64 {
    client.backend.moves(name)
}

/// Asks for all of these or none, until `deadline`. The server knows at most a chunk of them at once.
pub(super) async fn send_acquires<P: TakenTogether>(
    client: &Context,
    items: Vec<(ObjectName, P::AcquireAll)>,
    deadline: Tick,
) -> Result<Done<Vec<Joint>>, Failed> {
    client.operate_jointly(Batch { items }, deadline).await
}

/// Frees many holds in one script, within `operation_timeout`.
pub(super) async fn send_releases<P: TakenTogether>(
    client: &Context,
    items: Vec<(ObjectName, P::ReleaseAll)>,
) -> Result<Done<Vec<Released>>, Failed> {
    client.operate_batch(Batch { items }, client.operation_deadline(), Tick::NEVER).await
}

/// Asks for renewals of many holds in one script, as [`Contended::send_renewal`].
pub(super) async fn send_renewals<P: Primitive<Renew: Renewal>>(
    client: &Context,
    items: Vec<(ObjectName, P::Renew)>,
    deadline: Tick,
    end: Tick,
) -> Result<Done<Vec<Renewed>>, Failed> {
    client.operate_batch(Batch { items }, deadline, end).await
}

/// The server, for work that must not keep the client alive. Clones are cheap.
#[derive(Clone)]
pub(super) struct ServerHandle(Arc<Backend>);

impl ServerHandle {
    pub(super) fn of(client: &Context) -> ServerHandle {
        ServerHandle(client.backend.clone())
    }

    /// Frees whatever `step` frees, until `deadline`, also when no object of this name is in use any more.
    pub(super) async fn send_release<P: Primitive>(
        &self,
        name: &ObjectName,
        step: &P::Release,
        deadline: Tick,
    ) -> Result<Done<Released>, Failed> {
        match self.0.quorum() {
            Some(quorum) => P::release_at_several(quorum, name, step, deadline).await,
            None => self.0.run(name, step, deadline).await,
        }
    }

    /// See [`Backend::batch_of`].
    pub(super) fn batch_of(&self, name: &ObjectName) -> u16 {
        self.0.batch_of(name)
    }

    /// Looks at objects of one batch, at most a chunk of them, in one script.
    pub(super) async fn send_looks<P: Primitive>(
        &self,
        items: Vec<(ObjectName, Look<P::Looks>)>,
        deadline: Tick,
    ) -> Result<Done<Vec<Looked>>, Failed> {
        if let Some(quorum) = self.0.quorum() {
            // Nobody stands in a queue there.
            let reply = items.iter().map(|_| Looked::Ask { now: ServerTime::default() }).collect();
            return Ok(Done { reply, sent: quorum.now(), echo_until: None, reached: quorum.reached() });
        }
        self.0.run_batch(Batch { items }, deadline).await
    }
}

/// Listens on a channel of an object; see [`Backend::subscribe`].
pub(super) fn subscribe(client: &Context, name: &ObjectName, channel: &str, listen: Listen) -> Subscription {
    client.backend.subscribe(name, channel, listen)
}

/// How long the bytes of one attempt may take effect after they were sent.
pub(super) fn attempt_budget(client: &Context) -> Duration {
    client.backend.attempt_budget()
}
