//! Who in this process listens to which channel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// What a listener hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard<'a> {
    /// A message, as it was published.
    Message(&'a str),
    /// The channel has just been subscribed, for the first time or once more: earlier messages were not delivered.
    Subscribed,
    /// The connection broke: nothing will be heard until the channel is subscribed once more.
    Interrupted,
    /// The server does not let this user listen: nothing is heard until [`Heard::Subscribed`]. What was said before never came
    /// either.
    Refused,
}

/// What a listener does. Called on whichever thread brings the message: it must only take note.
pub(crate) type Listen = Arc<dyn Fn(Heard<'_>) + Send + Sync>;

/// The listeners of one client, by channel. Channels that nobody listens to have no entry.
#[derive(Default)]
pub(super) struct Hub {
    channels: Mutex<Channels>,
    /// Told when a channel got its first listener or lost its last.
    changed: Notify,
}

#[derive(Default)]
struct Channels {
    by_name: HashMap<String, Channel>,
    listened: u64,
}

/// A channel from its first listener to its last. When it comes back later it is another one.
struct Channel {
    number: u64,
    listeners: Vec<Listen>,
}

/// One listener. Dropping it ends the listening.
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    channel: String,
    listen: Listen,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut channels = self.hub.lock();
        if let Some(channel) = channels.by_name.get_mut(&self.channel) {
            channel.listeners.retain(|listen| !Arc::ptr_eq(listen, &self.listen));
            if channel.listeners.is_empty() {
                channels.by_name.remove(&self.channel);
                self.hub.changed.notify_one();
            }
        }
    }
}

impl Hub {
    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn listen(self: &Arc<Self>, channel: &str, listen: Listen) -> Subscription {
        let mut channels = self.lock();
        let Channels { by_name, listened } = &mut *channels;
        let entry = by_name.entry(channel.to_owned()).or_insert_with(|| {
            self.changed.notify_one();
            *listened += 1;
            Channel { number: *listened, listeners: Vec::new() }
        });
        entry.listeners.push(listen.clone());
        Subscription { hub: self.clone(), channel: channel.to_owned(), listen }
    }

    /// Tells the listeners of the channel: one for each client of this hub that listens.
    pub(super) fn tell(&self, channel: &str, what: Heard<'_>) {
        let listeners = self.lock().by_name.get(channel).map(|channel| channel.listeners.clone());
        listeners.into_iter().flatten().for_each(|listen| listen(what));
    }

    /// Whether anybody listens on the channel.
    pub(super) fn hears(&self, channel: &str) -> bool {
        self.lock().by_name.contains_key(channel)
    }

    /// The channels that are listened to now, each with a number that it has until its last listener leaves.
    pub(super) fn wanted(&self) -> HashMap<String, u64> {
        self.lock().by_name.iter().map(|(name, channel)| (name.clone(), channel.number)).collect()
    }

    /// Completes when [`Hub::wanted`] may have changed since the last call. Cancel safe.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deaf() -> Listen {
        Arc::new(|_| ())
    }

    #[test]
    fn every_listener_of_a_channel_hears_it_and_nobody_else() {
        let hub = Arc::new(Hub::default());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let note = |who: &'static str| -> Listen {
            let heard = heard.clone();
            Arc::new(move |what| heard.lock().unwrap().push(format!("{who} {what:?}")))
        };
        let (_first, _second, _other) =
            (hub.listen("c", note("first")), hub.listen("c", note("second")), hub.listen("d", note("other")));
        hub.tell("c", Heard::Message("0"));
        assert_eq!(*heard.lock().unwrap(), ["first Message(\"0\")", "second Message(\"0\")"]);
    }

    #[tokio::test]
    async fn a_channel_is_wanted_from_its_first_listener_to_its_last() {
        let hub = Arc::new(Hub::default());
        let (first, second) = (hub.listen("c", deaf()), hub.listen("c", deaf()));
        hub.changed().await;
        let number = hub.wanted()["c"];
        drop(first);
        assert_eq!(hub.wanted()["c"], number);
        drop(second);
        hub.changed().await;
        assert!(hub.wanted().is_empty());
        let _third = hub.listen("c", deaf());
        assert_ne!(hub.wanted()["c"], number, "a channel that came back is another one");
    }
}
