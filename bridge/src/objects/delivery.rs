//! A job that was delivered, as what a hold is of.

use std::sync::Arc;
use std::time::Duration;

use libdlock::lease::{Grant, HolderId};
use libdlock::queue::Delivery;
use libdlock::{Error, ErrorKind, Result, embed};

use crate::client::ClientEntry;
use crate::leased::{Asking, Granting, Leased};

/// A job that was delivered. Held by nothing but its hold; with the last that shows it, one that was not ended goes back.
pub(crate) struct DeliveryEntry {
    pub(crate) delivery: Arc<Delivery>,
    pub(crate) client: Arc<ClientEntry>,
}

impl DeliveryEntry {
    fn refuse<T>(&self, op: &'static str, message: &str) -> Result<T> {
        Err(Error::new(ErrorKind::InvalidArgument, op, message).on(self.key()))
    }
}

/// Each hold has an object of its own, so that it does not matter who asks.
impl Leased for DeliveryEntry {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    fn key(&self) -> &str {
        embed::delivery_key(&self.delivery)
    }

    fn hold_count(&self, _holder: HolderId) -> u32 {
        self.delivery.is_valid().into()
    }

    fn reenter(&self, _holder: HolderId) -> Result<()> {
        self.refuse("acquire", "a job is delivered once at a time: take another one from the queue")
    }

    fn release(&self, _holder: HolderId) -> Asking<'_, ()> {
        let message = "a delivery ends with `ack`, when its job is done, or with `nack`, which puts the job back";
        Box::pin(async move { self.refuse("release", message) })
    }

    fn extend(&self, _holder: HolderId, lease: Duration) -> Asking<'_, ()> {
        Box::pin(self.delivery.extend(lease))
    }

    fn detach(&self, _holder: HolderId) -> Asking<'_, String> {
        let message = "a delivery cannot be handed to another process: put the job back, and take it there";
        Box::pin(async move { self.refuse("detach", message) })
    }

    /// With the hold goes the delivery, and its job goes back.
    fn abandon(&self, _holder: HolderId) {}
}

impl Granting for DeliveryEntry {
    fn token(&self, grant: &Grant) -> u64 {
        grant.token()
    }

    fn delivery(&self) -> Option<&Arc<Delivery>> {
        Some(&self.delivery)
    }

    fn keep_while_held(&self, _grant: &Grant) {}

    fn release_in_background(&self, _holder: HolderId, _token: u64) {
        embed::give_back_in_background(&self.delivery);
    }
}
