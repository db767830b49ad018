//! Two processes take turns: how long after a release the other one, which waits, has the lock.

use std::error::Error;
use std::time::{Duration, Instant};

use libdlock::Client;
use rustix::time::{ClockId, clock_gettime};

use crate::protocol;

/// So long a hold lasts that the other process is waiting for sure.
const HOLD: Duration = Duration::from_millis(2);

/// What all processes of the machine call now, in ns.
pub fn machine_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Takes `bench`, holds it, lets go; tells when it had it and when it called release.
pub async fn handover(client: &Client, length: Duration) -> Result<(), Box<dyn Error>> {
    client.lock(&format!("warm-{}", std::process::id()))?.acquire().await?.release().await?;
    let lock = client.lock("bench")?;
    protocol::ready()?;
    let begun = Instant::now();
    let mut turns = Vec::new();
    while begun.elapsed() < length {
        let held = lock.acquire().await?;
        let taken = machine_ns();
        tokio::time::sleep(HOLD).await;
        let released = machine_ns();
        held.release().await?;
        turns.push(format!("[{taken}, {released}]"));
    }
    Ok(protocol::answer(&format!(r#"{{"turns": [{}]}}"#, turns.join(", ")))?)
}
