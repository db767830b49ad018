//! A job for later, one that fails and comes again, and a dead one.

use std::time::Duration;

use libdlock::Client;
use libdlock::queue::{NewJob, QueueOptions};

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let client = Client::connect(&url).await?;
    let mails = client.queue_with("example-queue", QueueOptions::default().max_attempts(2))?;

    mails.put(NewJob::new("to: ada").id("ada-1").delay(Duration::from_millis(100))).await?;
    let again = mails.put(NewJob::new("to: ada").id("ada-1")).await?;
    println!("put a second time: {}", again.is_new);
    println!("due at once: {}", mails.try_take().await?.is_some());

    let first = mails.take().await?;
    println!("{}, attempt {}", String::from_utf8_lossy(first.payload()), first.attempt());
    first.nack_after(Duration::from_millis(50), "no route").await?;

    let second = mails.take().await?;
    println!("{}, attempt {}", String::from_utf8_lossy(second.payload()), second.attempt());
    second.nack("still no route").await?;

    let dead = mails.dead(10).await?;
    let why = dead[0].dead.as_ref().map_or("", |(_, why)| why);
    println!("dead after {} attempts: {why}", dead[0].attempts);

    mails.requeue_dead("ada-1").await?;
    mails.take().await?.ack().await?;
    println!("left: {}", mails.counts().await?.ready);
    Ok(())
}
