//! What callers do again and again without being in each other's way: pairs, acquires, re-entry, reads, decisions, ids.

use std::error::Error;
use std::time::{Duration, Instant};

use libdlock::id::{Layout, WorkerOptions};
use libdlock::lease::HolderId;
use libdlock::limit::LimiterOptions;
use libdlock::lock::{AcquireOptions, LockAll};
use libdlock::semaphore::Semaphore;
use libdlock::{BloomFilter, Client, Held, IdGenerator, Lock, Queue, Rate, RateLimiter, RwLock, Snowflake};

use crate::acquires::Acquires;
use crate::{keys, protocol, queue};

/// So many ids in a batch, and so many of what is quick between two looks at the clock, in every language.
const BATCH: usize = 1000;

/// So many permits have the semaphores of `permits`, in every language: one for each caller.
const PERMITS: u32 = 64;

/// So many locks has a set.
const SET: usize = 10;

/// Has room for a million ids a millisecond, so that what an id costs is seen.
const WIDE: Layout = Layout { datacenter_bits: 0, worker_bits: 2, sequence_bits: 20, ..Layout::DEFAULT };

/// What a caller does.
enum Work {
    Jobs(Queue),
    JobBatches(Queue),
    Pairs(Lock),
    Acquires(Acquires),
    Sets(LockAll),
    Permits(Semaphore),
    Reads(RwLock),
    Reentry(Lock, HolderId, #[expect(dead_code, reason = "holds the lock")] Held),
    Decisions(RateLimiter),
    DecisionBatches(RateLimiter, Vec<(String, u64)>),
    Prefetched(RateLimiter),
    Ids(Snowflake),
    Batches(Snowflake, Vec<i64>),
    IdBlocks(IdGenerator),
    /// And the number of the next item.
    BloomAdd(BloomFilter, usize),
    BloomContains(BloomFilter),
}

impl Work {
    async fn new(what: &str, client: &Client, caller: usize) -> Result<Work, Box<dyn Error>> {
        let name = format!("bench-{caller}");
        Ok(match what {
            "jobs" => Work::Jobs(client.queue("bench")?),
            "job_batches" => Work::JobBatches(client.queue("bench")?),
            "pairs" => Work::Pairs(client.lock(&name)?),
            "acquires" => Work::Acquires(Acquires::new(client, &name)),
            // In one slot, as all of a script has to be.
            "sets" => Work::Sets(client.lock_all((0..SET).map(|each| format!("{{{name}}}-{each}")))?),
            "permits" => Work::Permits(client.semaphore("bench", PERMITS)?),
            "permits_each" => Work::Permits(client.semaphore(&name, PERMITS)?),
            "reads" => Work::Reads(client.rw_lock("bench")?),
            "reentry" => {
                let (lock, holder) = (client.lock(&name)?, HolderId::fresh());
                let held = lock.acquire_as(holder, AcquireOptions::default()).await?;
                Work::Reentry(lock, holder, held)
            }
            // So many that nobody is refused.
            "decisions" => Work::Decisions(client.rate_limiter("bench", keys::plenty("gcra")?)?),
            of if of.starts_with("decisions:") => {
                Work::Decisions(client.rate_limiter("bench", keys::plenty(&of["decisions:".len()..])?)?)
            }
            "decision_batches" => Work::DecisionBatches(
                client.rate_limiter("bench", Rate::new(1_000_000, Duration::from_secs(1)))?,
                keys::batch("user", 0),
            ),
            "prefetched" => {
                let rate = Rate::new(1_000_000_000, Duration::from_secs(1));
                Work::Prefetched(client.rate_limiter_with("bench", LimiterOptions::new(rate).prefetch(0.5))?)
            }
            "ids" => Work::Ids(Snowflake::new(1, 1)?),
            "batches" => Work::Batches(Snowflake::new(1, 1)?, vec![0; BATCH]),
            "wide_ids" => Work::Ids(Snowflake::builder(0, 1).layout(WIDE).build()?),
            "leased_ids" => Work::Ids(client.worker("bench").await?.snowflake(Layout::DEFAULT)?),
            "leased_batches" => {
                Work::Batches(client.worker("bench").await?.snowflake(Layout::DEFAULT)?, vec![0; BATCH])
            }
            "leased_wide_ids" => {
                let options = WorkerOptions::default().bits(2);
                Work::Ids(client.worker_with("bench", options).await?.snowflake(WIDE)?)
            }
            "bloom_add" => Work::BloomAdd(client.bloom_filter("bench", 10_000_000, 0.01)?, 0),
            "bloom_contains" => {
                let filter = client.bloom_filter("bench", 10_000_000, 0.01)?;
                filter.add(items(0)).await?;
                Work::BloomContains(filter)
            }
            "id_blocks" => Work::IdBlocks(client.id_generator("bench")?),
            other => return Err(format!("there is no {other:?}").into()),
        })
    }

    /// Does it once or some times; returns how often.
    async fn some(&mut self) -> libdlock::Result<usize> {
        match self {
            Work::Jobs(queue) => queue::one(queue).await?,
            Work::JobBatches(queue) => return queue::batch(queue).await,
            Work::Pairs(lock) => lock.acquire().await?.release().await?,
            Work::Acquires(acquires) => acquires.one_more().await?,
            Work::Sets(locks) => locks.acquire().await?.release().await?,
            Work::Permits(semaphore) => semaphore.acquire().await?.release().await?,
            // With others inside: who reads alone ends the hold.
            Work::Reads(lock) => {
                let held = lock.read().acquire().await?;
                tokio::task::yield_now().await;
                held.release().await?;
            }
            Work::Reentry(lock, holder, _) => {
                for _ in 0..BATCH {
                    lock.acquire_as(*holder, AcquireOptions::default()).await?.release().await?;
                }
                return Ok(BATCH);
            }
            Work::Decisions(limiter) => assert!(limiter.try_acquire(1).await?.allowed),
            Work::DecisionBatches(limiter, batch) => {
                for answer in limiter.try_acquire_many(batch).await? {
                    assert!(answer?.allowed);
                }
                return Ok(batch.len());
            }
            Work::Prefetched(limiter) => {
                for _ in 0..BATCH {
                    assert!(limiter.try_acquire(1).await?.allowed);
                }
                return Ok(BATCH);
            }
            Work::Ids(ids) => {
                for _ in 0..BATCH {
                    ids.next_id()?;
                }
                return Ok(BATCH);
            }
            Work::IdBlocks(ids) => {
                for _ in 0..BATCH {
                    ids.next_id().await?;
                }
                return Ok(BATCH);
            }
            Work::BloomAdd(filter, next) => {
                filter.add(items(*next)).await?;
                *next += BATCH;
                return Ok(BATCH);
            }
            Work::BloomContains(filter) => {
                assert!(filter.contains(items(0)).await?.iter().all(|found| *found));
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

/// The items from this number on, as in every language.
fn items(from: usize) -> impl Iterator<Item = String> {
    (from..from + BATCH).map(|number| format!("item-{number}"))
}

/// A task for each caller.
pub async fn run(what: &str, client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    let mut callers_work = Vec::new();
    for caller in 0..callers {
        let mut work = Work::new(what, client, caller).await?;
        work.some().await?; // connections and keys are warm before the clock starts
        callers_work.push(work);
    }
    protocol::ready()?;
    let begun = Instant::now();
    let tasks: Vec<_> = callers_work
        .into_iter()
        .map(|mut work| {
            tokio::spawn(async move {
                let mut done = 0;
                while begun.elapsed() < length {
                    done += work.some().await?;
                }
                // What it holds is held until the driver has counted.
                Ok::<_, libdlock::Error>((done, work))
            })
        })
        .collect();
    let (mut done, mut works) = (0, Vec::new());
    for task in tasks {
        let (times, work) = task.await??;
        done += times;
        works.push(work);
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}
