//! Jobs of the queue `bench`: put, taken and acknowledged; deliveries of what becomes due; waiters for what does not come.

use std::error::Error;
use std::time::{Duration, Instant, SystemTime};

use libdlock::queue::NewJob;
use libdlock::{Client, Queue, Result, Wait};

use crate::protocol;

/// So many jobs in a batch, and what is in each, in every language.
pub const BATCH: usize = 100;
const PAYLOAD: &str =
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";

/// How long before it is due a job is put, at least and at most.
const AHEAD_MS: (u64, u64) = (50, 150);

/// How long those that wait for jobs are there beyond the last one, at most.
const AFTERWARDS: Duration = Duration::from_millis(500);

/// A job is put, one is taken, and ended.
pub async fn one(queue: &Queue) -> Result<()> {
    queue.put(PAYLOAD).await?;
    queue.take().await?.ack().await
}

/// The same of a batch; how many were taken.
pub async fn batch(queue: &Queue) -> Result<usize> {
    queue.put_many([PAYLOAD; BATCH]).await?;
    let deliveries = queue.take_many(BATCH, Wait::Forever).await?;
    let acked = queue.ack_many(deliveries).await;
    acked.into_iter().map(|acked| acked.map(|()| 1)).sum()
}

/// Puts so many jobs that are due tomorrow.
pub async fn fill(client: &Client, count: usize) -> std::result::Result<(), Box<dyn Error>> {
    let queue = client.queue("bench")?;
    protocol::ready()?;
    let begun = Instant::now();
    for first in (0..count).step_by(BATCH) {
        let some = (first..count.min(first + BATCH)).map(|_| NewJob::new(PAYLOAD).delay(Duration::from_secs(86_400)));
        queue.put_many(some).await?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(protocol::answer(&format!(r#"{{"done": {count}, "seconds": {seconds:.6}}}"#))?)
}

/// Puts `a_second` jobs a second, evenly, each due a little later.
pub async fn due_puts(client: &Client, a_second: usize, length: Duration) -> std::result::Result<(), Box<dyn Error>> {
    let queue = client.queue("bench")?;
    protocol::ready()?;
    let begun = Instant::now();
    let mut done = 0;
    while begun.elapsed() < length {
        // No round number, so that they are due anywhere between two ticks of any timer.
        let ahead = AHEAD_MS.0 + done as u64 * 37 % (AHEAD_MS.1 - AHEAD_MS.0);
        queue.put(NewJob::new(PAYLOAD).delay(Duration::from_millis(ahead))).await?;
        done += 1;
        tokio::time::sleep_until((begun + Duration::from_secs_f64(done as f64 / a_second as f64)).into()).await;
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}

/// So many callers take what becomes due, for so long; tells how late each job came, by the clock of the machine.
pub async fn due_takes(client: &Client, callers: usize, length: Duration) -> std::result::Result<(), Box<dyn Error>> {
    let queue = client.queue("bench")?;
    queue.try_take().await?; // connections and scripts are warm
    protocol::ready()?;
    let end = Instant::now() + length + AFTERWARDS;
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move {
                let mut late_us = Vec::new();
                while let Some(job) = queue.take_timeout(end.saturating_duration_since(Instant::now())).await? {
                    let late = SystemTime::now().duration_since(job.due()).unwrap_or_default();
                    late_us.push(late.as_micros().to_string());
                    job.ack().await?;
                }
                Ok::<_, libdlock::Error>(late_us)
            })
        })
        .collect();
    let mut late_us = Vec::new();
    for task in tasks {
        late_us.extend(task.await??);
    }
    Ok(protocol::answer(&format!(r#"{{"done": {}, "late_us": [{}]}}"#, late_us.len(), late_us.join(", ")))?)
}

/// So many callers wait for a job, which does not come.
pub async fn idle(client: &Client, callers: usize) -> std::result::Result<(), Box<dyn Error>> {
    let queue = client.queue("bench")?;
    for _ in 0..callers {
        let queue = queue.clone();
        tokio::spawn(async move { queue.take().await });
    }
    protocol::ready()?;
    Ok(protocol::answer("{}")?)
}
