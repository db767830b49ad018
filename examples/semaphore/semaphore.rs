//! Two clients share three permits.

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let first = Client::connect(&url).await?;
    let second = Client::connect(&url).await?;

    let held = first.semaphore("example-semaphore", 3)?.acquire_many(2).await?;
    println!("the first client holds two of three permits");

    let semaphore = second.semaphore("example-semaphore", 3)?;
    if semaphore.try_acquire_many(2).await?.is_none() {
        println!("the second client finds no two available");
    }

    // Those of a process that dies come back when its lease ends.
    held.release().await?;

    let held = semaphore.acquire_many(2).await?;
    println!("the second client holds two");
    held.release().await
}
