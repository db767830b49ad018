//! What this process listens to: each channel at all servers.

use std::collections::HashMap;
use std::sync::Arc;

use crate::backend::hub::Hub;
use crate::backend::redis::RedisBackend;
use crate::backend::{Heard, Listen, Subscription};
use crate::task::{Tasks, fault_point};

/// The name of the task, for the fault tests.
const TASK: &str = "quorum listener";

pub(super) struct QuorumListener {
    hub: Arc<Hub>,
}

impl QuorumListener {
    pub(super) fn start(servers: &[Arc<RedisBackend>], tasks: &Tasks) -> QuorumListener {
        let hub = Arc::<Hub>::default();
        tasks.spawn_vital(TASK, run(hub.clone(), servers.to_vec()));
        QuorumListener { hub }
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.hub.listen(channel, listen)
    }
}

/// Keeps what is wanted subscribed at each server. A server that cannot be reached subscribes when it comes back, and says so.
async fn run(hub: Arc<Hub>, servers: Vec<Arc<RedisBackend>>) {
    let mut kept: HashMap<String, (u64, Vec<Subscription>)> = HashMap::new();
    loop {
        fault_point(TASK);
        let wanted = hub.wanted();
        kept.retain(|channel, (number, _)| wanted.get(channel) == Some(number));
        for (channel, number) in wanted {
            kept.entry(channel.clone()).or_insert_with(|| {
                let at = |server: &Arc<RedisBackend>| {
                    let (hub, its_channel) = (hub.clone(), channel.clone());
                    let listen: Listen = Arc::new(move |heard: Heard<'_>| hub.tell(&its_channel, heard));
                    server.subscribe(&channel, listen)
                };
                (number, servers.iter().map(at).collect())
            });
        }
        hub.changed().await;
    }
}
