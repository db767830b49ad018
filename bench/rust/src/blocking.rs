//! What a program does that is not asynchronous: its threads call and wait.

use std::error::Error;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use libdlock::Client;
use tokio::runtime::Handle;

use crate::protocol;

/// A thread for each caller, each with a lock of its own.
pub fn pairs(runtime: &Handle, client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    let mut locks = Vec::new();
    for caller in 0..callers {
        let lock = client.lock(&format!("bench-{caller}"))?;
        runtime.block_on(async { lock.acquire().await?.release().await })?; // connections and keys are warm
        locks.push(lock);
    }
    protocol::ready()?;
    let start_line = Barrier::new(callers);
    let begun = Instant::now();
    let counts: Vec<libdlock::Result<usize>> = thread::scope(|scope| {
        let threads: Vec<_> = locks
            .into_iter()
            .map(|lock| {
                let start_line = &start_line;
                scope.spawn(move || {
                    start_line.wait();
                    let mut done = 0;
                    while begun.elapsed() < length {
                        runtime.block_on(async { lock.acquire().await?.release().await })?;
                        done += 1;
                    }
                    Ok(done)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().expect("a caller panicked")).collect()
    });
    let seconds = begun.elapsed().as_secs_f64();
    let done: usize = counts.into_iter().sum::<libdlock::Result<usize>>()?;
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}
