//! Many callers of one lock: how often it changes hands, and how long each of them waits.

use std::error::Error;
use std::time::{Duration, Instant};

use libdlock::Client;

use crate::protocol;
use crate::waits::{Waits, told};

/// All callers take `bench`, hold it for `work` and let go of it, again and again.
pub async fn contended(
    client: &Client,
    callers: usize,
    length: Duration,
    work: Duration,
) -> Result<(), Box<dyn Error>> {
    client.lock(&format!("warm-{}", std::process::id()))?.acquire().await?.release().await?;
    let lock = client.lock("bench")?;
    protocol::ready()?;
    let begun = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let lock = lock.clone();
            tokio::spawn(async move {
                let mut waits = Waits::new(begun, length);
                loop {
                    let asked = Instant::now();
                    if !waits.goes_on(asked) {
                        return Ok::<Waits, libdlock::Error>(waits);
                    }
                    let held = lock.acquire().await?;
                    waits.granted(asked);
                    if !work.is_zero() {
                        tokio::time::sleep(work).await;
                    }
                    held.release().await?;
                }
            })
        })
        .collect();
    let mut waits = Vec::new();
    for task in tasks {
        waits.push(task.await??);
    }
    Ok(protocol::answer(&told(&waits, length))?)
}

/// So many callers wait for `bench`, which somebody else holds.
pub async fn idle(client: &Client, callers: usize) -> Result<(), Box<dyn Error>> {
    let lock = client.lock("bench")?;
    for _ in 0..callers {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await });
    }
    protocol::ready()?;
    Ok(protocol::answer("{}")?)
}
