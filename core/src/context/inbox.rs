//! Where a client hears of its objects: one channel for those of all kinds, subscribed in the background when the first is
//! opened.
//!
//! A message is `<word>;<key>` about a lock, whose messages are older than other kinds, and `<kind>:<word>;<key>` about any
//! other object. Anybody may send one, at any time: it is a hint. One of a kind that is not known here is from a later version.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use super::Context;
use crate::backend::{Heard, Listen, Subscription};
use crate::name::ObjectName;

/// The objects of one kind, to which the inbox brings what concerns them. It calls on whichever thread brings the message: they
/// must only take note.
pub(crate) trait Recipient: Send + Sync {
    /// A message about the object with this key, whether anybody here uses that or not.
    fn hear(self: Arc<Self>, word: &str, key: &str);

    /// From now on messages come, or they do not.
    fn set_hears(&self, hears: bool);

    /// Messages may have been missed, perhaps because the client is on another server now. After this every object looks again,
    /// and all holds are verified.
    fn missed(self: Arc<Self>);
}

/// Stays subscribed until the client ends: only messages for this client are published there.
#[derive(Default)]
pub(super) struct Inbox {
    subscription: OnceLock<Subscription>,
    /// By what their messages name.
    recipients: Mutex<Vec<(&'static str, Weak<dyn Recipient>)>>,
}

/// The channel of a client, where it hears of all the objects that it waits for or holds.
pub(crate) fn inbox(client: &str) -> String {
    format!("dlock_inbox:{client}")
}

/// The channel of a client in the slot of an object that it waits for; see queue.lua.
fn slot_inbox(name: &ObjectName, client: &str) -> String {
    [&name.companion("dlock_inbox"), ":", client].concat()
}

/// A message about an object of this kind: the empty one is the lock's.
pub(crate) fn message(kind: &str, word: &str, key: &str) -> String {
    let colon = if kind.is_empty() { "" } else { ":" };
    format!("{kind}{colon}{word};{key}")
}

/// The kind, the word and the key of a message.
fn parts(message: &str) -> Option<(&str, &str, &str)> {
    let (what, key) = message.split_once(';')?;
    match what.split_once(':') {
        None => Some(("", what, key)),
        Some(("", _)) => None,
        Some((kind, word)) => Some((kind, word, key)),
    }
}

impl Context {
    /// Brings messages that name this kind, which is the empty one for the lock alone, to `recipient`. To be called before
    /// anything is opened.
    pub(crate) fn deliver_to(&self, kind: &'static str, recipient: Weak<dyn Recipient>) {
        let mut recipients = self.inbox.recipients();
        debug_assert!(self.inbox.subscription.get().is_none(), "it would not know whether messages come");
        debug_assert!(recipients.iter().all(|(other, _)| *other != kind), "two kinds of this name: {kind}");
        recipients.push((kind, recipient));
    }

    /// Subscribes the inbox in the background, unless it is; no I/O here. Messages sent before the server confirms the
    /// subscription never come, so on the confirmation every object looks again.
    pub(crate) fn open_inbox(self: &Arc<Context>) {
        if self.inbox.subscription.get().is_some() {
            return;
        }
        let weak = Arc::downgrade(self);
        let listen: Listen = Arc::new(move |heard: Heard<'_>| {
            if let Some(context) = weak.upgrade() {
                context.hear(heard);
            }
        });
        let subscription = self.backend.subscribe_to_all(&inbox(&self.id), listen);
        // Of two that came at the same time one stays; dropping the other leaves the channel subscribed.
        let _ = self.inbox.subscription.set(subscription);
    }

    /// Whether messages can be said in the slot of an object alone.
    pub(crate) fn has_slot_inboxes(&self) -> bool {
        self.backend.has_messages_of_slots()
    }

    /// Opens another inbox, in the slot of the object of this name: `interrupted` is told that messages may have been missed.
    pub(crate) fn open_slot_inbox(
        self: &Arc<Context>,
        name: &ObjectName,
        interrupted: impl Fn() + Send + Sync + 'static,
    ) -> Subscription {
        let weak = Arc::downgrade(self);
        let listen: Listen = Arc::new(move |heard: Heard<'_>| match heard {
            Heard::Message(_) => weak.upgrade().into_iter().for_each(|context: Arc<Context>| context.hear(heard)),
            Heard::Interrupted => interrupted(),
            // Until now messages came to the other inbox.
            Heard::Subscribed | Heard::Refused => {}
        });
        self.backend.subscribe(name, &slot_inbox(name, &self.id), listen)
    }

    /// Where objects move between servers, has those that have moved looked at again: what was said meanwhile may have reached
    /// nobody. Their holds are verified by the keeper.
    pub(super) fn watch_moves(self: &Arc<Context>) {
        if !self.backend.moves_objects() {
            return;
        }
        let (weak, backend, tasks) = (Arc::downgrade(self), self.backend.clone(), self.tasks.clone());
        self.tasks.spawn(async move {
            let mut seen = backend.last_move();
            loop {
                let now = tokio::select! {
                    () = tasks.closed() => return,
                    now = backend.moved_since(seen) => now,
                };
                let Some(context) = weak.upgrade() else { return };
                context.inbox.all().into_iter().for_each(Recipient::missed);
                for object in context.objects.all() {
                    if backend.moves(object.name()) > seen {
                        object.look_again();
                    }
                }
                seen = now;
            }
        });
    }

    fn hear(&self, heard: Heard<'_>) {
        match heard {
            Heard::Subscribed | Heard::Refused => {
                for recipient in self.inbox.all() {
                    recipient.set_hears(heard == Heard::Subscribed);
                    recipient.missed();
                }
                self.objects.all().iter().for_each(|object| object.look_again());
                self.keeper.verify_all();
            }
            Heard::Interrupted => self.inbox.all().iter().for_each(|recipient| recipient.set_hears(false)),
            Heard::Message(text) => {
                let Some((kind, word, key)) = parts(text) else { return };
                if let Some(recipient) = self.inbox.of(kind) {
                    recipient.hear(word, key);
                }
            }
        }
    }
}

impl Inbox {
    fn recipients(&self) -> MutexGuard<'_, Vec<(&'static str, Weak<dyn Recipient>)>> {
        self.recipients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn all(&self) -> Vec<Arc<dyn Recipient>> {
        self.recipients().iter().filter_map(|(_, recipient)| recipient.upgrade()).collect()
    }

    fn of(&self, kind: &str) -> Option<Arc<dyn Recipient>> {
        let recipients = self.recipients();
        recipients.iter().find(|(other, _)| *other == kind).and_then(|(_, recipient)| recipient.upgrade())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use libdlock_testkit::{Cluster, Server};
    use tokio::sync::Notify;

    use super::*;
    use crate::config::Config;

    /// What a kind hears.
    #[derive(Default)]
    struct Recorder {
        messages: Mutex<Vec<String>>,
        hears: Mutex<Vec<bool>>,
        any: Notify,
    }

    impl Recipient for Recorder {
        fn hear(self: Arc<Self>, word: &str, key: &str) {
            self.messages.lock().unwrap().push(format!("{word} {key}"));
            self.any.notify_one();
        }

        fn set_hears(&self, hears: bool) {
            self.hears.lock().unwrap().push(hears);
            self.any.notify_one();
        }

        fn missed(self: Arc<Self>) {}
    }

    #[tokio::test]
    async fn a_message_reaches_the_kind_that_it_names_and_no_other() {
        let server = Server::start();
        let context = Context::connect(Config::from_url(&server.url()).unwrap()).await.unwrap();
        let [lock, latch, gone] = ["", "latch", "gone"].map(|kind| {
            let heard = Arc::new(Recorder::default());
            let recipient: Weak<Recorder> = Arc::downgrade(&heard);
            context.deliver_to(kind, recipient);
            heard
        });
        drop(gone);
        context.open_inbox();
        tokio::time::timeout(Duration::from_secs(10), latch.any.notified()).await.unwrap();
        for text in
            ["free;a", "gone:free;b", ":free;c", "later:free;d", "latch;e", "f", "latch:free;;lock:free", "free;:;g"]
        {
            assert_eq!(server.cmd(&["PUBLISH", &inbox(context.id()), text]).int(), 1);
        }
        server.cmd(&["PUBLISH", &inbox(context.id()), "latch:end;h"]);
        let ended = async {
            while latch.messages.lock().unwrap().last().is_none_or(|last| last != "end h") {
                latch.any.notified().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), ended).await.unwrap();
        assert_eq!(*lock.messages.lock().unwrap(), ["free a", "latch e", "free :;g"]);
        assert_eq!(*latch.messages.lock().unwrap(), ["free ;lock:free", "end h"]);
        assert_eq!((&*lock.hears.lock().unwrap(), &*latch.hears.lock().unwrap()), (&vec![true], &vec![true]));
    }

    /// A client of a cluster hears when it does at all nodes: when one that is dead does not count any more, it does.
    #[tokio::test]
    async fn a_node_that_is_gone_for_good_leaves_nobody_deaf() {
        let mut cluster = Cluster::options(3).args(&["--cluster-require-full-coverage", "no"]).start();
        cluster.nodes[0].stop();
        let context = Context::connect(Config::from_url(&cluster.url()).unwrap()).await.unwrap();
        let heard = Arc::new(Recorder::default());
        let recipient: Weak<Recorder> = Arc::downgrade(&heard);
        context.deliver_to("", recipient);
        context.open_inbox();
        let told = async |count: usize| {
            while heard.hears.lock().unwrap().len() < count {
                heard.any.notified().await;
            }
        };
        // Of each node that is there.
        tokio::time::timeout(Duration::from_secs(10), told(2)).await.unwrap();
        assert_eq!(*heard.hears.lock().unwrap(), [false, false]);
        let gone = cluster.nodes[1].cmd(&["CLUSTER", "NODES"]);
        let port = format!(":{}@", cluster.nodes[0].port());
        let gone = gone.text().lines().find(|line| line.contains(&port)).and_then(|line| line.split(' ').next());
        for node in &cluster.nodes[1..] {
            assert_eq!(node.cmd(&["CLUSTER", "FORGET", gone.unwrap()]).text(), "OK");
        }
        // The table is asked for now and then.
        tokio::time::timeout(Duration::from_secs(40), told(3)).await.expect("it is told that it hears");
        assert_eq!(*heard.hears.lock().unwrap(), [false, false, true]);
    }

    #[test]
    fn a_message_names_its_kind_and_the_locks_names_none() {
        for (kind, text) in [("", "free;a:b;{c}"), ("latch", "latch:free;a:b;{c}")] {
            assert_eq!(message(kind, "free", "a:b;{c}"), text);
            assert_eq!(parts(text), Some((kind, "free", "a:b;{c}")));
        }
        assert_eq!(parts("latch:"), None, "a message has a key");
        assert_eq!(parts(":free;a"), None, "no kind has an empty name");
    }
}
