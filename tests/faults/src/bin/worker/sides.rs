//! Read-write locks: `take-side HOLDER NAME SIDE WAIT_MS`, `leave HOLDER NAME`, `is-in HOLDER NAME`, `read-and-write HOLDER NAME
//! ROUNDS` (reports holds, with 1 for a reader and 1,000 for a writer).

use libdlock::lock::AcquireOptions;
use libdlock::rw_lock::Side;
use libdlock::{RwHeld, RwLock};
use libdlock_testkit::wait::monotonic_us;

use crate::Process;
use crate::words::{Failure, failure, holder_of, number, report_loss, valid_until, wait_of, while_held};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(process: &Process, words: &[&str]) -> Result<Option<String>, Failure> {
    let values = match *words {
        ["take-side", holder, name, side, wait] => {
            let lock = process.client.rw_lock(name).map_err(failure)?;
            let side = if side == "read" { lock.read() } else { lock.write() };
            let how = AcquireOptions::default().wait(wait_of(number(wait)));
            let held = side.acquire_as(holder_of(holder), how).await.map_err(failure)?;
            let now = monotonic_us();
            report_loss(name, &held);
            let answer = format!("{} {} {now} {}", held.token(), held.owner(), valid_until(&held));
            process.sides.keep(holder, name, held);
            answer
        }
        ["leave", holder, name] => {
            let held = process.sides.take(holder, name);
            let called = monotonic_us();
            held.expect("acquired before").release().await.map_err(failure)?;
            format!("{called} {}", monotonic_us())
        }
        ["is-in", holder, name] => process.sides.is(holder, name, |held| held.is_valid()).to_string(),
        ["read-and-write", holder, name, rounds] => {
            let lock = process.client.rw_lock(name).map_err(failure)?;
            for _ in 0..number(rounds) {
                let side = if fastrand::u8(..) < 80 { Side::Write } else { Side::Read };
                take_side(&lock, holder, side).await.map_err(failure)?;
            }
            String::new()
        }
        _ => return Ok(None),
    };
    Ok(Some(values))
}

/// One turn on this side; a writer goes on as a reader at times. Reports the holds.
async fn take_side(lock: &RwLock, holder: &str, side: Side) -> libdlock::Result<()> {
    let held = match side {
        Side::Read => lock.read().acquire().await?,
        Side::Write => lock.write().acquire().await?,
    };
    report(&held, holder).await;
    if side == Side::Write && fastrand::bool() {
        let reads = held.downgrade().await?;
        report(&reads, holder).await;
        return reads.release().await;
    }
    held.release().await
}

async fn report(held: &RwHeld, holder: &str) {
    let weight = if held.side() == Side::Write { 1_000 } else { 1 };
    while_held(holder, weight, || held.remaining()).await;
}
