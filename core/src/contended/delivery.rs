//! A grant on its way from the task that got it to the caller that waits for it.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::Primitive;
use super::give_back::LastHolder;
use super::object::Contended;
use crate::error::{Error, Result};
use crate::lease::{Grant, GrantKind, HolderId};
use crate::stats::Way;
use crate::task::UnderWay;
use crate::time::Tick;

/// How a waiter is given what it waits for.
pub(crate) struct Ticket<P: Primitive> {
    reply: oneshot::Sender<Result<Delivery<P>>>,
    endless: bool,
    asked_at: Tick,
}

/// A grant on its way to the caller: nobody's hold until it is accepted. Dropping it gives it back.
pub(crate) struct Delivery<P: Primitive> {
    shared: Arc<Contended<P>>,
    grant: Option<Grant>,
    way: Way,
    /// A client that closes waits for it to arrive or to be given back.
    _under_way: UnderWay,
}

impl<P: Primitive> Ticket<P> {
    pub(super) fn new(endless: bool, asked_at: Tick) -> (Ticket<P>, oneshot::Receiver<Result<Delivery<P>>>) {
        let (reply, replied) = oneshot::channel();
        (Ticket { reply, endless, asked_at }, replied)
    }

    /// Whether it waits without an end, and has waited since `sent` at least.
    pub(super) fn is_endless_since(&self, sent: Tick) -> bool {
        self.endless && self.asked_at <= sent
    }

    /// If the receiver is gone, dropping the delivery returns the grant.
    pub(super) fn deliver(self, delivery: Delivery<P>) {
        drop(self.reply.send(Ok(delivery)));
    }

    pub(super) fn refuse(self, error: Error) {
        drop(self.reply.send(Err(error)));
    }
}

impl<P: Primitive> Delivery<P> {
    pub(super) fn new(shared: &Arc<Contended<P>>, grant: Grant, way: Way) -> Delivery<P> {
        let _under_way = shared.client().tasks.under_way();
        Delivery { shared: shared.clone(), grant: Some(grant), way, _under_way }
    }

    /// Makes it the holder's hold, unless the client has begun to close.
    pub(super) fn accept(mut self, op: &'static str, holder: HolderId, asked_at: Tick) -> Result<Grant> {
        self.shared.check_open(op)?;
        let grant = self.grant.take().expect("a delivery is accepted once");
        self.shared.primitive().enter(holder, grant.clone());
        let client = self.shared.client();
        // On its way it was no hold that a message could have been about.
        if P::Renew::LEASED && self.shared.home().is_doubted_since(grant.since()) {
            client.keeper.verify(&grant);
        }
        P::Renew::counts(&client.counters).acquired(grant.since().since(asked_at), self.way);
        Ok(grant)
    }
}

impl<P: Primitive> Drop for Delivery<P> {
    fn drop(&mut self) {
        if self.shared.client().tasks.leak_if_forked(&self.shared) {
            return;
        }
        if let Some(grant) = self.grant.take() {
            self.shared.give_back(&grant, LastHolder::Nobody);
        }
    }
}
