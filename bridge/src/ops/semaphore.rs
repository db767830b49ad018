//! Semaphores: opened by name, permits acquired and released by a holder.

use std::future::Future;
use std::sync::Arc;

use libdlock::lease::HolderId;
use libdlock::semaphore::{MAX_ACQUIRED, MAX_PERMITS, SemaphoreOptions};
use libdlock::{Error, ErrorKind, Result, embed};

use super::held::{begin, how, keep};
use super::{Holding, args};
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::{HeldEntry, SemaphoreEntry};
use crate::outcome::{Held, SemaphoreInspection};
use crate::state::State;

impl HandleEnd for SemaphoreEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// The semaphore `name` of `client`, which has `permits` in all if it is not on the server yet. No I/O. When its handle is
/// given up a hold of a thread or a task stays: its holder may release it through another handle of the same name.
///
/// `lease_ms` none is a lease that the client's watchdog renews, of `watchdog_lease_ms` each time, none is the client's lease;
/// otherwise the lease of every acquire that gives none.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Closed`.
pub fn semaphore_open(
    state: &State,
    client: Handle,
    name: &[u8],
    permits: i64,
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
) -> Result<Handle> {
    const OP: &str = "semaphore";
    let client = state.get::<ClientEntry>(client, OP)?;
    let name = embed::name_from_utf8(name)?;
    let mut options = SemaphoreOptions::new(count_of(permits, MAX_PERMITS, OP)?);
    if let Some(lease) = args::lease(lease_ms, OP)? {
        options.lease = lease;
    }
    options.watchdog_lease = args::watchdog_lease(watchdog_lease_ms, OP)?;
    let semaphore = client.client.semaphore_with(name, options)?;
    state.insert(Arc::new(SemaphoreEntry { semaphore, client }))
}

/// The name the semaphore was opened with.
pub fn semaphore_name(state: &State, semaphore: Handle) -> Result<String> {
    Ok(find(state, semaphore, "name")?.semaphore.name().to_owned())
}

/// How many holds `holder` has, of however many permits each; lost ones do not count.
pub fn semaphore_hold_count(state: &State, semaphore: Handle, holder: HolderId) -> Result<u32> {
    Ok(find(state, semaphore, "hold count")?.semaphore.hold_count(holder))
}

/// A view of the latest hold that `holder` has, lost or not; none when it has none.
pub fn semaphore_held(state: &State, semaphore: Handle, holder: HolderId) -> Result<Option<Held>> {
    let entry = find(state, semaphore, "held")?;
    let grant = entry.semaphore.grant_of(holder);
    grant.map(|grant| keep(state, entry, Holding::ByHolder(holder), holder, grant)).transpose()
}

/// Whether `holder` has a hold, lost or not, that it acquired after the one that `held` shows.
pub fn semaphore_has_later(state: &State, semaphore: Handle, holder: HolderId, held: Handle) -> Result<bool> {
    const OP: &str = "held";
    let latest = find(state, semaphore, OP)?.semaphore.grant_of(holder);
    let held = state.get::<HeldEntry>(held, OP)?;
    Ok(latest.is_some_and(|latest| held.hold.grant().is_some_and(|held| embed::is_later(&latest, held))))
}

/// The number of the hold that `held` shows, a thread's or a task's of this semaphore, for the functions that take one.
///
/// # Errors
/// `InvalidArgument` for a hold of something else, and for one that is its handle's own.
pub fn semaphore_number(state: &State, semaphore: Handle, held: Handle) -> Result<u64> {
    const OP: &str = "held";
    let (entry, held) = (find(state, semaphore, OP)?, state.get::<HeldEntry>(held, OP)?);
    let refuse = |message| Err(Error::new(ErrorKind::InvalidArgument, OP, message).on(entry.semaphore.key()));
    let of = held.hold.of();
    let (ours, named) = (Arc::ptr_eq(&entry.client, of.client()), entry.semaphore.key() == of.key());
    // A lock of the same name has tokens.
    let grant = held.hold.grant().filter(|_| ours && named && held.hold.token() == 0);
    let Some(grant) = grant else {
        return refuse("this hold is not one of this semaphore and its client");
    };
    if held.owns_hold {
        return refuse("this hold belongs to its handle and to no thread or task: release or extend the hold itself");
    }
    Ok(grant.token())
}

/// How many of the latest holds of `holder`, lost ones included, have exactly so many permits together: how often it has to
/// release to end so many. No I/O. For hosts whose callers name the number of permits that they release.
///
/// # Errors
/// `NotHeld` when it has no hold; `InvalidArgument` when none of its latest holds have so many, which says how many they have.
pub fn semaphore_holds_of(state: &State, semaphore: Handle, holder: HolderId, permits: i64) -> Result<u32> {
    const OP: &str = "release";
    let entry = find(state, semaphore, OP)?;
    let permits = count_of(permits, MAX_PERMITS, OP).map_err(|error| error.on(entry.semaphore.key()))?;
    embed::holds_of(&entry.semaphore, holder, permits)
}

/// Acquires so many permits, all at once. Each acquire is a hold of its own, also of one holder. `wait_ms`: none waits for
/// ever, 0 does not wait. `lease_ms`: none is the semaphore's own.
///
/// # Errors
/// `Busy` if so many were not available within the wait; `InvalidArgument`; those of the server.
///
/// # Cancel safety
/// Dropped at any point it leaves no hold and no queue entry behind.
pub fn semaphore_acquire(
    state: &'static State,
    semaphore: Handle,
    holding: Holding,
    permits: i64,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> impl Future<Output = Result<Held>> + Send + 'static {
    const OP: &str = "acquire";
    let begun = begin::<SemaphoreEntry>(state, semaphore, holding, OP);
    async move {
        let (entry, holder) = begun?;
        let permits = count_of(permits, MAX_ACQUIRED, OP).map_err(|error| error.on(entry.semaphore.key()))?;
        let how = how(&*entry, wait_ms, lease_ms)?;
        let grant = embed::permits_into_grant(entry.semaphore.acquire_as(holder, permits, how).await?);
        keep(state, entry, holding, holder, grant)
    }
}

/// Ends the latest hold of `holder`, or the one with this number (see [`Held::number`]).
///
/// # Errors
/// `NotHeld` when it has no such hold (any more).
///
/// # Cancel safety
/// Dropping the future does not stop the release.
pub async fn semaphore_release(
    state: &'static State,
    semaphore: Handle,
    holder: HolderId,
    number: Option<u64>,
) -> Result<()> {
    let entry = find(state, semaphore, "release")?;
    match number {
        None => entry.semaphore.release_as(holder).await,
        Some(number) => embed::release_permits(&entry.semaphore, holder, number).await,
    }
}

/// Sets the lease of the holder's latest hold, or of the one with this number, to `lease_ms` from now.
///
/// # Errors
/// `NotHeld` when `holder` has no such hold or has lost it; `InvalidArgument` for the lease; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave the lease prolonged on the server, and not in what the hold says.
pub async fn semaphore_extend(
    state: &'static State,
    semaphore: Handle,
    holder: HolderId,
    number: Option<u64>,
    lease_ms: i64,
) -> Result<()> {
    let entry = find(state, semaphore, "extend")?;
    let lease = args::given_lease(lease_ms, "extend").map_err(|error| error.on(entry.semaphore.key()))?;
    match number {
        None => entry.semaphore.extend_as(holder, lease).await,
        Some(number) => embed::extend_permits(&entry.semaphore, holder, number, lease).await,
    }
}

/// Sets how many permits there are in all, for everybody.
///
/// # Errors
/// `InvalidArgument` for the number; `WrongType` when the key is no semaphore; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave it done or not done.
pub async fn semaphore_set_permits(state: &'static State, semaphore: Handle, permits: i64) -> Result<()> {
    const OP: &str = "set permits";
    let entry = find(state, semaphore, OP)?;
    let permits = count_of(permits, MAX_PERMITS, OP).map_err(|error| error.on(entry.semaphore.key()))?;
    entry.semaphore.set_permits(permits).await
}

/// How many permits there are and how many are available, as the server sees it.
///
/// # Errors
/// `WrongType` when the key is no semaphore; those of the server.
///
/// # Cancel safety
/// Dropping the future changes nothing.
pub async fn semaphore_inspect(state: &'static State, semaphore: Handle) -> Result<SemaphoreInspection> {
    find(state, semaphore, "inspect")?.semaphore.inspect().await
}

fn find(state: &State, semaphore: Handle, op: &'static str) -> Result<Arc<SemaphoreEntry>> {
    state.get(semaphore, op)
}

/// A number of permits of which core takes `most`; 0 core refuses.
fn count_of(given: i64, most: u32, op: &'static str) -> Result<u32> {
    u32::try_from(given).map_err(|_| embed::refuse_permits(op, given, most))
}
