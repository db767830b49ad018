//! What the limiters of one name share in one client: the callers that wait, and what was fetched ahead.

use std::sync::Arc;

use super::limits::Limits;
use super::prefetch::Pockets;
use super::redisson;
use super::reservations::{By, Reservations, Reserved};
use super::shares::Shares;
use super::step::GiveBack;
use super::together::Together;
use crate::context::Context;
use crate::error::Error;
use crate::lease::HolderId;
use crate::name::ObjectName;
use crate::objects::{Object, ObjectKind, Releasing};

pub(crate) struct LimitObject {
    name: ObjectName,
    limits: Arc<Limits>,
    reservations: Reservations,
    redisson: redisson::Shared,
    pockets: Pockets,
    together: Together,
}

impl LimitObject {
    pub(super) fn new(name: ObjectName, limits: Arc<Limits>) -> LimitObject {
        let (reservations, redisson, pockets, together) = Default::default();
        LimitObject { name, limits, reservations, redisson, pockets, together }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.name
    }

    /// What the limiters of its client share.
    pub(super) fn limits(&self) -> &Arc<Limits> {
        &self.limits
    }

    pub(super) fn client(&self) -> &Context {
        self.limits.context()
    }

    /// The buckets of this client alone.
    pub(super) fn shares(&self) -> &Shares {
        &self.limits.shares
    }

    pub(super) fn reservations(&self) -> &Reservations {
        &self.reservations
    }

    /// What the client knows of those that are kept as Redisson's.
    pub(super) fn known(&self) -> &redisson::Known {
        &self.limits.known
    }

    /// For those that are kept as Redisson's.
    pub(super) fn redisson(&self) -> &redisson::Shared {
        &self.redisson
    }

    /// The callers that ask together.
    pub(super) fn together(&self) -> &Together {
        &self.together
    }

    /// What was fetched ahead.
    pub(super) fn pockets(&self) -> &Pockets {
        &self.pockets
    }

    /// Whether the tokens could be given back, to the one that charged them. Asked once: a repeat could give them back twice.
    pub(super) async fn give_back(&self, reserved: &Reserved) -> bool {
        let step = GiveBack::new(&reserved.rates, reserved.cost, reserved.stood.clone());
        match reserved.by {
            By::Share => self.shares().run(&self.name, &step, self.client().clock.now()).unwrap_or(true),
            By::Server => {
                let deadline = self.client().clock.now().plus(self.client().options.response_timeout);
                match self.client().backend.run(&self.name, &step, deadline).await {
                    Ok(done) => done.reply,
                    Err(failed) => failed.echo_until.is_some(),
                }
            }
        }
    }
}

impl ObjectKind for LimitObject {
    const KIND: &'static str = "rate limiter";
}

/// The client has little to do, since nothing is held.
impl Object for LimitObject {
    fn name(&self) -> &ObjectName {
        &self.name
    }

    /// Each caller waits for the end of the client itself. What was fetched ahead is given back.
    fn refuse_waiters(&self, _error: &Error) {
        self.pockets.all().iter().for_each(|pocket| pocket.close());
    }

    /// Callers wait for a time that the server gave them, not for a message.
    fn look_again(&self) {}

    fn abandon(&self, _holder: HolderId) {}

    fn let_go(&self) {}

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        Vec::new()
    }
}

impl Drop for LimitObject {
    fn drop(&mut self) {
        self.client().objects.forget::<LimitObject>(&self.name);
    }
}
