//! Who in this process listens to which channel.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

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
    listeners: Vec<Arc<Notify>>,
}

/// One listener. Dropping it ends the listening.
pub(crate) struct Subscription {
    hub: Arc<Hub>,
    channel: String,
    wake: Arc<Notify>,
}

impl Subscription {
    /// Completes when there is a reason to look again; a reason that came before the call counts. Cancel safe.
    pub(crate) async fn woken(&self) {
        self.wake.notified().await;
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut channels = self.hub.lock();
        if let Some(channel) = channels.by_name.get_mut(&self.channel) {
            channel.listeners.retain(|wake| !Arc::ptr_eq(wake, &self.wake));
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

    pub(super) fn listen(self: &Arc<Self>, channel: &str) -> Subscription {
        let mut channels = self.lock();
        let Channels { by_name, listened } = &mut *channels;
        let entry = by_name.entry(channel.to_owned()).or_insert_with(|| {
            self.changed.notify_one();
            *listened += 1;
            Channel { number: *listened, listeners: Vec::new() }
        });
        let wake = Arc::new(Notify::new());
        entry.listeners.push(wake.clone());
        Subscription { hub: self.clone(), channel: channel.to_owned(), wake }
    }

    /// Wakes the listeners of the channel: one for each client of this hub.
    pub(super) fn wake(&self, channel: &str) {
        if let Some(channel) = self.lock().by_name.get(channel) {
            channel.listeners.iter().for_each(|wake| wake.notify_one());
        }
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

    #[tokio::test]
    async fn a_message_between_two_looks_is_not_lost() {
        let hub = Arc::new(Hub::default());
        let subscription = hub.listen("c");
        hub.wake("c");
        subscription.woken().await;
    }

    #[tokio::test]
    async fn a_channel_is_wanted_from_its_first_listener_to_its_last() {
        let hub = Arc::new(Hub::default());
        let (first, second) = (hub.listen("c"), hub.listen("c"));
        hub.changed().await;
        let number = hub.wanted()["c"];
        drop(first);
        assert_eq!(hub.wanted()["c"], number);
        drop(second);
        hub.changed().await;
        assert!(hub.wanted().is_empty());
        let _third = hub.listen("c");
        assert_ne!(hub.wanted()["c"], number, "a channel that came back is another one");
    }
}
