//! Counting semaphores: opened by name, permits taken and brought back by anybody.

use std::sync::Arc;

use libdlock::counting_semaphore::MAX_PERMITS;
use libdlock::{Error, ErrorKind, Result};

use super::args;
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::CountingSemaphoreEntry;
use crate::outcome::{CountingSemaphoreInspection, Granted};
use crate::state::State;

impl HandleEnd for CountingSemaphoreEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// The counting semaphore `name` of `client`. No I/O.
///
/// # Errors
/// `InvalidName`, `Closed`.
pub fn counting_semaphore_open(state: &State, client: Handle, name: &[u8]) -> Result<Handle> {
    let client = state.get::<ClientEntry>(client, "counting semaphore")?;
    let semaphore = client.client.counting_semaphore(libdlock::embed::name_from_utf8(name)?)?;
    state.insert(Arc::new(CountingSemaphoreEntry { semaphore, client }))
}

/// The name that it was made with.
pub fn counting_semaphore_name(state: &State, semaphore: Handle) -> Result<String> {
    Ok(find(state, semaphore, "name")?.semaphore.name().to_owned())
}

/// The name on the server, as errors say it.
pub fn counting_semaphore_key(state: &State, semaphore: Handle) -> Result<String> {
    Ok(find(state, semaphore, "name")?.semaphore.key().to_owned())
}

/// Makes it with so many permits, 0 or more, if it is not there; whether this call has.
///
/// # Errors and cancel safety
/// As `CountingSemaphore::try_set_permits` of core.
pub async fn counting_semaphore_try_set_permits(
    state: &'static State,
    semaphore: Handle,
    permits: i64,
) -> Result<bool> {
    let (entry, permits) = counted(state, semaphore, permits, 0, "try set permits")?;
    entry.semaphore.try_set_permits(permits).await
}

/// Acquires so many permits, all at once. `wait_ms`: none waits for ever, 0 does not wait. From its answer on they are the
/// host's, whatever becomes of the handle; a port that goes before it was drained gives them back.
///
/// # Errors
/// `Busy` if so many were not available within the wait; else as `CountingSemaphore::acquire_within` of core.
///
/// # Cancel safety
/// Dropped at any point it leaves neither permits nor a place in the line. A host whose cancellation comes too late has the
/// answer to deal with: it gives back what its caller does not get.
pub async fn counting_semaphore_acquire(
    state: &'static State,
    semaphore: Handle,
    permits: i64,
    wait_ms: Option<i64>,
) -> Result<Granted> {
    const OP: &str = "acquire";
    let (entry, permits) = counted(state, semaphore, permits, 1, OP)?;
    let wait = args::wait(wait_ms, OP).map_err(|error| error.on(entry.semaphore.key()))?;
    entry.semaphore.acquire_within(permits, wait).await?;
    Ok(Granted { semaphore: entry.semaphore.clone(), permits })
}

/// Brings back so many permits, whoever has acquired them.
///
/// # Errors and cancel safety
/// As `CountingSemaphore::release_many` of core.
pub async fn counting_semaphore_release(state: &'static State, semaphore: Handle, permits: i64) -> Result<()> {
    let (entry, permits) = counted(state, semaphore, permits, 1, "release")?;
    entry.semaphore.release_many(permits).await
}

/// Changes how many permits are available by so many, negative ones included.
///
/// # Errors and cancel safety
/// As `CountingSemaphore::add_permits` of core.
pub async fn counting_semaphore_add_permits(state: &'static State, semaphore: Handle, permits: i64) -> Result<()> {
    const OP: &str = "add permits";
    let entry = find(state, semaphore, OP)?;
    let permits = i32::try_from(permits).map_err(|_| {
        let allowed = format!("1 to {MAX_PERMITS}, and as many below 0");
        refuse(&entry, OP, permits, allowed)
    })?;
    entry.semaphore.add_permits(permits).await
}

/// Takes all permits that are available; how many there were.
///
/// # Errors and cancel safety
/// As `CountingSemaphore::drain` of core.
pub async fn counting_semaphore_drain(state: &'static State, semaphore: Handle) -> Result<i64> {
    find(state, semaphore, "drain")?.semaphore.drain().await
}

/// How many permits are available, and how many processes wait, as the server sees it.
///
/// # Errors and cancel safety
/// As `CountingSemaphore::inspect` of core.
pub async fn counting_semaphore_inspect(
    state: &'static State,
    semaphore: Handle,
) -> Result<CountingSemaphoreInspection> {
    find(state, semaphore, "inspect")?.semaphore.inspect().await
}

fn find(state: &State, semaphore: Handle, op: &'static str) -> Result<Arc<CountingSemaphoreEntry>> {
    state.get(semaphore, op)
}

/// A counting semaphore and a number of permits for it. What a `u32` can be, core checks.
fn counted(
    state: &State,
    semaphore: Handle,
    permits: i64,
    least: u32,
    op: &'static str,
) -> Result<(Arc<CountingSemaphoreEntry>, u32)> {
    let entry = find(state, semaphore, op)?;
    match u32::try_from(permits) {
        Ok(permits) => Ok((entry, permits)),
        Err(_) => Err(refuse(&entry, op, permits, format!("{least} to {MAX_PERMITS}"))),
    }
}

fn refuse(entry: &CountingSemaphoreEntry, op: &'static str, permits: i64, allowed: String) -> Error {
    let given = format_args!("{permits} permits are out of range");
    Error::refused(ErrorKind::InvalidArgument, op, given, allowed).on(entry.semaphore.key())
}
