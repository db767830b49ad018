//! Worker numbers: `lease POOL BITS LEASE_MS` (answers with the number), `make COUNT` (so many ids under it, answers with the first
//! and the last), `give-back`.

use libdlock::id::{Layout, MAX_BATCH, Snowflake, WorkerOptions};
use libdlock::{ErrorKind, Worker};
use std::sync::PoisonError;
use std::time::Duration;

use crate::Process;
use crate::words::{Failure, failure, number};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(process: &Process, words: &[&str]) -> Result<Option<String>, Failure> {
    let values = match *words {
        ["lease", pool, bits, lease_ms] => {
            let lease = Duration::from_millis(number(lease_ms) as u64);
            let options = WorkerOptions::default().bits(number(bits) as u32).lease(lease);
            let worker = process.client.worker_with(pool, options).await.map_err(failure)?;
            let ids = worker.snowflake(Layout::DEFAULT).map_err(failure)?;
            let leased = worker.number();
            *process.number.lock().unwrap_or_else(PoisonError::into_inner) = Some((worker, ids));
            leased.to_string()
        }
        ["make", count] => {
            let (_, ids) = held(process)?;
            let count = number(count) as usize;
            let made = tokio::task::spawn_blocking(move || make(&ids, count)).await.expect("it does not panic");
            let (first, last) = made.map_err(failure)?;
            format!("{first} {last}")
        }
        ["give-back"] => {
            let (worker, _) = held(process)?;
            worker.release().await.map_err(failure)?;
            String::new()
        }
        _ => return Ok(None),
    };
    Ok(Some(values))
}

fn held(process: &Process) -> Result<(Worker, Snowflake), Failure> {
    let held = process.number.lock().unwrap_or_else(PoisonError::into_inner).clone();
    held.ok_or_else(|| (ErrorKind::NotHeld.as_str().to_owned(), "no number was leased".to_owned()))
}

/// So many ids, of which each is larger than the one before: the first and the last.
fn make(ids: &Snowflake, count: usize) -> libdlock::Result<(i64, i64)> {
    let (mut first, mut last, mut left) = (None, 0, count);
    while left > 0 {
        let batch = ids.next_ids(left.min(MAX_BATCH / 10))?;
        assert!(batch[0] > last && batch.is_sorted_by(|id, next| id < next), "ids that do not grow");
        first = first.or(Some(batch[0]));
        last = batch[batch.len() - 1];
        left -= batch.len();
    }
    Ok((first.unwrap_or(0), last))
}
