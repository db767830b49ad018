//! Count-down latches: opened by name, counted down, waited for.

use std::sync::Arc;

use libdlock::{Error, Result};

use super::args;
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::LatchEntry;
use crate::state::State;

impl HandleEnd for LatchEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// The latch `name` of `client`. No I/O.
///
/// # Errors
/// `InvalidName`, `Closed`.
pub fn latch_open(state: &State, client: Handle, name: &[u8]) -> Result<Handle> {
    let client = state.get::<ClientEntry>(client, "latch")?;
    let latch = client.client.latch(libdlock::embed::name_from_utf8(name)?)?;
    state.insert(Arc::new(LatchEntry { latch, client }))
}

/// The name that it was made with.
pub fn latch_name(state: &State, latch: Handle) -> Result<String> {
    Ok(find(state, latch, "name")?.latch.name().to_owned())
}

/// The name on the server, as errors say it.
pub fn latch_key(state: &State, latch: Handle) -> Result<String> {
    Ok(find(state, latch, "name")?.latch.key().to_owned())
}

/// Gives it a count if it is open; whether it was.
///
/// # Errors and cancel safety
/// As `Latch::try_set_count` of core.
pub async fn latch_try_set_count(state: &'static State, latch: Handle, count: i64) -> Result<bool> {
    let (entry, count) = counted(state, latch, count, "set count")?;
    entry.latch.try_set_count(count).await
}

/// Counts down by so many; what is left.
///
/// # Errors and cancel safety
/// As `Latch::count_down_by` of core.
pub async fn latch_count_down(state: &'static State, latch: Handle, by: i64) -> Result<i64> {
    let (entry, by) = counted(state, latch, by, "count down")?;
    entry.latch.count_down_by(by).await.map(number)
}

/// The count now, 0 when it is open.
///
/// # Errors and cancel safety
/// As `Latch::count` of core.
pub async fn latch_count(state: &'static State, latch: Handle) -> Result<i64> {
    find(state, latch, "look at latch")?.latch.count().await.map(number)
}

/// Waits until it is open; whether it was. `wait_ms`: none waits for ever, 0 asks once.
///
/// # Errors and cancel safety
/// As `Latch::wait_for` of core.
pub async fn latch_wait(state: &'static State, latch: Handle, wait_ms: Option<i64>) -> Result<bool> {
    let op = "wait for latch";
    let entry = find(state, latch, op)?;
    let wait = args::wait(wait_ms, op).map_err(|error| error.on(entry.latch.key()))?;
    entry.latch.wait_for(wait).await
}

/// Removes it; whether it was there.
///
/// # Errors and cancel safety
/// As `Latch::delete` of core.
pub async fn latch_delete(state: &'static State, latch: Handle) -> Result<bool> {
    find(state, latch, "delete latch")?.latch.delete().await
}

fn find(state: &State, latch: Handle, op: &'static str) -> Result<Arc<LatchEntry>> {
    state.get(latch, op)
}

/// A latch and a number for it, whose range is core's to check.
fn counted(state: &State, latch: Handle, count: i64, op: &'static str) -> Result<(Arc<LatchEntry>, u64)> {
    let entry = find(state, latch, op)?;
    let on = |error: Error| error.on(entry.latch.key());
    let count = args::count(count, "a count of", "1 to 9007199254740991", op).map_err(on)?;
    Ok((entry, count))
}

/// Below 2^53.
fn number(count: u64) -> i64 {
    count.cast_signed()
}
