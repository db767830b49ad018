//! What is in a queue: counts, lists, the dead list, and jobs taken out of it.

use std::sync::Arc;

use libdlock::queue::Queue;
use libdlock::{Error, Result};

use super::args;
use super::queue::find;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::outcome::{ListedJob, ListedJobs, QueueCounts};
use crate::state::State;

/// How many jobs there are.
///
/// # Errors and cancel safety
/// As `Queue::counts` of core.
pub async fn queue_counts(state: &'static State, queue: Handle) -> Result<QueueCounts> {
    Ok(find(state, queue, "counts")?.queue.counts().await?.into())
}

/// The first `most` jobs that wait, 1 to 1,000, in their order.
///
/// # Errors and cancel safety
/// As `Queue::peek` of core.
pub async fn queue_peek(state: &'static State, queue: Handle, most: i64) -> Result<ListedJobs> {
    let entry = find(state, queue, LIST)?;
    let most = listed(&entry.queue, most)?;
    Ok(list(entry.queue.peek(most).await?))
}

/// The first `most` dead jobs, 1 to 1,000, in the order in which they died.
///
/// # Errors and cancel safety
/// As `Queue::dead` of core.
pub async fn queue_dead(state: &'static State, queue: Handle, most: i64) -> Result<ListedJobs> {
    let entry = find(state, queue, LIST)?;
    let most = listed(&entry.queue, most)?;
    Ok(list(entry.queue.dead(most).await?))
}

const LIST: &str = "list";

fn listed(queue: &Queue, most: i64) -> Result<usize> {
    let most = args::count(most, "number of jobs", "1 to 1000", LIST).map_err(|error| error.on(queue.key()))?;
    Ok(usize::try_from(most).unwrap_or(usize::MAX))
}

fn list(jobs: Vec<libdlock::queue::ListedJob>) -> ListedJobs {
    ListedJobs(jobs.into_iter().map(ListedJob::from).collect())
}

/// Removes a job that waits; false when no job with this id, in UTF-8, does.
///
/// # Errors
/// As `Queue::cancel` of core: `NotHeld` when it was delivered.
///
/// # Cancel safety
/// As `Queue::cancel` of core.
pub async fn queue_cancel(state: &'static State, queue: Handle, id: Vec<u8>) -> Result<bool> {
    const OP: &str = "cancel";
    let entry = find(state, queue, OP)?;
    entry.queue.cancel(id_of(&entry.queue, &id, OP)?).await
}

/// Removes all jobs that wait, due or not; how many.
///
/// # Errors and cancel safety
/// As `Queue::purge` of core.
pub async fn queue_purge(state: &'static State, queue: Handle) -> Result<i64> {
    find(state, queue, "purge")?.queue.purge().await.map(u64::cast_signed)
}

/// Removes a dead job; false when none has this id.
///
/// # Errors and cancel safety
/// As `Queue::remove_dead` of core.
pub async fn queue_remove_dead(state: &'static State, queue: Handle, id: Vec<u8>) -> Result<bool> {
    const OP: &str = "remove dead";
    let entry = find(state, queue, OP)?;
    entry.queue.remove_dead(id_of(&entry.queue, &id, OP)?).await
}

/// Removes all dead jobs; how many.
///
/// # Errors and cancel safety
/// As `Queue::purge_dead` of core.
pub async fn queue_purge_dead(state: &'static State, queue: Handle) -> Result<i64> {
    find(state, queue, "purge dead")?.queue.purge_dead().await.map(u64::cast_signed)
}

/// Has a dead job wait again, due now, as if it had never been delivered; false when none has this id.
///
/// # Errors and cancel safety
/// As `Queue::requeue_dead` of core.
pub async fn queue_requeue_dead(state: &'static State, queue: Handle, id: Vec<u8>) -> Result<bool> {
    const OP: &str = "requeue";
    let entry = find(state, queue, OP)?;
    entry.queue.requeue_dead(id_of(&entry.queue, &id, OP)?).await
}

/// Has all jobs that are dead now wait again; how many.
///
/// # Errors and cancel safety
/// As `Queue::requeue_all_dead` of core.
pub async fn queue_requeue_all_dead(state: &'static State, queue: Handle) -> Result<i64> {
    find(state, queue, "requeue")?.queue.requeue_all_dead().await.map(u64::cast_signed)
}

impl HandleEnd for ListedJobs {}

/// Gives a list its handle, for a host that reads it where it is. No I/O.
///
/// # Errors
/// `Internal` when too many lists are open.
pub fn listed_jobs_keep(state: &State, jobs: ListedJobs) -> Result<Handle> {
    state.insert(Arc::new(jobs))
}

/// A list that has a handle. It stays where it is until the handle is given up. No I/O.
///
/// # Errors
/// `InvalidArgument` for a handle of anything else, `Closed` for one that was given up.
pub fn listed_jobs(state: &State, jobs: Handle) -> Result<Arc<ListedJobs>> {
    state.get(jobs, LIST)
}

fn id_of<'id>(queue: &Queue, id: &'id [u8], op: &'static str) -> Result<&'id str> {
    args::text(id, "id of the job", op).map_err(|error: Error| error.on(queue.key()))
}
