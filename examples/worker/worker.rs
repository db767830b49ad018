//! Two processes lease worker numbers of one pool and make ids under them. Nobody has to hand the numbers out.

use libdlock::Client;
use libdlock::id::Layout;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let (one, two) = (Client::connect(&url).await?, Client::connect(&url).await?);

    let first = one.worker("example-worker").await?;
    let second = two.worker("example-worker").await?;
    println!("leased {} and {}", first.number(), second.number());

    let ids = first.snowflake(Layout::DEFAULT)?;
    let last = *ids.next_ids(1000)?.last().expect("1000 of them");
    first.release().await?;
    if ids.next_id().is_err() {
        println!("no ids without a number");
    }

    let again = one.worker("example-worker").await?;
    println!("leased {} again", again.number());
    if again.snowflake(Layout::DEFAULT)?.next_id()? > last {
        println!("its ids go on behind the last");
    }
    again.release().await?;
    second.release().await
}
