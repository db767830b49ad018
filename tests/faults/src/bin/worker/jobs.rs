//! Jobs of a queue: `take-jobs QUEUE COUNT LEASE_MS` keeps so many deliveries (answers with how many), `ack-jobs` acknowledges them
//! (with how many were still held). `put-jobs QUEUE NUMBER COUNT` puts so many, in batches of 100, whose ids begin with that number
//! (answers with how many were new).

use std::time::Duration;

use libdlock::lease::Lease;
use libdlock::queue::{NewJob, QueueOptions};
use libdlock::{ErrorKind, Wait};

use crate::Process;
use crate::words::{Failure, failure, number};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(process: &Process, words: &[&str]) -> Result<Option<String>, Failure> {
    let values = match *words {
        ["take-jobs", name, count, lease] => {
            let lease = match number(lease) as u64 {
                0 => QueueOptions::default(),
                ms => QueueOptions::default().lease(Lease::Fixed(Duration::from_millis(ms))),
            };
            let queue = process.client.queue_with(name, lease).map_err(failure)?;
            let (count, mut taken) = (number(count) as usize, Vec::new());
            while taken.len() < count {
                let most = (count - taken.len()).min(100);
                taken.extend(queue.take_many(most, Wait::Forever).await.map_err(failure)?);
            }
            let held = taken.len();
            process.jobs.lock().await.extend(taken);
            held.to_string()
        }
        ["put-jobs", name, by, count] => {
            let queue = process.client.queue(name).map_err(failure)?;
            let (count, mut new) = (number(count) as usize, 0);
            for first in (0..count).step_by(100) {
                let ids = (first..(first + 100).min(count)).map(|n| format!("{by}-{n}"));
                let put = queue.put_many(ids.map(|id| NewJob::new("x").id(id))).await.map_err(failure)?;
                new += put.iter().filter(|put| put.is_new).count();
            }
            new.to_string()
        }
        ["ack-jobs"] => {
            let mut acked = 0;
            for delivery in process.jobs.lock().await.drain(..) {
                match delivery.ack().await {
                    Ok(()) => acked += 1,
                    Err(error) if error.kind() == ErrorKind::NotHeld => {}
                    Err(error) => return Err(failure(error)),
                }
            }
            acked.to_string()
        }
        _ => return Ok(None),
    };
    Ok(Some(values))
}
