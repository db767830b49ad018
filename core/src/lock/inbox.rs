//! Where a client hears of its locks: one channel for all of them, subscribed by the first that has to wait.

use std::sync::{Arc, OnceLock};

use super::step;
use crate::backend::{Heard, Listen, Subscription};
use crate::client::Inner;

/// Stays subscribed until the client ends: nothing is published there but what is meant for it.
#[derive(Default)]
pub(crate) struct Inbox(OnceLock<Subscription>);

impl Inbox {
    /// Sees to it that the client listens; true when it did not before. What was said before the server confirms it never
    /// comes: then every lock looks again.
    pub(super) fn open(&self, client: &Arc<Inner>) -> bool {
        if self.0.get().is_some() {
            return false;
        }
        let inner = Arc::downgrade(client);
        let listen: Listen = Arc::new(move |heard: Heard<'_>| {
            if let Some(client) = inner.upgrade() {
                hear(&client, heard);
            }
        });
        let subscription = client.backend.subscribe(&step::inbox(client.id()), listen);
        // Of two that came at the same time one stays; dropping the other leaves the channel subscribed.
        self.0.set(subscription).is_ok()
    }
}

fn hear(client: &Arc<Inner>, heard: Heard<'_>) {
    match heard {
        Heard::LookAgain => client.locks.all().iter().for_each(|lock| lock.look_again()),
        Heard::Message(text) => {
            if let Some((what, key)) = text.split_once(';')
                && let Some(lock) = client.lock_of_key(key)
            {
                lock.hear(what);
            }
        }
    }
}
