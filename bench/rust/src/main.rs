//! The Rust worker of `bench/run.py`: does something as often as CALLERS tasks can in SECONDS.
//!
//! `libdlock-bench pairs|decisions|ids|batches URL CALLERS SECONDS`: lock and unlock, a lock for each caller; decisions of one
//! rate limiter; ids, one by one or in batches.

use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::time::{Duration, Instant};

use libdlock::{Client, Lock, Rate, RateLimiter, Snowflake};

/// So many ids in a batch, in every language.
const BATCH: usize = 1000;

/// What a caller does, again and again.
enum Work {
    Pairs(Lock),
    Decisions(RateLimiter),
    Ids(Snowflake),
    Batches(Snowflake, Vec<i64>),
}

impl Work {
    fn new(what: &str, client: &Client, caller: usize) -> Result<Work, Box<dyn Error>> {
        Ok(match what {
            "pairs" => Work::Pairs(client.lock(&format!("bench-{caller}"))?),
            // So many that nobody is refused.
            "decisions" => Work::Decisions(client.rate_limiter("bench", Rate::new(1_000_000, Duration::from_secs(1)))?),
            "ids" => Work::Ids(Snowflake::new(1, 1)?),
            "batches" => Work::Batches(Snowflake::new(1, 1)?, vec![0; BATCH]),
            other => return Err(format!("there is no {other:?}").into()),
        })
    }

    /// Does it once; returns how many pairs, decisions or ids that makes.
    async fn once(&mut self) -> libdlock::Result<usize> {
        match self {
            Work::Pairs(lock) => lock.acquire().await?.release().await?,
            Work::Decisions(limiter) => assert!(limiter.try_acquire(1).await?.allowed),
            Work::Ids(ids) => {
                // Asking for the time costs as much as an id.
                for _ in 0..BATCH {
                    ids.next_id()?;
                }
                return Ok(BATCH);
            }
            Work::Batches(ids, batch) => {
                ids.fill(batch)?;
                return Ok(BATCH);
            }
        }
        Ok(1)
    }
}

// One worker thread, as the runtime of the bindings has.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, url, callers, seconds] = arguments.as_slice() else {
        return Err("usage: libdlock-bench pairs|decisions|ids|batches URL CALLERS SECONDS".into());
    };
    let length = Duration::from_secs_f64(seconds.parse()?);
    let client = Client::connect(url).await?;
    let mut callers_work = Vec::new();
    for caller in 0..callers.parse()? {
        let mut work = Work::new(what, &client, caller)?;
        work.once().await?; // connections and keys are warm before the clock starts
        callers_work.push(work);
    }
    println!("ready");
    io::stdout().flush()?;
    io::stdin().lock().read_line(&mut String::new())?;

    let begun = Instant::now();
    let tasks: Vec<_> = callers_work
        .into_iter()
        .map(|mut work| {
            tokio::spawn(async move {
                let mut done = 0;
                while begun.elapsed() < length {
                    done += work.once().await?;
                }
                Ok::<usize, libdlock::Error>(done)
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await??;
    }
    println!("{{\"done\": {done}, \"seconds\": {:.6}}}", begun.elapsed().as_secs_f64());
    io::stdout().flush()?;
    io::stdin().lock().read_to_end(&mut Vec::new())?; // the driver reads our CPU time before it lets go
    Ok(())
}
