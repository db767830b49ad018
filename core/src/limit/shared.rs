//! What the limiters of one name share in one client: the callers that wait.

use std::sync::Arc;

use super::limits::Limits;
use super::places::{By, Places, Reserved};
use super::shares::Shares;
use super::step::GiveBack;
use crate::context::Context;
use crate::name::ObjectName;

pub(crate) struct LimitShared {
    name: ObjectName,
    limits: Arc<Limits>,
    places: Places,
}

impl LimitShared {
    pub(super) fn new(name: ObjectName, limits: Arc<Limits>) -> LimitShared {
        LimitShared { name, limits, places: Places::default() }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(super) fn client(&self) -> &Context {
        self.limits.context()
    }

    /// The buckets of this client alone.
    pub(super) fn shares(&self) -> &Shares {
        &self.limits.shares
    }

    pub(super) fn places(&self) -> &Places {
        &self.places
    }

    /// Whether the tokens could be given back, to the one that charged them. Asked once: a repeat could give them back twice.
    pub(super) async fn give_back(&self, reserved: &Reserved) -> bool {
        let rate = reserved.rate;
        let step = GiveBack::new(rate, reserved.cost, reserved.tat);
        match reserved.by {
            By::Share => self.shares().give_back(&self.name, rate, &step, self.client().clock.now()),
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

impl Drop for LimitShared {
    fn drop(&mut self) {
        self.client().objects.forget::<LimitShared>(&self.name);
    }
}
