//! One process, no server: several tasks share a lock on `memory://`.
//!
//! `cargo run --example quickstart`, or with a server: `cargo run --example quickstart -- redis://127.0.0.1:6379/0`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use libdlock::Client;

const TASKS: u32 = 4;
const TURNS: u32 = 3;

#[tokio::main(flavor = "multi_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = std::env::args().nth(1).unwrap_or_else(|| "memory://".to_owned());
    let client = Client::connect(&url).await?;
    let inside = Arc::new(AtomicU32::new(0));
    // Stands for the resource that the lock protects: it refuses a token lower than the highest it has seen.
    let highest = Arc::new(AtomicU64::new(0));

    let mut tasks = Vec::new();
    for task in 1..=TASKS {
        let (lock, inside, highest) = (client.lock("quickstart")?, inside.clone(), highest.clone());
        tasks.push(tokio::spawn(async move {
            for turn in 1..=TURNS {
                let held = lock.acquire().await?;
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders at once");
                assert!(highest.fetch_max(held.token(), Ordering::SeqCst) < held.token(), "a stale token");
                println!("task {task}, turn {turn}: token {}, {} ms left", held.token(), held.remaining().as_millis());
                tokio::time::sleep(Duration::from_millis(5)).await; // the work
                inside.fetch_sub(1, Ordering::SeqCst);
                held.release().await?;
            }
            Ok::<(), libdlock::Error>(())
        }));
    }
    for task in tasks {
        task.await??;
    }

    let held = client.lock("quickstart")?.try_acquire().await?.ok_or("nobody should hold it now")?;
    println!("{} turns, never two holders at once; the last token is {}", TASKS * TURNS, held.token());
    held.release().await?;
    Ok(())
}
