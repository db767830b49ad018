//! Subscriptions on a connection of their own, opened when the first waiter needs one.
//!
//! One task keeps what the server has in line with what this process wants: it compares the two and sends the difference,
//! however many channels that is, as one command. A listener is told when its channel is confirmed, because what was
//! published before that moment never reaches it.

use std::collections::HashMap;
use std::sync::Arc;

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, Value};

use super::dial::Dialler;
use super::link::{Connected, Link};
use super::verdict;
use crate::backend::hub::{Heard, Hub, Listen, Subscription};
use crate::event::{Events, Level};
use crate::task::Tasks;
use crate::time::Clock;

/// The name of the tasks, for the fault tests.
const TASK: &str = "listener";

pub(super) struct Listener {
    hub: Arc<Hub>,
}

impl Listener {
    pub(super) fn start(dialler: &Dialler, clock: &Clock, events: &Events, tasks: &Tasks) -> Listener {
        let hub = Arc::new(Hub::default());
        let deliver = {
            let hub = hub.clone();
            Arc::new(move |push: PushInfo| {
                if push.kind == PushKind::Message
                    && let [Value::BulkString(channel), Value::BulkString(message), ..] = push.data.as_slice()
                    && let (Ok(channel), Ok(message)) = (std::str::from_utf8(channel), std::str::from_utf8(message))
                {
                    hub.tell(channel, Heard::Message(message));
                }
            })
        };
        let link = Link::new("messages", dialler.clone(), clock.clone(), events.clone(), deliver);
        let keeper = Keeper { hub: hub.clone(), link, events: events.clone(), tasks: tasks.clone() };
        tasks.spawn_vital(TASK, keeper.run());
        Listener { hub }
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.hub.listen(channel, listen)
    }
}

struct Keeper {
    hub: Arc<Hub>,
    link: Link,
    events: Events,
    tasks: Tasks,
}

impl Keeper {
    async fn run(self) {
        // Most clients never wait for anything: no connection until one does.
        while self.hub.wanted().is_empty() {
            self.hub.changed().await;
        }
        self.link.supervise(TASK, &self.tasks);
        let mut connected = self.link.next_after(0).await;
        let mut had = HashMap::new();
        loop {
            if !self.align(&mut connected, &mut had).await {
                self.link.report_broken(connected.number, "did not answer a subscription");
                connected = self.link.next_after(connected.number).await;
                had.clear();
                continue;
            }
            tokio::select! {
                () = self.hub.changed() => {}
                next = self.link.next_after(connected.number) => {
                    connected = next;
                    had.clear();
                }
            }
        }
    }

    /// Makes the server's subscriptions those that are wanted. False when the connection is broken.
    async fn align(&self, connected: &mut Connected, had: &mut HashMap<String, u64>) -> bool {
        let wanted = self.hub.wanted();
        let gone: Vec<&String> = had.keys().filter(|channel| !wanted.contains_key(*channel)).collect();
        if !gone.is_empty()
            && let Err(error) = self.link.in_time(connected.connection.unsubscribe(&gone)).await
            && !verdict::is_reply(&error)
        {
            return false;
        }
        // A channel whose last listener left and that has a new one since: still subscribed, but what was published in
        // between reached nobody.
        let renewed = wanted.iter().filter(|(channel, number)| had.get(*channel).is_some_and(|had| had != *number));
        renewed.for_each(|(channel, _)| self.hub.tell(channel, Heard::LookAgain));
        let fresh: Vec<&String> = wanted.keys().filter(|channel| !had.contains_key(*channel)).collect();
        let alive = fresh.is_empty() || self.subscribe(&mut connected.connection, &fresh).await;
        if alive && !(gone.is_empty() && fresh.is_empty()) {
            self.link.replied();
        }
        *had = wanted;
        alive
    }

    async fn subscribe(&self, connection: &mut MultiplexedConnection, channels: &[&String]) -> bool {
        match self.link.in_time(connection.subscribe(channels)).await {
            Ok(()) => channels.iter().for_each(|channel| self.hub.tell(channel, Heard::LookAgain)),
            Err(error) if !verdict::is_reply(&error) => return false,
            // One forbidden channel refuses the whole command: one by one, so that the others get theirs.
            Err(_) if channels.len() > 1 => {
                for channel in channels {
                    if !Box::pin(self.subscribe(connection, &[*channel])).await {
                        return false;
                    }
                }
            }
            Err(_) => self.report_refusal(channels[0]),
        }
        true
    }

    fn report_refusal(&self, channel: &str) {
        let message = format!(
            "the server refuses to let this user listen on {channel:?}: waiters look by themselves every poll_interval; \
             allow the channels with &redisson_lock__channel:* &dlock_inbox:*"
        );
        self.events.emit(Level::Warn, None, message);
    }
}
