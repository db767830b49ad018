//! What it costs to hold: many locks at once, and a server that goes away under them.

use std::error::Error;
use std::time::{Duration, Instant};

use libdlock::embed::into_grant;
use libdlock::{Client, Held};

use crate::protocol;

/// So many callers take them.
const AT_ONCE: usize = 64;

/// Between two acquires of `lost`, so that the leases end one after the other.
const APART: Duration = Duration::from_millis(5);

/// Holds `bench` until the driver is done.
pub async fn hold(client: &Client) -> Result<(), Box<dyn Error>> {
    let held = client.lock("bench")?.acquire().await?;
    protocol::ready()?;
    protocol::answer("{}")?;
    Ok(held.release().await?)
}

/// Takes so many locks, and holds them until the driver is done.
pub async fn held(client: &Client, count: usize) -> Result<(), Box<dyn Error>> {
    // The server knows the scripts, the one that renews among them, before the clock starts.
    let warm = client.lock("warm")?.acquire().await?;
    warm.extend(Duration::from_secs(60)).await?;
    warm.release().await?;
    protocol::ready()?;
    let begun = Instant::now();
    let callers: Vec<_> = (0..AT_ONCE)
        .map(|first| {
            let client = client.clone();
            tokio::spawn(async move {
                let mut holds = Vec::new();
                for number in (first..count).step_by(AT_ONCE) {
                    holds.push(client.lock(&format!("bench-{number}"))?.acquire().await?);
                }
                Ok::<Vec<Held>, libdlock::Error>(holds)
            })
        })
        .collect();
    let mut holds = Vec::new();
    for caller in callers {
        holds.push(caller.await??);
    }
    let seconds = begun.elapsed().as_secs_f64();
    protocol::answer(&format!(r#"{{"done": {}, "seconds": {seconds}}}"#, holds.iter().map(Vec::len).sum::<usize>()))?;
    // The server goes away with the driver's section: nothing to release one by one.
    std::process::exit(0)
}

/// Waits for so many locks that others hold, until the driver is done.
pub async fn waited(client: &Client, count: usize) -> Result<(), Box<dyn Error>> {
    let warm = client.lock("warm")?.acquire().await?;
    warm.release().await?;
    protocol::ready()?;
    let begun = Instant::now();
    for number in 0..count {
        let lock = client.lock(&format!("bench-{number}"))?;
        tokio::spawn(async move { lock.acquire().await.map(into_grant) });
        // So many at a time that the server is busy and answers none of them late.
        if number % 1_000 == 999 {
            all_wait(client, number + 1).await;
        }
    }
    all_wait(client, count).await;
    let (seconds, done) = (begun.elapsed().as_secs_f64(), client.stats().lock.waiting);
    protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds}}}"#))?;
    // They belong to the driver: nothing to leave one by one.
    std::process::exit(0)
}

/// A caller is counted as waiting once the server has answered its first attempt. The driver bounds it.
async fn all_wait(client: &Client, count: usize) {
    while (client.stats().lock.waiting as usize) < count {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Holds so many locks; from the start on the server does not answer. Tells how long before each lease's end its lost signal
/// came.
pub async fn lost(client: &Client, count: usize) -> Result<(), Box<dyn Error>> {
    let mut holds = Vec::new();
    for number in 0..count {
        holds.push(client.lock(&format!("bench-{number}"))?.acquire().await?);
        tokio::time::sleep(APART).await;
    }
    protocol::ready()?;
    let signals: Vec<_> = holds
        .into_iter()
        .map(|held| {
            let ends = Instant::now() + held.remaining();
            tokio::spawn(async move {
                let reason = held.lost().await;
                let came = Instant::now();
                assert!(reason.is_some(), "released, not lost");
                drop(into_grant(held)); // there is nobody to release to
                // Negative when it came too late.
                ends.saturating_duration_since(came).as_secs_f64() - came.saturating_duration_since(ends).as_secs_f64()
            })
        })
        .collect();
    let mut margins = Vec::new();
    for signal in signals {
        margins.push(format!("{:.3}", 1e3 * signal.await?));
    }
    protocol::answer(&format!(r#"{{"margins_ms": [{}]}}"#, margins.join(", ")))?;
    std::process::exit(0)
}
