//! Names that are taken: only for those that the filter may contain, a data base would be asked.

use libdlock::Client;

#[tokio::main]
async fn main() -> libdlock::Result<()> {
    let url = std::env::var("REDIS_URL").unwrap_or("redis://127.0.0.1:6379".to_owned());
    let client = Client::connect(&url).await?;

    let taken = client.bloom_filter("example-names", 1_000, 0.01)?;
    taken.clear().await?;
    println!("{} bits, {} of them for each name", taken.size(), taken.hashes());
    let new = taken.add(["ada", "grace", "ada"]).await?;
    println!("new: {} {} {}", new[0], new[1], new[2]);
    let found = taken.contains(["grace", "linus"]).await?;
    println!("taken: {} {}", found[0], found[1]);
    println!("about {} names", taken.count().await?);

    let other = client.bloom_filter("example-names", 2_000, 0.01)?;
    match other.contains(["ada"]).await {
        Err(error) if error.kind() == libdlock::ErrorKind::WrongType => println!("another size is refused"),
        answer => println!("{answer:?}"),
    }
    Ok(())
}
