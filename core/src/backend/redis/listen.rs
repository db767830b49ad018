//! Subscriptions on a connection of their own, opened when the first waiter needs one.
//!
//! One task keeps what the server has in line with what this process wants: it compares the two and sends the difference,
//! however many channels that is, as one command. A listener is told when its channel is confirmed, because what was
//! published before that moment never reaches it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use redis::PushInfo;

use super::channels::Ears;
use super::dial::Dialler;
use super::link::{Connected, Link};
use super::server::{Purpose, Server};
use super::verdict;
use crate::backend::hub::{Heard, Hub, Listen, Subscription};
use crate::event::{Events, Level};
use crate::step::PubSub;
use crate::task::Tasks;
use crate::time::{Clock, Tick};

/// The name of the tasks, for the fault tests.
const TASK: &str = "listener";

/// How often the client asks again for the channels that the server refuses, all in one command: the access rules may have
/// changed.
const RETRY: Duration = Duration::from_secs(3);

/// How soon for a channel whose slot is on its way. Until then messages come to the inbox that the client has at every node.
const SLOT_RETRY: Duration = Duration::from_millis(100);

/// One forbidden channel is enough for the server to refuse the command: so many of the channels are then asked for alone.
const ONE_BY_ONE: usize = 16;

pub(super) struct Listener {
    hub: Arc<Hub>,
    link: Link,
}

impl Listener {
    pub(super) fn start(
        pubsub: PubSub,
        dialler: &Dialler,
        server: &Server,
        clock: &Clock,
        events: &Events,
        tasks: &Tasks,
    ) -> Listener {
        let (hub, ears) = (Arc::new(Hub::default()), Arc::new(Ears::new(pubsub)));
        let deliver = {
            let (hub, ears) = (hub.clone(), ears.clone());
            Arc::new(move |push: PushInfo| {
                if let Some((channel, message)) = ears.message(&push) {
                    hub.tell(channel, Heard::Message(message));
                }
            })
        };
        let purpose = Purpose::Messages(pubsub);
        let link = Link::new(purpose, dialler.clone(), server.clone(), clock.clone(), events.clone(), deliver, None);
        let (clock, events, its_tasks) = (clock.clone(), events.clone(), tasks.clone());
        let keeper = Keeper { hub: hub.clone(), ears, link: link.clone(), clock, events, tasks: its_tasks };
        let retired = link.clone();
        tasks.spawn_vital(TASK, async move {
            tokio::select! {
                () = keeper.run() => {}
                () = retired.closed() => {}
            }
        });
        Listener { hub, link }
    }

    /// Hears nothing any more.
    pub(super) fn retire(&self) {
        self.link.retire();
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.hub.listen(channel, listen)
    }
}

struct Keeper {
    hub: Arc<Hub>,
    ears: Arc<Ears>,
    link: Link,
    clock: Clock,
    events: Events,
    tasks: Tasks,
}

/// What the server said to the channels that are wanted.
#[derive(Default)]
struct Channels {
    /// Those that it has on the present connection, each with its number in the hub.
    had: HashMap<String, u64>,
    /// Those that it refuses, on the present connection or the one before it: the refusal is reported once.
    refused: HashMap<String, Refusal>,
    tries: u64,
    /// The slot of some channel is on its way from or to this node, or the node is no part of a cluster now: it is asked again
    /// soon, unless the channel is wanted at another node by then.
    has_elsewhere: bool,
}

struct Refusal {
    /// The channel's number in the hub; 0, which no channel has, if it was another connection that was refused.
    number: u64,
    /// Counts refusals: a retry begins with the channel that was not tried for the longest time.
    tried: u64,
}

impl Channels {
    /// The connection broke: each channel has to be asked for again.
    fn disconnected(&mut self) {
        self.had.clear();
        self.refused.values_mut().for_each(|refusal| refusal.number = 0);
    }

    /// Whether the present connection was asked for the channel.
    fn knows(&self, channel: &str, number: u64) -> bool {
        self.had.contains_key(channel) || self.refused.get(channel).is_some_and(|refusal| refusal.number == number)
    }

    /// The server has subscribed the connection to the channel; true if it refused that before.
    fn allow(&mut self, channel: &str, number: u64) -> bool {
        self.had.insert(channel.to_owned(), number);
        self.refused.remove(channel).is_some()
    }

    /// The server has refused the channel; the number in the refusal before this one, if there is one.
    fn refuse(&mut self, channel: &str, number: u64) -> Option<u64> {
        self.tries += 1;
        let before = self.refused.insert(channel.to_owned(), Refusal { number, tried: self.tries });
        before.map(|before| before.number)
    }

    /// The refused channels, the one that was not tried for the longest time first.
    fn refused(&self) -> Vec<(String, u64)> {
        let mut refused: Vec<_> = self.refused.iter().collect();
        refused.sort_unstable_by_key(|(_, refusal)| refusal.tried);
        refused.into_iter().map(|(channel, refusal)| (channel.clone(), refusal.number)).collect()
    }
}

impl Keeper {
    async fn run(self) {
        // Most clients never wait for anything: no connection until one does.
        while self.hub.wanted().is_empty() {
            self.hub.changed().await;
        }
        self.link.supervise(TASK, &self.tasks);
        let mut connected = self.link.next_after(0).await;
        let mut channels = Channels::default();
        let mut retry_at = Tick::NEVER;
        loop {
            let retries = retry_at <= self.clock.now();
            let mut alive = self.align(&mut connected, &mut channels).await;
            if alive && retries {
                let refused = channels.refused();
                alive = self.subscribe(&mut connected, &refused, &mut channels, ONE_BY_ONE).await;
            }
            if !alive {
                self.link.report_broken(connected.number, "did not answer a subscription");
            }
            retry_at = match channels.refused.is_empty() {
                true => Tick::NEVER,
                false if retries || retry_at == Tick::NEVER => self.clock.now().plus(RETRY),
                false => retry_at,
            };
            if std::mem::take(&mut channels.has_elsewhere) {
                retry_at = retry_at.min(self.clock.now().plus(SLOT_RETRY));
            }
            tokio::select! {
                biased;
                () = self.link.gone(connected.number) => {
                    channels.had.keys().for_each(|channel| self.hub.tell(channel, Heard::Interrupted));
                    channels.disconnected();
                    connected = self.link.next_after(connected.number).await;
                    self.ears.renewed().await;
                }
                () = self.ears.taken() => self.link.report_broken(connected.number, "gave a slot to another node"),
                () = self.hub.changed() => {}
                () = self.clock.sleep_until(retry_at) => {}
            }
        }
    }

    /// Makes the server's subscriptions those that are wanted. False when the connection is broken.
    async fn align(&self, connected: &mut Connected, channels: &mut Channels) -> bool {
        let wanted = self.hub.wanted();
        channels.refused.retain(|channel, _| wanted.contains_key(channel));
        let gone: Vec<String> = channels.had.keys().filter(|channel| !wanted.contains_key(*channel)).cloned().collect();
        if !gone.is_empty() {
            if let Err(error) = self.link.in_time(self.ears.unsubscribe(&mut connected.connection, &gone)).await
                && !verdict::is_reply(&error)
            {
                return false;
            }
            self.link.replied(self.clock.now());
            channels.had.retain(|channel, _| wanted.contains_key(channel));
        }
        // A channel whose last listener left and that has a new one since: still subscribed, but what was published in
        // between reached nobody.
        for (channel, had) in &mut channels.had {
            let number = wanted[channel];
            if std::mem::replace(had, number) != number {
                self.hub.tell(channel, Heard::Subscribed);
            }
        }
        let fresh: Vec<_> = wanted.into_iter().filter(|(channel, number)| !channels.knows(channel, *number)).collect();
        self.subscribe(connected, &fresh, channels, usize::MAX).await
    }

    /// Subscribes to all of them with one command. If the server refuses it, because of one forbidden channel at least, the
    /// first `one_by_one` are asked for alone. False when the connection is broken.
    async fn subscribe(
        &self,
        connected: &mut Connected,
        wanted: &[(String, u64)],
        channels: &mut Channels,
        one_by_one: usize,
    ) -> bool {
        if wanted.is_empty() {
            return true;
        }
        if wanted.len() <= self.ears.most() {
            match self.ask(connected, wanted, channels).await {
                None => return false,
                Some(false) if wanted.len() > 1 => {}
                Some(_) => return true,
            }
        }
        for one in wanted.iter().take(one_by_one) {
            if self.ask(connected, std::slice::from_ref(one), channels).await.is_none() {
                return false;
            }
        }
        true
    }

    /// Sends one command, and says whether the server allows it; `None` when the connection is broken.
    async fn ask(&self, connected: &mut Connected, wanted: &[(String, u64)], channels: &mut Channels) -> Option<bool> {
        let names: Vec<&String> = wanted.iter().map(|(channel, _)| channel).collect();
        let allowed = match self.link.in_time(self.ears.subscribe(&mut connected.connection, &names)).await {
            Ok(()) => true,
            Err(error) if verdict::is_reply(&error) => {
                channels.has_elsewhere |=
                    verdict::code(&error) != Some("NOPERM") && self.ears.pubsub == PubSub::Sharded;
                false
            }
            Err(_) => return None,
        };
        self.link.replied(self.clock.now());
        if channels.has_elsewhere && !allowed {
            return Some(false);
        }
        if allowed {
            let refused = wanted.iter().filter(|(channel, number)| channels.allow(channel, *number));
            let refused: Vec<&String> = refused.map(|(channel, _)| channel).collect();
            self.report_allowed(&refused);
            // The server may be another one.
            names.iter().for_each(|channel| self.hub.tell(channel, Heard::Subscribed));
        } else if let [(channel, number)] = wanted {
            let before = channels.refuse(channel, *number);
            if before.is_none() {
                self.report_refusal(channel);
            }
            if before != Some(*number) {
                self.hub.tell(channel, Heard::Refused);
            }
        }
        Some(allowed)
    }

    fn report_refusal(&self, channel: &str) {
        let message = format!(
            "the server refuses to let this user listen on {channel:?}: waiters look by themselves every poll_interval, and the \
             server is asked again every {RETRY:?}; allow the channels with &redisson_lock__channel:* &dlock_inbox:*"
        );
        self.events.emit(Level::Warn, None, message);
    }

    fn report_allowed(&self, channels: &[&String]) {
        let Some((first, others)) = channels.split_first() else { return };
        let others = if others.is_empty() { String::new() } else { format!(" and {} other channels", others.len()) };
        self.events.emit(Level::Info, None, format!("the server lets this user listen on {first:?}{others} again"));
    }
}
