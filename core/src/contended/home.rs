//! What the objects of one kind share within a client: what it hears of them, and the task that looks at those it waits for.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use super::confirmed::{self, Confirmed};
use super::looker::Looker;
use super::object::Contended;
use super::server::ServerHandle;
use super::unneeded_places::{self, UnneededPlaces};
use super::{DUE, Primitive};
use crate::context::{Context, Recipient};
use crate::error::Result;
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::Tick;

/// Ends with the last clone of the client and the last object of the kind.
pub(crate) struct Home<P: Primitive> {
    context: Arc<Context>,
    pub(super) looker: Looker<P>,
    pub(super) unneeded_places: UnneededPlaces,
    pub(super) confirmed: Confirmed,
    /// When a message last said that a hold may be gone, or such messages may have been missed.
    doubted: AtomicU64,
}

impl<P: Primitive> Home<P> {
    /// For a client that has just been connected: starts its tasks.
    pub(crate) fn start(context: &Arc<Context>) -> Arc<Home<P>> {
        let looker = Looker::new(context.clock.clone(), context.id(), &context.options);
        looker.start(ServerHandle::of(context), &context.tasks);
        let (unneeded_places, confirmed) = (UnneededPlaces::default(), Confirmed::default());
        let context = context.clone();
        let home = Arc::new(Home { context, looker, unneeded_places, confirmed, doubted: AtomicU64::new(0) });
        let recipient: Weak<Home<P>> = Arc::downgrade(&home);
        home.context.deliver_to(P::QUEUE.kind, recipient);
        home
    }

    /// The object of this name. No I/O.
    pub(crate) fn open(self: &Arc<Self>, name: &str) -> Result<Arc<Contended<P>>> {
        let name = self.context.name_of::<<P::Acquire as Step>::State>(P::KIND, name)?;
        self.context.open_inbox();
        Ok(self.object(&name))
    }

    /// What is held may be gone. To be called before the present holds are verified: those that come later verify themselves.
    pub(super) fn doubt(&self) {
        self.doubted.store(self.context.clock.now().0, Ordering::Relaxed);
    }

    /// Whether a hold that is known here from now on may have gone since `since`: messages overtake replies.
    pub(super) fn is_doubted_since(&self, since: Tick) -> bool {
        self.doubted.load(Ordering::Relaxed) > since.0
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// The object of this name, made if nobody here uses it.
    pub(super) fn object(self: &Arc<Self>, name: &ObjectName) -> Arc<Contended<P>> {
        self.context.objects.get_or_insert(name, || Contended::new(name.clone(), self.clone(), P::default()))
    }

    /// The object with this key on the server, made if nobody here uses it.
    pub(super) fn object_of_key(self: &Arc<Self>, key: &str) -> Option<Arc<Contended<P>>> {
        // Nearly always somebody uses it: a name need not be made.
        let used = self.context.objects.get(key);
        used.or_else(|| self.context.name_of_key(key).map(|name| self.object(&name)))
    }
}

impl<P: Primitive> Recipient for Home<P> {
    /// Only sets flags of an object that is in use, or adds a name to a set of bounded size.
    fn hear(self: Arc<Self>, word: &str, key: &str) {
        if !matches!(word, "free" | "next" | "lost") && !word.starts_with(DUE) {
            return;
        }
        let heeded = self.context.objects.get::<Contended<P>>(key).map(|object| object.hear(word));
        if !heeded.unwrap_or(word == "lost") {
            unneeded_places::leave(&self, key);
        }
    }

    /// A waiter that hears no messages has to look more often.
    fn set_hears(&self, hears: bool) {
        self.looker.set_hears(hears);
    }

    fn missed(self: Arc<Self>) {
        self.doubt();
        confirmed::repeat(&self);
    }
}
