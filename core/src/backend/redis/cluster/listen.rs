//! What this process listens to, at which nodes.
//!
//! A message that one node publishes reaches the listeners at every node. But a script counts those at its own node, and takes
//! a client that is not among them for deaf: so the inbox of a client is subscribed at all nodes. The channel of an object is
//! subscribed at the node that serves the slot of the channel's name; where messages of slots are published, it is one of those.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use super::super::RedisBackend;
use super::routes::{Node, Routes};
use crate::backend::hub::Hub;
use crate::backend::{Heard, Listen, Subscription};
use crate::config::Address;
use crate::name::slot_of;
use crate::task::{Tasks, fault_point};

/// The name of the task, for the fault tests.
const TASK: &str = "cluster listener";

pub(super) struct ClusterListener {
    everywhere: Arc<Hub>,
    at_its_slot: Arc<Hub>,
    in_its_shard: Arc<Hub>,
}

impl ClusterListener {
    pub(super) fn start(routes: &Arc<Routes>, tasks: &Tasks) -> ClusterListener {
        let [everywhere, at_its_slot, in_its_shard] = [(); 3].map(|()| Arc::<Hub>::default());
        let listener = ClusterListener { everywhere, at_its_slot, in_its_shard };
        let keeper = Keeper {
            everywhere: listener.everywhere.clone(),
            at_its_slot: listener.at_its_slot.clone(),
            in_its_shard: listener.in_its_shard.clone(),
            routes: routes.clone(),
        };
        tasks.spawn_vital(TASK, keeper.run());
        listener
    }

    pub(super) fn everywhere(&self, channel: &str, listen: Listen) -> Subscription {
        self.everywhere.listen(channel, listen)
    }

    /// On a channel of the object in this slot. One of another slot cannot be reached by messages of the object's slot. Where
    /// there are no such messages, which need not be known yet, the node listens as to any other channel.
    pub(super) fn of_object(&self, slot: u16, channel: &str, listen: Listen) -> Subscription {
        let hub = if slot_of(channel) == slot { &self.in_its_shard } else { &self.at_its_slot };
        hub.listen(channel, listen)
    }
}

struct Keeper {
    everywhere: Arc<Hub>,
    at_its_slot: Arc<Hub>,
    in_its_shard: Arc<Hub>,
    routes: Arc<Routes>,
}

/// A channel at a node: its number in the hub, and what keeps it.
type Kept = HashMap<(String, Address), (u64, Subscription)>;

/// At which nodes a channel is heard. The client hears only if it does at all of them.
#[derive(Default)]
struct Ears(Mutex<HashMap<Address, bool>>);

impl Keeper {
    async fn run(self) {
        let (mut all, mut own, mut sharded): (Kept, Kept, Kept) = Default::default();
        let mut ears: HashMap<String, Arc<Ears>> = HashMap::new();
        let mut version = 0;
        loop {
            fault_point(TASK);
            self.align_all(&mut all, &mut ears);
            self.align(&self.at_its_slot, &mut own, RedisBackend::subscribe);
            self.align(&self.in_its_shard, &mut sharded, RedisBackend::subscribe_in_slot);
            tokio::select! {
                now = self.routes.changed_since(version) => version = now,
                () = self.everywhere.changed() => {}
                () = self.at_its_slot.changed() => {}
                () = self.in_its_shard.changed() => {}
            }
        }
    }

    fn align_all(&self, kept: &mut Kept, ears: &mut HashMap<String, Arc<Ears>>) {
        let wanted = self.everywhere.wanted();
        let nodes: Vec<Arc<Node>> = self.routes.nodes().into_iter().filter(|node| self.routes.serves(node)).collect();
        ears.retain(|channel, _| wanted.contains_key(channel));
        for (channel, number) in &wanted {
            let ears = ears.entry(channel.clone()).or_default().clone();
            if ears.keep(&nodes) {
                self.everywhere.tell(channel, Heard::Subscribed);
            }
            for node in &nodes {
                let key = (channel.clone(), node.address.clone());
                if kept.get(&key).is_some_and(|(had, _)| had == number) {
                    continue;
                }
                let (hub, ears, its_channel, address) =
                    (self.everywhere.clone(), ears.clone(), channel.clone(), node.address.clone());
                let listen: Listen = Arc::new(move |heard: Heard<'_>| {
                    if let Some(told) = ears.heard(&address, heard) {
                        hub.tell(&its_channel, told);
                    }
                });
                kept.insert(key, (*number, node.server.subscribe(channel, listen)));
            }
        }
        kept.retain(|(channel, address), _| {
            wanted.contains_key(channel) && nodes.iter().any(|node| node.address == *address)
        });
    }

    /// Has what is wanted of a hub subscribed at the nodes that serve the slots of the channels.
    fn align(&self, hub: &Arc<Hub>, kept: &mut Kept, subscribe: impl Fn(&RedisBackend, &str, Listen) -> Subscription) {
        let wanted = hub.wanted();
        let mut present = HashSet::new();
        for (channel, number) in &wanted {
            let Some(place) = self.routes.place(slot_of(channel)) else { continue };
            let key = (channel.clone(), place.node.address.clone());
            if kept.get(&key).is_none_or(|(had, _)| had != number) {
                let (hub, its_channel) = (hub.clone(), channel.clone());
                let listen: Listen = Arc::new(move |heard: Heard<'_>| hub.tell(&its_channel, heard));
                kept.insert(key.clone(), (*number, subscribe(&place.node.server, channel, listen)));
            }
            present.insert(key);
        }
        kept.retain(|key, _| present.contains(key));
    }
}

impl Ears {
    /// These are the nodes from now on. Whether it was only one that is none of them any more that the client did not hear at.
    fn keep(&self, nodes: &[Arc<Node>]) -> bool {
        let mut ears = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let was_deaf = ears.values().any(|hears| !hears);
        ears.retain(|address, _| nodes.iter().any(|node| node.address == *address));
        for node in nodes {
            ears.entry(node.address.clone()).or_insert(false);
        }
        was_deaf && !ears.is_empty() && ears.values().all(|hears| *hears)
    }

    /// What is heard at a node, as the client is to hear it: subscribed is what is subscribed everywhere. `None` if it is
    /// nothing to the client: the node is none of them any more.
    fn heard<'a>(&self, address: &Address, heard: Heard<'a>) -> Option<Heard<'a>> {
        if let Heard::Message(_) = heard {
            return Some(heard);
        }
        let mut ears = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *ears.get_mut(address)? = heard == Heard::Subscribed;
        Some(match heard {
            // Somewhere else it is not heard yet: everything is looked at, and nothing is relied on.
            Heard::Subscribed if ears.values().any(|hears| !hears) => Heard::Refused,
            other => other,
        })
    }
}
