//! What a semaphore does, on `memory://` and on a real server.

mod ending;
mod hand_over;
mod keys;
mod leases;
mod permits;
mod waiting;

use std::future::Future;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::{Inspection, Permits, Semaphore};
use crate::contended::place::{Place, SOON, settle, soon, still_client};
use crate::error::Result;
use crate::stats::{Held, SemaphoreStats};
use crate::{Client, Config};

impl Place {
    /// The semaphore `pool` of so many clients, each of its own.
    async fn pools(&self, clients: usize, permits: u32) -> Vec<Semaphore> {
        let mut pools = Vec::new();
        for _ in 0..clients {
            pools.push(self.client().await.semaphore("pool", permits).unwrap());
        }
        pools
    }
}

/// Acquires in a task.
fn waits(pool: &Semaphore, permits: u32) -> JoinHandle<Result<Permits>> {
    let pool = pool.clone();
    tokio::spawn(async move { pool.acquire_many(permits).await })
}

/// What the task of [`waits`] got.
async fn granted(waiter: JoinHandle<Result<Permits>>) -> Permits {
    soon("a waiter is granted", waiter).await.unwrap().unwrap()
}

/// Waits until the server shows this.
#[track_caller]
fn shows<'a>(
    pool: &'a Semaphore,
    what: &'static str,
    is_so: impl Fn(&Inspection) -> bool + 'a,
) -> impl Future<Output = ()> + 'a {
    soon(what, async move {
        while !is_so(&pool.inspect().await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

/// Waits until so many processes stand in the queue.
async fn queued(pool: &Semaphore, processes: u64) {
    shows(pool, "that many processes wait", |seen| seen.queued == processes).await;
}

/// Waits until all permits are there and nobody waits.
async fn nothing_is_left(pool: &Semaphore) {
    let is_whole = |seen: &Inspection| seen.queued == 0 && seen.permits == Some(seen.available as u64);
    shows(pool, "nothing is left", is_whole).await;
}

/// Waits until so many callers wait for any semaphore of this client.
async fn waiting(pool: &Semaphore, callers: u64) {
    soon("that many callers wait", async {
        while counts(pool).waiting != callers {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// What the semaphores of this client have counted.
fn counts(pool: &Semaphore) -> SemaphoreStats {
    let context = pool.client();
    context.counters.snapshot(Held { semaphores: context.keeper.held::<super::Renew>(), ..Held::default() }).semaphore
}
