//! What the client does to a contended object as to any that it has opened.

use std::sync::Arc;

use super::Primitive;
use super::give_back::Had;
use super::line::Mail;
use super::shared::Contended;
use crate::error::Error;
use crate::lease::HolderId;
use crate::objects::{Kind, Object, Releasing};

impl<P: Primitive> Kind for Contended<P> {
    const KIND: &'static str = P::KIND;
}

impl<P: Primitive> Object for Contended<P> {
    fn refuse_waiters(&self, error: &Error) {
        self.refuse_all(error);
    }

    /// If somebody contends, the object is looked at again, together with others of the client.
    fn look_again(&self) {
        self.hint(Mail { missed: true, ..Mail::default() });
    }

    fn abandon(&self, holder: HolderId) {
        let grant = self.primitive().take(holder);
        grant.into_iter().for_each(|grant| self.client().abandon_grant(&grant));
    }

    fn let_go(&self) {
        let kept = self.primitive().let_go(None);
        drop(kept);
    }

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        let release = |grant| -> Releasing {
            let object = self.clone();
            Box::pin(async move { object.release(grant, Had::UntilClosed).await })
        };
        self.primitive().take_valid().into_iter().map(release).collect()
    }
}

impl<P: Primitive> Contended<P> {
    /// Takes note of a message. False when no contender needs it: an old request has joined the queue, or a promoted replica remembers the place.
    pub(super) fn hear(&self, word: &str) -> bool {
        match word {
            "free" => self.note(Mail { ask: true, ..Mail::default() }),
            "next" => self.note(Mail { next: true, ..Mail::default() }),
            // A hint only: what the server says to the renewal counts.
            "lost" => {
                self.home().doubt();
                self.look_at_holds();
                true
            }
            // From a later version.
            _ => true,
        }
    }
}
