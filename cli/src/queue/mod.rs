//! `dlock queue`: puts and takes jobs, and shows those that wait and those that are dead.

mod take;

use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use libdlock::queue::{ListedJob, NewJob, QueueOptions};
use serde_json::{Value, json};

use crate::args::{DeadArgs, JobsArgs, PutArgs, QueueVerb, ServerArgs};
use crate::connection::connect;
use crate::details::Details;
use crate::duration;
use crate::exit::{self, Failure};
use crate::out::{Out, say, table, visible};

/// So many characters of a payload are shown to people.
const SHOWN: usize = 60;

/// No job is larger; one byte more is enough to know that it is too large.
const MOST_READ: u64 = (2 << 20) + 1;

pub async fn queue(server: &ServerArgs, verb: &QueueVerb, out: &Out) -> Result<u8, Failure> {
    match verb {
        QueueVerb::Put(args) => put(server, args, out).await,
        QueueVerb::Take(args) => take::take(server, args, out).await,
        QueueVerb::Ls(args) => ls(server, args, out).await,
        QueueVerb::Dead(args) => dead(server, args, out).await,
    }
}

async fn put(server: &ServerArgs, args: &PutArgs, out: &Out) -> Result<u8, Failure> {
    let client = connect(server).await?;
    let queue = client.queue_with(&args.name, QueueOptions::default().max_attempts(args.max_attempts))?;
    let payload = match &args.payload {
        Some(payload) => payload.as_bytes().to_vec(),
        None => {
            let mut payload = Vec::new();
            let read = std::io::stdin().lock().take(MOST_READ).read_to_end(&mut payload);
            read.map_err(|error| Failure::Usage(format!("cannot read the job from standard input: {error}")))?;
            payload
        }
    };
    let job = NewJob::new(payload).delay(args.delay).priority(args.priority);
    let put = queue.put(args.id.iter().fold(job, NewJob::id)).await?;
    client.close().await;
    match out.json {
        true => out.document(&json!({ "queue": args.name, "id": put.id, "new": put.is_new }))?,
        false if put.is_new => out.line(&visible(&put.id))?,
        false => say(&format!("a job {} is there; nothing was put", visible(&put.id))),
    }
    Ok(if put.is_new { 0 } else { exit::NO })
}

async fn ls(server: &ServerArgs, args: &JobsArgs, out: &Out) -> Result<u8, Failure> {
    let client = connect(server).await?;
    let counts = Details::read(&client, libdlock::survey::Kind::Queue, &args.name).await?;
    let jobs = client.queue(&args.name)?.peek(args.most).await?;
    client.close().await;
    if out.json {
        let mut document = counts.to_json();
        document["jobs"] = jobs.iter().map(to_json).collect();
        return out.document(&document).map(|()| 0);
    }
    out.line(&visible(&counts.what))?;
    show(&jobs, out).map(|()| 0)
}

async fn dead(server: &ServerArgs, args: &DeadArgs, out: &Out) -> Result<u8, Failure> {
    let client = connect(server).await?;
    let queue = client.queue(&args.jobs.name)?;
    let (what, count) = match (&args.requeue, args.requeue_all, &args.remove) {
        (Some(id), ..) => ("requeued", u64::from(queue.requeue_dead(id).await?)),
        (_, true, _) => ("requeued", queue.requeue_all_dead().await?),
        (.., Some(id)) => ("removed", u64::from(queue.remove_dead(id).await?)),
        (None, false, None) => {
            let jobs = queue.dead(args.jobs.most).await?;
            client.close().await;
            return match out.json {
                true => {
                    let jobs: Vec<_> = jobs.iter().map(to_json).collect();
                    out.document(&json!({ "name": args.jobs.name, "dead": jobs })).map(|()| 0)
                }
                false => show(&jobs, out).map(|()| 0),
            };
        }
    };
    client.close().await;
    match out.json {
        true => out.document(&json!({ "name": args.jobs.name, what: count }))?,
        false => out.line(&format!("{what} {count}"))?,
    }
    // None of all is not "not found".
    Ok(if count == 0 && !args.requeue_all { exit::NO } else { 0 })
}

fn show(jobs: &[ListedJob], out: &Out) -> Result<(), Failure> {
    if jobs.is_empty() {
        return Ok(());
    }
    let has_dead = jobs.iter().any(|job| job.dead.is_some());
    let row = |job: &ListedJob| {
        let since = job.dead.as_ref().map_or(job.due, |(since, _)| *since);
        let mut row = vec![visible(&job.id), duration::date(since), job.attempts.to_string(), shown(&job.payload)];
        row.extend(job.dead.iter().map(|(_, reason)| visible(reason)));
        row.resize(if has_dead { 5 } else { 4 }, String::new());
        row
    };
    let rows: Vec<_> = jobs.iter().map(row).collect();
    let headings = ["ID", if has_dead { "DEAD SINCE" } else { "DUE" }, "ATTEMPTS", "PAYLOAD", "REASON"];
    out.bytes(table(&headings[..rows[0].len()], &rows).as_bytes())
}

/// The start of a payload, in one line.
fn shown(payload: &[u8]) -> String {
    let Ok(text) = std::str::from_utf8(payload) else { return format!("{} bytes", payload.len()) };
    let start: String = text.chars().take(SHOWN).collect();
    let more = if start.len() < text.len() { "..." } else { "" };
    format!("{}{more}", visible(&start))
}

fn to_json(job: &ListedJob) -> Value {
    let mut all = json!({
        "id": job.id, "due": duration::date(job.due), "attempts": job.attempts,
    });
    set_payload(&mut all, &job.payload);
    if let Some((since, reason)) = &job.dead {
        (all["dead_since"], all["reason"]) = (json!(duration::date(*since)), json!(reason));
    }
    all
}

/// `payload`, or what is not UTF-8 as `payload_hex`.
fn set_payload(document: &mut Value, payload: &[u8]) {
    match std::str::from_utf8(payload) {
        Ok(text) => document["payload"] = json!(text),
        Err(_) => {
            let hex: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
            document["payload_hex"] = json!(hex);
        }
    }
}
