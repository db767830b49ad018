//! The peer of the Rust worker: rslock's locks. `rslock-worker WHAT URL CALLERS SECONDS`

#[path = "../../rust/src/protocol.rs"]
mod protocol;
#[path = "../../rust/src/waits.rs"]
mod waits;

use std::error::Error;
use std::time::{Duration, Instant};

use rslock::LockManager;
use rustix::time::{ClockId, clock_gettime};

use waits::{Waits, told};

/// It is not renewed.
const LEASE: Duration = Duration::from_secs(30);
/// As in the Rust worker.
const HOLD: Duration = Duration::from_millis(2);

// As the Rust worker has it.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, url, callers, seconds] = arguments.as_slice() else {
        return Err("usage: rslock-worker WHAT URL CALLERS SECONDS".into());
    };
    let (callers, length): (usize, _) = (callers.parse()?, Duration::from_secs_f64(seconds.parse()?));
    let manager = LockManager::new(vec![url.as_str()]);
    for caller in 0..callers {
        let own = format!("warm-{}-{caller}", std::process::id());
        manager.acquire(own.as_bytes(), LEASE).await?.release().await;
    }
    match what.as_str() {
        "pairs" => pairs(&manager, callers, length).await,
        "contended" => contended(&manager, callers, length).await,
        "handover" => handover(&manager, length).await,
        "hold" => {
            let guard = manager.acquire(&b"bench"[..], LEASE).await?;
            protocol::ready()?;
            protocol::answer("{}")?;
            guard.release().await;
            Ok(())
        }
        "idle" => {
            for _ in 0..callers {
                let manager = manager.clone();
                tokio::spawn(async move { manager.acquire(&b"bench"[..], LEASE).await.map(drop) });
            }
            protocol::ready()?;
            Ok(protocol::answer("{}")?)
        }
        other => Err(format!("there is no {other:?}").into()),
    }
}

/// Lock and unlock, a lock for each caller.
async fn pairs(manager: &LockManager, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    protocol::ready()?;
    let begun = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (manager, name) = (manager.clone(), format!("bench-{caller}"));
            tokio::spawn(async move {
                let mut done = 0;
                while begun.elapsed() < length {
                    manager.acquire(name.as_bytes(), LEASE).await?.release().await;
                    done += 1;
                }
                Ok::<usize, rslock::LockError>(done)
            })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += task.await??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    Ok(protocol::answer(&format!(r#"{{"done": {done}, "seconds": {seconds:.6}}}"#))?)
}

/// All callers take `bench` and let go of it at once, again and again.
async fn contended(manager: &LockManager, callers: usize, length: Duration) -> Result<(), Box<dyn Error>> {
    protocol::ready()?;
    let begun = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|_| {
            let manager = manager.clone();
            tokio::spawn(async move {
                let mut waits = Waits::new(begun, length);
                loop {
                    let asked = Instant::now();
                    if !waits.goes_on(asked) {
                        return Ok::<Waits, rslock::LockError>(waits);
                    }
                    let guard = manager.acquire(&b"bench"[..], LEASE).await?;
                    waits.granted(asked);
                    guard.release().await;
                }
            })
        })
        .collect();
    let mut waits = Vec::new();
    for task in tasks {
        waits.push(task.await??);
    }
    Ok(protocol::answer(&told(&waits, length))?)
}

/// What all processes of the machine call now, in ns.
fn machine_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Takes `bench`, holds it, lets go; tells when it had it and when it called release.
async fn handover(manager: &LockManager, length: Duration) -> Result<(), Box<dyn Error>> {
    protocol::ready()?;
    let begun = Instant::now();
    let mut turns = Vec::new();
    while begun.elapsed() < length {
        let guard = manager.acquire(&b"bench"[..], LEASE).await?;
        let taken = machine_ns();
        tokio::time::sleep(HOLD).await;
        let released = machine_ns();
        guard.release().await;
        turns.push(format!("[{taken}, {released}]"));
    }
    Ok(protocol::answer(&format!(r#"{{"turns": [{}]}}"#, turns.join(", ")))?)
}
