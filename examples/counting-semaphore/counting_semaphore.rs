//! Two clients, of which one takes permits and the other brings them back.

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let first = Client::connect(&url).await?;
    let second = Client::connect(&url).await?;

    let slots = first.counting_semaphore("example-counting-semaphore")?;
    slots.drain().await?;
    slots.add_permits(2).await?;
    slots.acquire_many(2).await?;
    println!("the first client has taken both permits");

    let same = second.counting_semaphore("example-counting-semaphore")?;
    if !same.try_acquire().await? {
        println!("the second client finds none available");
    }

    // By whomever: a permit has no owner.
    same.release_many(2).await?;
    println!("the second client has brought {} back", slots.available().await?);
    Ok(())
}
