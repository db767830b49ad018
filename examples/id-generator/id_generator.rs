//! Ids of orders and their lines, from two clients that take a block each.

use libdlock::Client;
use libdlock::id_generator::IdGeneratorOptions;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let (shop, other) = (Client::connect(&url).await?, Client::connect(&url).await?);

    let ids = shop.id_generator_with("example-orders", IdGeneratorOptions::default().block(100))?;
    println!("order {}", ids.next_id().await?);
    let lines = ids.next_ids(3).await?;
    println!("lines {}, {} and {}", lines[0], lines[1], lines[2]);

    let others = other.id_generator("example-orders")?;
    println!("another process has {}", others.next_id().await?);
    println!("blocks of {}", others.block_size());
    Ok(())
}
