//! What a program does that is not asynchronous: its threads call and wait.

use std::error::Error;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use libdlock::embed::reenter;
use libdlock::lease::HolderId;
use libdlock::lock::AcquireOptions;
use libdlock::{Client, Lock};

use crate::acquires::Acquires;
use crate::protocol;
use crate::waits::{Waits, told};

/// Between two looks at the clock.
const BATCH: usize = 1000;

async fn pair(lock: &Lock) -> libdlock::Result<()> {
    lock.acquire().await?.release().await
}

/// Each caller with a lock of its own.
pub fn pairs(client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    let locks = (0..callers).map(|caller| client.lock(&format!("bench-{caller}"))).collect::<libdlock::Result<_>>()?;
    repeat(client, locks, length, async |lock| pair(lock).await)
}

/// Each caller with another lock every time, which it keeps.
pub fn acquires(client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    let works = (0..callers).map(|caller| Acquires::new(client, &format!("bench-{caller}"))).collect();
    repeat(client, works, length, Acquires::one_more)
}

/// Each caller with jobs of the one queue.
pub fn jobs(client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    let works = (0..callers).map(|_| client.queue("bench")).collect::<libdlock::Result<_>>()?;
    repeat(client, works, length, async |queue| crate::queue::one(queue).await)
}

/// A thread for each caller, which repeats its work.
fn repeat<W: Send>(
    client: &Client,
    mut works: Vec<W>,
    length: Duration,
    once: impl AsyncFn(&mut W) -> libdlock::Result<()> + Sync,
) -> Result<(), Box<dyn Error>> {
    for work in &mut works {
        client.block_on(once(work))?; // connections and keys are warm
    }
    protocol::ready()?;
    let start_line = Barrier::new(works.len());
    let begun = Instant::now();
    let counts: Vec<libdlock::Result<usize>> = thread::scope(|scope| {
        let threads: Vec<_> = works
            .iter_mut()
            .map(|work| {
                let (start_line, once) = (&start_line, &once);
                scope.spawn(move || {
                    start_line.wait();
                    let mut done = 0;
                    while begun.elapsed() < length {
                        client.block_on(once(work))?;
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
    // What they hold is held until the driver has counted.
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}

/// Lock and unlock of what the thread holds.
pub fn reentry(client: &Client, length: Duration) -> Result<(), Box<dyn Error>> {
    let (lock, holder) = (client.lock("bench-0")?, HolderId::fresh());
    let _held = client.block_on(lock.acquire_as(holder, AcquireOptions::default()))?;
    protocol::ready()?;
    let begun = Instant::now();
    let mut done = 0;
    while begun.elapsed() < length {
        for _ in 0..BATCH {
            drop(reenter(&lock, holder)?); // the release of a re-entry needs no server
        }
        done += BATCH;
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}

/// Threads that all want `bench`.
pub fn contended(client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    client.block_on(pair(&client.lock(&format!("warm-{}", std::process::id()))?))?;
    let lock = client.lock("bench")?;
    protocol::ready()?;
    let begun = Instant::now();
    let waits: Vec<libdlock::Result<Waits>> = thread::scope(|scope| {
        let caller = || {
            let mut waits = Waits::new(begun, length);
            loop {
                let asked = Instant::now();
                if !waits.goes_on(asked) {
                    return Ok(waits);
                }
                let held = client.block_on(lock.acquire())?;
                waits.granted(asked);
                client.block_on(held.release())?;
            }
        };
        let threads: Vec<_> = (0..callers).map(|_| scope.spawn(caller)).collect();
        threads.into_iter().map(|thread| thread.join().expect("a caller panicked")).collect()
    });
    let waits: Vec<Waits> = waits.into_iter().collect::<libdlock::Result<_>>()?;
    Ok(protocol::answer(&told(&waits, length))?)
}
