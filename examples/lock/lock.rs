//! Two clients take turns on one lock.

use std::time::Duration;

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let first = Client::connect(&url).await?;
    let second = Client::connect(&url).await?;

    let held = first.lock("example-lock")?.acquire_timeout(Duration::from_secs(5)).await?;
    println!("the first client holds the lock");

    let lock = second.lock("example-lock")?;
    if lock.try_acquire().await?.is_none() {
        println!("the second client finds it busy");
    }

    // Send the token with every write: the resource refuses one that is lower than the highest it has seen.
    let token = held.token();
    held.release().await?;

    let held = lock.acquire_timeout(Duration::from_secs(5)).await?;
    if held.token() > token {
        println!("the second client holds it, with a larger token");
    }
    held.release().await
}
