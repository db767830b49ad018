//! The Rust program of README.md; `scripts/test_docs.py` checks that the two are the same and runs it.

use std::time::Duration;

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let client = Client::connect(&url).await?;
    let lock = client.lock("report")?;
    let held = lock.acquire_timeout(Duration::from_secs(2)).await?;
    println!("held, fencing token {}", held.token());
    held.release().await // dropping it releases too, in the background
}
