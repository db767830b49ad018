//! Many wait for one latch: when it was called open, and when each of them knew.

use std::error::Error;
use std::time::Duration;

use libdlock::Client;

use crate::handover::machine_ns;
use crate::protocol;

/// So long the callers may take to begin.
const BEGUN: Duration = Duration::from_secs(30);

/// So many callers wait for the latch `bench`, which has a count; tells when the first of them was through, and the last.
pub async fn waits(client: &Client, callers: usize) -> Result<(), Box<dyn Error>> {
    let latch = client.latch("bench")?;
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let latch = latch.clone();
            tokio::spawn(async move { latch.wait().await.map(|()| machine_ns()) })
        })
        .collect();
    let all_wait = async {
        while client.stats().latch.waiting < callers as u64 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(BEGUN, all_wait).await?;
    protocol::ready()?;
    let mut opened = Vec::new();
    for task in tasks {
        opened.push(task.await??);
    }
    opened.sort_unstable();
    let (first, last) = (opened.first().ok_or("nobody waits")?, opened.last().ok_or("nobody waits")?);
    Ok(protocol::answer(&format!(r#"{{"first": {first}, "last": {last}}}"#))?)
}

/// Counts the latch `bench` down to zero; tells when it called.
pub async fn opens(client: &Client) -> Result<(), Box<dyn Error>> {
    let latch = client.latch("bench")?;
    latch.count().await?; // connections and scripts are warm
    protocol::ready()?;
    let called = machine_ns();
    let left = latch.count_down().await?;
    Ok(protocol::answer(&format!(r#"{{"called": {called}, "left": {left}}}"#))?)
}
