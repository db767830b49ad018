//! Scratch.
#![allow(missing_docs)]
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, Instant};
#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let (url, what, permits, callers, secs): (_, _, u32, usize, u64) =
        (&args[1], args[2].clone(), args[3].parse().unwrap(), args[4].parse().unwrap(), args[5].parse().unwrap());
    let client = libdlock::Client::connect(url).await.unwrap();
    let done = Arc::new(AtomicU64::new(0));
    let end = Instant::now() + Duration::from_secs(secs);
    let mut tasks = vec![];
    for at in 0..callers {
        let (client, done, what) = (client.clone(), done.clone(), what.clone());
        tasks.push(tokio::spawn(async move {
            let mut max = Duration::ZERO;
            let name = if what.ends_with('s') { format!("{what}{at}") } else { "bench".into() };
            let lock = client.lock(&name).unwrap();
            let sem = client.semaphore(&format!("sem-{name}"), permits).unwrap();
            while Instant::now() < end {
                let t = Instant::now();
                let hold = Duration::from_millis(std::env::var("HOLD").map_or(0, |h| h.parse().unwrap()));
                if what.starts_with("lock") {
                    let h = lock.acquire().await.unwrap();
                    max = max.max(t.elapsed());
                    h.release().await.unwrap();
                } else {
                    let h = sem.acquire().await.unwrap();
                    max = max.max(t.elapsed());
                    if !hold.is_zero() {
                        tokio::time::sleep(hold).await
                    }
                    h.release().await.unwrap();
                }
                done.fetch_add(1, Relaxed);
            }
            max
        }));
    }
    let mut max = Duration::ZERO;
    for t in tasks {
        max = max.max(t.await.unwrap());
    }
    let s = client.stats();
    println!(
        "{} {} per s; max wait {:?}; local {} remote {} contended {}",
        what,
        done.load(Relaxed) / secs,
        max,
        s.semaphore.handed_over_local,
        s.semaphore.handed_over_remote,
        s.semaphore.contended
    );
    client.close().await;
}
