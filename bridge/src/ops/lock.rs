//! Locks: opened by name, acquired and released by a holder.

use std::future::Future;
use std::sync::Arc;

use libdlock::lease::HolderId;
use libdlock::{Result, embed};

use super::held::{begin, how, keep};
use super::{Holding, args};
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::near::Freed;
use crate::objects::LockEntry;
use crate::outcome::{Held, Inspection};
use crate::state::State;

impl HandleEnd for LockEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }

    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        self.freed.set();
        Ok(())
    }
}

/// The lock `name` of `client`. No I/O. When its handle is given up a hold of a thread or a task stays: its holder may release
/// it through another handle of the same name.
///
/// `lease_ms` none is a lease that the client's watchdog renews, of `watchdog_lease_ms` each
/// time, none is the client's lease; otherwise the lease of every acquire that gives none. `reentrant` none is the client's
/// option.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Closed`.
pub fn lock_open(
    state: &State,
    client: Handle,
    name: &[u8],
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    reentrant: Option<bool>,
) -> Result<Handle> {
    let client = state.get::<ClientEntry>(client, "lock")?;
    let name = embed::name_from_utf8(name)?;
    let options = args::lock_options(lease_ms, watchdog_lease_ms, reentrant, "lock")?;
    let lock = client.client.lock_with(name, options)?;
    state.insert(Arc::new(LockEntry { lock, client, freed: Freed::default() }))
}

/// The name the lock was opened with.
pub fn lock_name(state: &State, lock: Handle) -> Result<String> {
    Ok(find(state, lock, "name")?.lock.name().to_owned())
}

/// How many times `holder` holds the lock; 0 when it does not, or not any more: that tells it of a loss, after which it may
/// acquire again.
pub fn lock_hold_count(state: &State, lock: Handle, holder: HolderId) -> Result<u32> {
    Ok(find(state, lock, "hold count")?.lock.hold_count(holder))
}

/// A view of the hold that `holder` has; none when it has none.
pub fn lock_held(state: &State, lock: Handle, holder: HolderId) -> Result<Option<Held>> {
    let entry = find(state, lock, "held")?;
    let grant = entry.lock.grant_of(holder);
    grant.map(|grant| keep(state, entry, Holding::ByHolder(holder), holder, grant)).transpose()
}

/// Takes the lock. `wait_ms`: none waits for ever, 0 does not wait. `lease_ms`: none is the lock's own.
///
/// # Errors
/// `Busy` if it was not acquired within the wait; `Deadlock`; `InvalidArgument`; those of the server.
///
/// # Cancel safety
/// Dropped at any point it leaves no hold and no queue entry behind.
pub fn lock_acquire(
    state: &'static State,
    lock: Handle,
    holding: Holding,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> impl Future<Output = Result<Held>> + Send + 'static {
    let begun = begin::<LockEntry>(state, lock, holding, "acquire");
    async move {
        let (entry, holder) = begun?;
        let how = how(&*entry, wait_ms, lease_ms)?;
        let grant = embed::into_grant(entry.lock.acquire_as(holder, how).await?);
        keep(state, entry, holding, holder, grant)
    }
}

/// Counts one more acquire of what `holder` holds, if that is all that [`lock_acquire`] would do: for hosts that need no
/// further view of it. No I/O, no future. `false`: nothing was done, and [`lock_acquire`] does it or says why not.
///
/// # Errors
/// That of a handle which is no lock, or of a number that is no wait or lease.
pub fn lock_reenter(
    state: &State,
    lock: Handle,
    holder: HolderId,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> Result<bool> {
    let entry = state.near::<LockEntry>(lock, "acquire")?;
    Ok(embed::reenter_now(&entry.lock, holder, &how(&*entry, wait_ms, lease_ms)?))
}

/// Takes over a hold that was detached, here or in another process.
///
/// # Errors
/// `NotHeld` when that hold is over, `InvalidArgument` for a text that is no detached hold.
///
/// # Cancel safety
/// Dropping the future may use up the text; the hold is then released in the background.
pub fn lock_attach(
    state: &'static State,
    lock: Handle,
    holding: Holding,
    detached: Vec<u8>,
) -> impl Future<Output = Result<Held>> + Send + 'static {
    let begun = begin::<LockEntry>(state, lock, holding, "attach");
    async move {
        let (entry, holder) = begun?;
        let detached = args::text(&detached, "detached hold", "attach")?;
        let grant = embed::into_grant(entry.lock.attach_as(holder, detached).await?);
        keep(state, entry, holding, holder, grant)
    }
}

/// Undoes one acquire of `holder`; the last one frees the lock. With a token, only of the hold that has it: a scope which knows
/// its hold never ends a later one of the same holder.
///
/// # Errors
/// `NotHeld` when it does not hold it (any more).
///
/// # Cancel safety
/// Dropping the future does not stop the release.
pub async fn lock_release(state: &'static State, lock: Handle, holder: HolderId, token: Option<u64>) -> Result<()> {
    let entry = find(state, lock, "release")?;
    match token {
        None => entry.lock.release_as(holder).await,
        Some(token) => embed::release_hold(&entry.lock, holder, token).await,
    }
}

/// Takes back one acquire of `holder` that is not its last, if that is all that [`lock_release`] would do. No I/O, no future.
/// `false`: nothing was done, and [`lock_release`] does it or says why not.
///
/// # Errors
/// That of a handle which is no lock.
pub fn lock_release_reentry(state: &State, lock: Handle, holder: HolderId, token: Option<u64>) -> Result<bool> {
    Ok(embed::release_reentry(&state.near::<LockEntry>(lock, "release")?.lock, holder, token))
}

/// Sets the lease of the holder's hold to `lease_ms` from now.
///
/// # Errors
/// `NotHeld` when `holder` does not hold it or has lost it; `InvalidArgument` for the lease; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave the lease prolonged on the server, and not in what the hold says.
pub async fn lock_extend(state: &'static State, lock: Handle, holder: HolderId, lease_ms: i64) -> Result<()> {
    let entry = find(state, lock, "extend")?;
    let lease = args::given_lease(lease_ms, "extend").map_err(|error| error.on(entry.lock.key()))?;
    entry.lock.extend_as(holder, lease).await
}

/// Ends the hold here without releasing it; [`lock_attach`] takes it over with the text while the lease lasts.
///
/// # Errors
/// `NotHeld` when `holder` does not hold it or has lost it; `InvalidArgument` when it holds it more than once; those of the
/// server.
///
/// # Cancel safety
/// Dropping the future leaves the hold with its holder, or ends it soon after a lost reply: see `Lock::detach_as`.
pub async fn lock_detach(state: &'static State, lock: Handle, holder: HolderId) -> Result<String> {
    let entry = find(state, lock, "detach")?;
    entry.lock.detach_as(holder).await
}

/// Frees the lock whoever holds it; `false` when nobody did.
///
/// # Errors
/// `OutcomeUnknown` when no reply came, because it is not sent twice; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave it done or not done.
pub async fn lock_force_release(state: &'static State, lock: Handle) -> Result<bool> {
    let entry = find(state, lock, "force release")?;
    entry.lock.force_release().await
}

/// Who holds the lock, as the server sees it.
///
/// # Errors
/// `WrongType` when the key is no lock; those of the server.
///
/// # Cancel safety
/// Dropping the future changes nothing.
pub async fn lock_inspect(state: &'static State, lock: Handle) -> Result<Inspection> {
    let entry = find(state, lock, "inspect")?;
    entry.lock.inspect().await
}

fn find(state: &State, lock: Handle, op: &'static str) -> Result<Arc<LockEntry>> {
    state.get(lock, op)
}
