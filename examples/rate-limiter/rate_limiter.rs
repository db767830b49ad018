//! Three requests a minute for everybody: the fourth is told when to come back.

use std::time::Duration;

use libdlock::{Client, Rate};

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let client = Client::connect(&url).await?;
    let api = client.rate_limiter("example-api", Rate::new(3, Duration::from_secs(60)))?;
    api.reset().await?; // earlier runs have spent tokens

    for request in 1..=4 {
        let decision = api.try_acquire(1).await?;
        if decision.allowed {
            println!("request {request} is allowed, {} left", decision.remaining);
        } else if decision.retry_after.is_some_and(|wait| wait <= Duration::from_secs(20)) {
            println!("request {request} is refused, and may come back within 20 s");
        }
    }
    Ok(())
}
