//! What a semaphore does, on `memory://` and on a real server.

mod ending;
mod keys;
mod leases;
mod permits;
mod waiting;

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use libdlock_testkit::Server;
use tokio::task::JoinHandle;

use super::{Inspection, Permits, Semaphore};
use crate::error::Result;
use crate::stats::LockStats;
use crate::time::ManualClock;
use crate::{Client, Config};

/// Long enough for anything that is bound to happen on a busy machine.
const SOON: Duration = Duration::from_secs(10);

/// Where clients meet: a store in this process, or a server.
struct Place {
    url: String,
    server: Option<Server>,
}

impl Place {
    fn memory() -> Place {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let url = format!("memory://semaphores-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        Place { url, server: None }
    }

    fn server() -> Place {
        let server = Server::start();
        Place { url: server.url(), server: Some(server) }
    }

    fn both() -> [Place; 2] {
        [Place::memory(), Place::server()]
    }

    async fn client(&self) -> Client {
        Client::connect(&self.url).await.unwrap()
    }

    /// The semaphore `pool` of so many clients, each of its own.
    async fn pools(&self, clients: usize, permits: u32) -> Vec<Semaphore> {
        let mut pools = Vec::new();
        for _ in 0..clients {
            pools.push(self.client().await.semaphore("pool", permits).unwrap());
        }
        pools
    }
}

/// A client on a store of its own, whose time stands still unless the test moves it.
async fn still_client() -> (Client, ManualClock) {
    let clock = ManualClock::new();
    let mut config = Config::from_url("memory://?lease=10s").unwrap();
    config.clock(clock.clone()).unwrap();
    (Client::connect_with(config).await.unwrap(), clock)
}

/// Awaits, but not for longer than [`SOON`].
#[track_caller]
fn soon<F: Future>(what: &'static str, future: F) -> impl Future<Output = F::Output> {
    let caller = std::panic::Location::caller();
    async move {
        let done = tokio::time::timeout(SOON, future).await;
        done.unwrap_or_else(|_| panic!("not within {SOON:?}: {what} ({caller})"))
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

/// Lets the tasks that are ready run: with a clock that stands still there is nothing else to wait for.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
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
fn counts(pool: &Semaphore) -> LockStats {
    let context = pool.client();
    context.counters.semaphore.seen(context.keeper.held::<super::Renew>())
}
