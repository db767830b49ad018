//! Two clients share a read-write lock.

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let first = Client::connect(&url).await?.rw_lock("example-rw-lock")?;
    let second = Client::connect(&url).await?.rw_lock("example-rw-lock")?;

    let readers = (first.read().acquire().await?, second.read().acquire().await?);
    println!("both clients read at the same time");

    if second.write().try_acquire().await?.is_none() {
        println!("the second client cannot write while the first reads");
    }

    readers.0.release().await?;
    readers.1.release().await?;

    let writes = second.write().acquire().await?;
    println!("the second client writes alone");

    // From now on others may read too, and nobody has written in between.
    let reads = writes.downgrade().await?;
    let other = first.read().acquire().await?;
    println!("it goes on as a reader, and the first client reads again");
    other.release().await?;
    reads.release().await
}
