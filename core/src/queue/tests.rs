//! What a queue does, on `memory://` and on a real server.

mod consumers;
mod counted;
mod ending;
mod followed;
mod order;
mod waiting;

use std::future::Future;
use std::time::Duration;

use super::{Delivery, NewJob, Queue, QueueOptions};
use crate::contended::place::{Place, SOON, dropped_after, soon, still_client};
use crate::error::ErrorKind;
use crate::lease::{Lease, LossReason};
use crate::wait::Wait;

const SECOND: Duration = Duration::from_secs(1);

impl Place {
    /// The queue `mails` of so many clients, each of its own.
    async fn queues(&self, clients: usize) -> Vec<Queue> {
        let mut queues = Vec::new();
        for _ in 0..clients {
            queues.push(self.client().await.queue("mails").unwrap());
        }
        queues
    }

    /// How many scripts the server has run, if there is one.
    fn scripts(&self) -> u64 {
        self.server.as_ref().map_or(0, |server| server.info("commandstats", "cmdstat_evalsha:calls"))
    }
}

/// Takes in a task.
fn takes(queue: &Queue) -> tokio::task::JoinHandle<Delivery> {
    let queue = queue.clone();
    tokio::spawn(async move { queue.take().await.unwrap() })
}

/// Waits until so many callers of this client stand in line for this queue.
fn waiting(queue: &Queue, callers: usize) -> impl Future<Output = ()> {
    let queue = queue.clone();
    soon("that many callers wait", async move {
        while queue.shared.line().len() != callers {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

async fn ids(queue: &Queue) -> Vec<String> {
    let mut ids = Vec::new();
    while let Some(delivery) = queue.try_take().await.unwrap() {
        ids.push(delivery.id().to_owned());
        delivery.ack().await.unwrap();
    }
    ids
}
