//! A start that waits until two workers are ready.

use std::time::Duration;

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let (starter, worker) = (Client::connect(&url).await?, Client::connect(&url).await?);

    let ready = starter.latch("example-latch")?;
    ready.try_set_count(2).await?;

    let left = worker.latch("example-latch")?.count_down().await?;
    println!("the first worker is ready, {left} is left");
    if !ready.wait_timeout(Duration::from_millis(100)).await? {
        println!("not everybody is ready");
    }

    let second = tokio::spawn(async move { worker.latch("example-latch")?.count_down().await });
    ready.wait().await?;
    println!("everybody is ready");
    second.await.expect("it does not panic").map(drop)
}
