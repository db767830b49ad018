//! What a read-write lock does, on `memory://` and on a real server.

mod ending;
mod forcing;
mod holders;
mod keys;
mod leases;
mod sharing;
mod sides;
mod waiting;

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::{AcquireOptions, Inspection, RwHeld, RwLock, RwLockOptions, RwLockSide, Side};
use crate::Client;
use crate::contended::place::{Place, SOON, settle, soon, still_client};
use crate::error::Result;
use crate::lease::HolderId;
use crate::stats::{Held, RwLockStats};

/// Less than the shortest poll of a waiter: who gets it in this time was told.
const TOLD: Duration = Duration::from_millis(500);

impl Place {
    /// The lock `prices` of so many clients, each of its own.
    async fn prices(&self, clients: usize) -> Vec<RwLock> {
        let mut locks = Vec::new();
        for _ in 0..clients {
            locks.push(self.client().await.rw_lock("prices").unwrap());
        }
        locks
    }
}

/// Acquires in a task.
fn waits(side: &RwLockSide) -> JoinHandle<Result<RwHeld>> {
    let side = side.clone();
    tokio::spawn(async move { side.acquire().await })
}

/// What the task of [`waits`] got.
async fn granted(waiter: JoinHandle<Result<RwHeld>>) -> RwHeld {
    soon("a waiter is granted", waiter).await.unwrap().unwrap()
}

/// Waits until the server shows this.
#[track_caller]
fn shows<'a>(
    lock: &'a RwLock,
    what: &'static str,
    is_so: impl Fn(&Inspection) -> bool + 'a,
) -> impl Future<Output = ()> + 'a {
    soon(what, async move {
        while !is_so(&lock.inspect().await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

/// Waits until so many processes stand in the queue.
async fn queued(lock: &RwLock, processes: u64) {
    shows(lock, "that many processes wait", |seen| seen.queued == processes).await;
}

/// Waits until nobody holds the lock and nobody waits.
async fn nothing_is_left(lock: &RwLock) {
    shows(lock, "nothing is left", |seen| (seen.queued, seen.readers, &seen.writer) == (0, 0, &None)).await;
}

/// Waits until so many callers wait for any read-write lock of this client.
async fn waiting(lock: &RwLock, callers: u64) {
    soon("that many callers wait", async {
        while counts(lock).waiting != callers {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// What the read-write locks of this client have counted.
fn counts(lock: &RwLock) -> RwLockStats {
    let context = lock.shared.client();
    context.counters.snapshot(Held { rw_locks: context.keeper.held::<super::Renew>(), ..Held::default() }).rw_lock
}
