//! Several locks as one, whose names a comma separates: `take-all HOLDER NAMES WAIT_MS` (answers with the tokens), `leave-all HOLDER
//! NAMES`, `has-all HOLDER NAMES`, `contend-for-some HOLDER NAMES MS` (for random sets of these; reports a hold of each lock, by
//! `HOLDER@NAME`).

use std::time::{Duration, Instant};

use libdlock::lock::AcquireOptions;
use libdlock::{Client, ErrorKind, HeldAll};
use libdlock_testkit::wait::monotonic_us;

use crate::Process;
use crate::words::{Failure, failure, holder_of, number, report_loss, wait_of};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(process: &Process, words: &[&str]) -> Result<Option<String>, Failure> {
    let values = match *words {
        ["take-all", holder, names, wait] => {
            let set = process.client.lock_all(names.split(',')).map_err(failure)?;
            let how = AcquireOptions::default().wait(wait_of(number(wait)));
            let held = set.acquire_as(holder_of(holder), how).await.map_err(failure)?;
            let now = monotonic_us();
            held.grants().for_each(|(name, grant)| report_loss(name, grant));
            let tokens: Vec<String> = held.tokens().map(|(_, token)| token.to_string()).collect();
            process.sets.keep(holder, names, held);
            format!("{now} {}", tokens.join(" "))
        }
        ["leave-all", holder, names] => {
            let held = process.sets.take(holder, names);
            held.expect("acquired before").release().await.map_err(failure)?;
            String::new()
        }
        ["has-all", holder, names] => process.sets.is(holder, names, HeldAll::is_valid).to_string(),
        ["contend-for-some", holder, names, ms] => {
            let until = Instant::now() + Duration::from_millis(number(ms) as u64);
            let (names, mut turns) = (names.split(',').collect::<Vec<_>>(), 0);
            while Instant::now() < until {
                turns += u64::from(take_some(&process.client, holder, &names).await.map_err(failure)?);
            }
            turns.to_string()
        }
        _ => return Ok(None),
    };
    Ok(Some(values))
}

/// One turn with some of these locks, in any order, in one of the ways to take them; whether it had them. Reports the holds.
async fn take_some(client: &Client, holder: &str, names: &[&str]) -> libdlock::Result<bool> {
    let mut names = names.to_vec();
    fastrand::shuffle(&mut names);
    names.truncate(fastrand::usize(2..=names.len()));
    let set = client.lock_all(names)?;
    let taking = match fastrand::u8(0..4) {
        0 => set.try_acquire().await,
        1 => set.acquire_timeout(Duration::from_millis(fastrand::u64(1..40))).await.map(Some),
        _ => set.acquire().await.map(Some),
    };
    let held = match taking {
        Ok(Some(held)) => held,
        Ok(None) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::Busy => return Ok(false),
        Err(error) => return Err(error),
    };
    let acquired_at = monotonic_us();
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..3))).await;
    // As that of a lock, of each of them: what is said here was true before the release.
    let ended_at = if held.is_valid() { monotonic_us() } else { acquired_at };
    for (name, token) in held.tokens() {
        println!("hold {holder}@{name} {token} {acquired_at} {ended_at}");
    }
    held.release().await.map(|()| true)
}
