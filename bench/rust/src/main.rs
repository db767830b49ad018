//! Lock and unlock as fast as CALLERS tasks can, each with a lock of its own: the Rust worker of `bench/run.py`.
//!
//! `libdlock-bench URL CALLERS SECONDS`

use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::time::{Duration, Instant};

use libdlock::{Client, Lock};

async fn pair(lock: &Lock) -> libdlock::Result<()> {
    lock.acquire().await?.release().await
}

// One worker thread, as the runtime of the bindings has.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, callers, seconds] = arguments.as_slice() else {
        return Err("usage: libdlock-bench URL CALLERS SECONDS".into());
    };
    let length = Duration::from_secs_f64(seconds.parse()?);
    let client = Client::connect(url).await?;
    let mut locks = Vec::new();
    for caller in 0..callers.parse()? {
        let lock = client.lock(&format!("bench-{caller}"))?;
        pair(&lock).await?; // connections and keys are warm before the clock starts
        locks.push(lock);
    }
    println!("ready");
    io::stdout().flush()?;
    io::stdin().lock().read_line(&mut String::new())?;

    let begun = Instant::now();
    let tasks: Vec<_> = locks
        .into_iter()
        .map(|lock| {
            tokio::spawn(async move {
                let mut pairs = 0_u64;
                while begun.elapsed() < length {
                    pair(&lock).await?;
                    pairs += 1;
                }
                Ok::<u64, libdlock::Error>(pairs)
            })
        })
        .collect();
    let mut pairs = 0;
    for task in tasks {
        pairs += task.await??;
    }
    println!("{{\"pairs\": {pairs}, \"seconds\": {:.6}}}", begun.elapsed().as_secs_f64());
    io::stdout().flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new())?; // the driver reads our CPU time before it lets go
    Ok(())
}
