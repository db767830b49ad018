//! Many callers of one lock, semaphore, read-write lock or rate limiter: how often one gets it, and how long each of them waits.

use std::error::Error;
use std::time::{Duration, Instant};

use libdlock::semaphore::Semaphore;
use libdlock::{Client, Lock, Rate, RateLimiter, RwLock, Wait};

use crate::protocol;
use crate::waits::{Waits, told};

/// So many permits has the semaphore of `few_permits`.
const FEW: u32 = 10;
/// Of so many turns of `reads_and_writes` one is a writer's, in every language.
const WRITES_IN: usize = 10;
/// How long a caller of `writes_now_and_then` does something else.
const NOW_AND_THEN: Duration = Duration::from_secs(1);

/// What they want.
#[derive(Clone)]
enum Contended {
    /// To be held for so long.
    Lock(Lock, Duration),
    Permits(Semaphore),
    Tokens(RateLimiter),
    Reads(RwLock),
    ReadsAndWrites(RwLock),
    Writes(RwLock),
}

impl Contended {
    /// Acquires it, says so, and lets go of it.
    async fn turn(&self, number: usize, mut asked: Instant, waits: &mut Waits) -> libdlock::Result<()> {
        let side = match self {
            Contended::Lock(lock, work) => {
                let held = lock.acquire().await?;
                waits.granted(asked);
                if !work.is_zero() {
                    tokio::time::sleep(*work).await;
                }
                return held.release().await;
            }
            Contended::Permits(semaphore) => {
                let held = semaphore.acquire().await?;
                waits.granted(asked);
                return held.release().await;
            }
            Contended::Tokens(limiter) => {
                assert!(limiter.acquire(1, Wait::Forever).await?.allowed);
                waits.granted(asked);
                return Ok(());
            }
            Contended::ReadsAndWrites(lock) if number.is_multiple_of(WRITES_IN) => lock.write(),
            Contended::Reads(lock) | Contended::ReadsAndWrites(lock) => lock.read(),
            Contended::Writes(lock) => {
                tokio::time::sleep(NOW_AND_THEN).await;
                asked = Instant::now();
                lock.write()
            }
        };
        let held = side.acquire().await?;
        waits.granted(asked);
        held.release().await
    }

    /// All callers take it and let go of it, again and again.
    async fn contend(self, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
        protocol::ready()?;
        let begun = Instant::now();
        let tasks: Vec<_> = (0..callers)
            .map(|caller| {
                let contended = self.clone();
                tokio::spawn(async move {
                    let mut waits = Waits::new(begun, length);
                    for turn in caller.. {
                        let asked = Instant::now();
                        if !waits.goes_on(asked) {
                            break;
                        }
                        contended.turn(turn, asked, &mut waits).await?;
                    }
                    Ok::<Waits, libdlock::Error>(waits)
                })
            })
            .collect();
        let mut waits = Vec::new();
        for task in tasks {
            waits.push(task.await??);
        }
        Ok(protocol::answer(&told(&waits, length))?)
    }
}

/// The lock `bench`, which each holds for `work`.
pub async fn contended(
    client: &Client,
    callers: usize,
    length: Duration,
    work: Duration,
) -> Result<(), Box<dyn Error>> {
    client.lock(&format!("warm-{}", std::process::id()))?.acquire().await?.release().await?;
    Contended::Lock(client.lock("bench")?, work).contend(callers, length).await
}

/// A permit of the semaphore `bench`, of which there are few.
pub async fn few_permits(client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    client.semaphore(&format!("warm-{}", std::process::id()), FEW)?.acquire().await?.release().await?;
    Contended::Permits(client.semaphore("bench", FEW)?).contend(callers, length).await
}

/// A token of the rate limiter `bench`, of which there are so many a second, and never two at a time.
pub async fn tokens(client: &Client, per_second: u64, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    let rate = Rate::new(per_second, Duration::from_secs(1)).burst(1);
    assert!(client.rate_limiter(&format!("warm-{}", std::process::id()), rate)?.try_acquire(1).await?.allowed);
    Contended::Tokens(client.rate_limiter("bench", rate)?).contend(callers, length).await
}

/// A side of the read-write lock `bench`: `reads`, `reads_and_writes` or `writes_now_and_then`.
pub async fn sides(what: &str, client: &Client, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    client.rw_lock(&format!("warm-{}", std::process::id()))?.read().acquire().await?.release().await?;
    let lock = client.rw_lock("bench")?;
    let contended = match what {
        "reads_and_writes" => Contended::ReadsAndWrites(lock),
        "writes_now_and_then" => Contended::Writes(lock),
        _ => Contended::Reads(lock),
    };
    contended.contend(callers, length).await
}

/// So many callers wait for `bench`, which somebody else holds.
pub async fn idle(client: &Client, callers: usize) -> Result<(), Box<dyn Error>> {
    let lock = client.lock("bench")?;
    for _ in 0..callers {
        let lock = lock.clone();
        tokio::spawn(async move { lock.acquire().await });
    }
    protocol::ready()?;
    Ok(protocol::answer("{}")?)
}
