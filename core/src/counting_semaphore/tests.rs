//! What a counting semaphore does, on `memory://` and on a real server.

mod ending;
mod keys;
mod permits;
mod rights;
mod waiting;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use libdlock_testkit::Server;
use tokio::task::JoinHandle;

use super::{CountingSemaphore, Inspection};
use crate::contended::place::{Place, SOON, settle, soon};
use crate::error::{ErrorKind, Result};
use crate::stats::{CountingSemaphoreStats, Held};
use crate::{Client, Wait};

/// Less than the shortest poll of a waiter: what it gets in this time it was told of.
const TOLD: Duration = Duration::from_millis(500);

const QUEUE: &str = "dlock_counting_queue:{slots}";
const DONE: &str = "dlock_counting_done:{slots}";

impl Place {
    /// The semaphore `slots` of so many clients, each of its own, with so many permits.
    async fn slots(&self, clients: usize, permits: u32) -> Vec<CountingSemaphore> {
        let mut all = Vec::new();
        for _ in 0..clients {
            all.push(self.client().await.counting_semaphore("slots").unwrap());
        }
        assert!(all[0].try_set_permits(permits).await.unwrap());
        all
    }
}

/// Acquires in a task.
fn waits(slots: &CountingSemaphore, permits: u32) -> JoinHandle<Result<()>> {
    let slots = slots.clone();
    tokio::spawn(async move { slots.acquire_many(permits).await })
}

/// A caller that was granted a permit, released by `others`, and has not been polled since.
async fn granted_unpolled<'a>(
    slots: &'a CountingSemaphore,
    others: &CountingSemaphore,
) -> Pin<Box<impl Future<Output = Result<()>> + 'a>> {
    let mut acquiring = Box::pin(slots.acquire());
    // Until it stands in line its first request goes on only while it is polled.
    while counts(slots).waiting == 0 || others.inspect().await.unwrap().queued == 0 {
        let polled = tokio::time::timeout(Duration::from_millis(1), &mut acquiring).await;
        assert!(polled.is_err(), "{polled:?}");
    }
    others.release().await.unwrap();
    shows(others, "it is granted", |seen| (seen.queued, seen.available) == (0, 0)).await;
    acquiring
}

/// Awaits the task of [`waits`].
async fn granted(waiter: JoinHandle<Result<()>>) {
    soon("a waiter is granted", waiter).await.unwrap().unwrap();
}

/// Waits until the server shows this.
#[track_caller]
fn shows<'a>(
    slots: &'a CountingSemaphore,
    what: &'static str,
    is_so: impl Fn(&Inspection) -> bool + 'a,
) -> impl Future<Output = ()> + 'a {
    soon(what, async move {
        while !is_so(&slots.inspect().await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

/// Waits until so many processes stand in the queue.
async fn queued(slots: &CountingSemaphore, processes: u64) {
    shows(slots, "that many processes wait", |seen| seen.queued == processes).await;
}

/// Waits until so many permits are available and nobody waits.
async fn all_are_back(slots: &CountingSemaphore, permits: i64) {
    shows(slots, "all permits are back", |seen| (seen.queued, seen.available) == (0, permits)).await;
}

/// Waits until so many callers wait for any counting semaphore of this client.
async fn waiting(slots: &CountingSemaphore, callers: u64) {
    soon("that many callers wait", async {
        while counts(slots).waiting != callers {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// What the counting semaphores of this client have counted.
fn counts(slots: &CountingSemaphore) -> CountingSemaphoreStats {
    slots.client().counters.snapshot(Held::default()).counting_semaphore
}

/// Waits until the head of the queue hears Redisson's channel.
async fn head_listens(server: &Server) {
    soon("the head listens for Redisson", async {
        while server.cmd(&["PUBSUB", "NUMSUB", "redisson_sc:{slots}"]).array()[1].int() == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
}
