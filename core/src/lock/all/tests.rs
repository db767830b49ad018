//! What a set of locks does, on `memory://` and on a real server.

mod ending;
mod model;
mod taking;
mod waiting;

use super::{HeldAll, LockAll};
use crate::Client;
use crate::contended::place::{Place, soon};
use crate::lock::Lock;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// The set of `a`, `b` and `c`.
fn set(client: &Client) -> LockAll {
    client.lock_all(NAMES).unwrap()
}

fn lock(client: &Client, name: &str) -> Lock {
    client.lock(name).unwrap()
}

/// Whether somebody holds the lock, as the server shows it.
async fn is_held(client: &Client, name: &str) -> bool {
    lock(client, name).inspect().await.unwrap().holder.is_some()
}

/// Waits until nobody holds any of the names and nobody waits for one.
#[track_caller]
fn nothing_is_left<'a>(client: &'a Client, names: &'a [&'a str]) -> impl Future<Output = ()> + 'a {
    soon("nothing is left", async move {
        for name in names {
            loop {
                let seen = lock(client, name).inspect().await.unwrap();
                if seen.holder.is_none() && seen.queued == 0 {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        }
    })
}

/// Waits until so many processes stand in the queue of a lock.
async fn queued(client: &Client, name: &str, processes: u64) {
    soon("that many processes wait", async {
        while lock(client, name).inspect().await.unwrap().queued != processes {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    })
    .await;
}

fn names(held: &HeldAll) -> Vec<&str> {
    held.grants().map(|(name, _)| name).collect()
}
