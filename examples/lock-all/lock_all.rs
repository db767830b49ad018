//! Two clients transfer between the same accounts.

use std::time::Duration;

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let (seven, forty_two) = ("example-account/7", "example-account/42");
    let first = Client::connect(&url).await?.lock_all([seven, forty_two])?;
    let second = Client::connect(&url).await?.lock_all([forty_two, seven, seven])?;

    let held = first.acquire().await?;
    if held.token(seven) > Some(0) && held.token(forty_two) > Some(0) {
        println!("both accounts are held, each with a token of its own");
    }

    if second.try_acquire().await?.is_none() {
        println!("a second client finds them busy, and takes neither");
    }

    held.release().await?;
    let held = second.acquire_timeout(Duration::from_secs(5)).await?;
    println!("it has both as soon as they are released");

    if held.tokens().len() == 2 {
        println!("a name that is given twice counts once");
    }
    held.release().await
}
