//! Semaphores: `take HOLDER NAME TOTAL PERMITS WAIT_MS`, `give-back HOLDER NAME`, `takes HOLDER NAME`, `take-turns HOLDER NAME TOTAL
//! ROUNDS` (reports holds, with the number of permits for a token). Counting semaphores: `draw NAME PERMITS WAIT_MS`, `put NAME
//! PERMITS`, `draw-turns HOLDER NAME TOTAL ROUNDS` (as `take-turns`).

use std::time::Duration;

use libdlock::lock::AcquireOptions;
use libdlock::{CountingSemaphore, Permits, Semaphore};
use libdlock_testkit::wait::monotonic_us;

use crate::Process;
use crate::words::{Failure, failure, holder_of, number, report_loss, valid_until, wait_of, while_held};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(process: &Process, words: &[&str]) -> Result<Option<String>, Failure> {
    let values = match *words {
        ["take", holder, name, total, permits, wait] => {
            let pool = process.client.semaphore(name, number(total) as u32).map_err(failure)?;
            let how = AcquireOptions::default().wait(wait_of(number(wait)));
            let permits = pool.acquire_as(holder_of(holder), number(permits) as u32, how).await.map_err(failure)?;
            let now = monotonic_us();
            let grant = pool.grant_of(holder_of(holder)).expect("it holds permits");
            report_loss(name, &grant);
            process.taken.keep(holder, name, permits);
            format!("{} {} {now} {}", grant.token(), grant.owner(), valid_until(&grant))
        }
        ["give-back", holder, name] => {
            let permits = process.taken.take(holder, name);
            let called = monotonic_us();
            permits.expect("taken before").release().await.map_err(failure)?;
            format!("{called} {}", monotonic_us())
        }
        ["takes", holder, name] => process.taken.is(holder, name, Permits::is_valid).to_string(),
        ["take-turns", holder, name, total, rounds] => {
            let pool = process.client.semaphore(name, number(total) as u32).map_err(failure)?;
            for _ in 0..number(rounds) {
                let permits = fastrand::u32(1..=number(total) as u32);
                take_turn(&pool, holder, permits).await.map_err(failure)?;
            }
            String::new()
        }
        ["draw", name, permits, wait] => {
            let slots = process.client.counting_semaphore(name).map_err(failure)?;
            slots.acquire_within(number(permits) as u32, wait_of(number(wait))).await.map_err(failure)?;
            monotonic_us().to_string()
        }
        ["put", name, permits] => {
            let slots = process.client.counting_semaphore(name).map_err(failure)?;
            slots.release_many(number(permits) as u32).await.map_err(failure)?;
            String::new()
        }
        ["draw-turns", holder, name, total, rounds] => {
            let slots = process.client.counting_semaphore(name).map_err(failure)?;
            for _ in 0..number(rounds) {
                let permits = fastrand::u32(1..=number(total) as u32);
                draw_turn(&slots, holder, permits).await.map_err(failure)?;
            }
            String::new()
        }
        _ => return Ok(None),
    };
    Ok(Some(values))
}

/// One turn with so many permits; reports the hold.
async fn take_turn(pool: &Semaphore, holder: &str, permits: u32) -> libdlock::Result<()> {
    let held = pool.acquire_many(permits).await?;
    while_held(holder, permits.into(), || held.remaining()).await;
    held.release().await
}

/// One turn with so many permits of a counting semaphore; reports it.
async fn draw_turn(slots: &CountingSemaphore, holder: &str, permits: u32) -> libdlock::Result<()> {
    slots.acquire_many(permits).await?;
    // Nobody takes them away.
    while_held(holder, permits.into(), || Duration::from_secs(3_600)).await;
    slots.release_many(permits).await
}
