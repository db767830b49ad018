//! Read-write locks: a handle for each side, opened by name, acquired and released by a holder.

use std::future::Future;
use std::sync::Arc;

use libdlock::lease::HolderId;
use libdlock::rw_lock::RwLockOptions;
use libdlock::{Result, embed};

use super::held::{begin, how, keep};
use super::{Holding, args};
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::RwLockSideEntry;
use crate::outcome::{Held, RwLockInspection};
use crate::state::State;

impl HandleEnd for RwLockSideEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// How a read-write lock is opened; both of its sides take the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct RwLockArgs {
    /// None is a lease that the client's watchdog renews; otherwise the lease of every acquire that gives none.
    pub lease_ms: Option<i64>,
    /// The lease that is renewed; none is the client's.
    pub watchdog_lease_ms: Option<i64>,
    /// Whether a holder may acquire again a side that it holds; none is the client's option.
    pub reentrant: Option<bool>,
    /// How long after the server's grant a reader of this process joins it; none is core's default.
    pub shared_age_ms: Option<i64>,
}

/// One side of the read-write lock `name` of `client`: the write side or the read side. No I/O. When its handle is given up a
/// hold of a thread or a task stays: its holder may release it through another handle of the same side.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Closed`.
pub fn rw_lock_open(state: &State, client: Handle, name: &[u8], write: bool, given: RwLockArgs) -> Result<Handle> {
    const OP: &str = "rw_lock";
    let client = state.get::<ClientEntry>(client, OP)?;
    let name = embed::name_from_utf8(name)?;
    let mut options = RwLockOptions::default();
    if let Some(lease) = args::lease(given.lease_ms, OP)? {
        options.lease = lease;
    }
    options.watchdog_lease = args::watchdog_lease(given.watchdog_lease_ms, OP)?;
    options.reentrant = given.reentrant;
    if let Some(age_ms) = given.shared_age_ms {
        options.shared_age = args::millis(age_ms, "shared_age", "0 to 10 s", OP)?;
    }
    let lock = client.client.rw_lock_with(name, options)?;
    let side = if write { lock.write() } else { lock.read() };
    state.insert(Arc::new(RwLockSideEntry { side, client }))
}

/// The name the read-write lock was opened with.
pub fn rw_lock_name(state: &State, side: Handle) -> Result<String> {
    Ok(find(state, side, "name")?.side.rw_lock().name().to_owned())
}

/// How many times `holder` holds this side; 0 when it does not, or not any more: that tells it of a loss, after which it may
/// acquire again.
pub fn rw_lock_hold_count(state: &State, side: Handle, holder: HolderId) -> Result<u32> {
    Ok(find(state, side, "hold count")?.side.hold_count(holder))
}

/// A view of the hold that `holder` has of this side, lost or not; none when it has none.
pub fn rw_lock_held(state: &State, side: Handle, holder: HolderId) -> Result<Option<Held>> {
    let entry = find(state, side, "held")?;
    let grant = entry.side.grant_of(holder);
    grant.map(|grant| keep(state, entry, Holding::ByHolder(holder), holder, grant)).transpose()
}

/// Acquires this side. `wait_ms`: none waits for ever, 0 does not wait. `lease_ms`: none is the lock's own.
///
/// # Errors
/// `Busy` if it was not acquired within the wait; `Deadlock` when the holder reads and wants to write, or holds this side and
/// the lock is not re-entrant; `InvalidArgument`; those of the server.
///
/// # Cancel safety
/// Dropped at any point it leaves no hold and no queue entry behind.
pub fn rw_lock_acquire(
    state: &'static State,
    side: Handle,
    holding: Holding,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> impl Future<Output = Result<Held>> + Send + 'static {
    let begun = begin::<RwLockSideEntry>(state, side, holding, "acquire");
    async move {
        let (entry, holder) = begun?;
        let how = how(&*entry, wait_ms, lease_ms)?;
        let grant = embed::side_into_grant(entry.side.acquire_as(holder, how).await?);
        keep(state, entry, holding, holder, grant)
    }
}

/// Takes the lock away from whoever holds it, for a hold of this side, the write side; those that wait keep their places.
/// `lease_ms`: none is the lock's own.
///
/// # Errors
/// `InvalidArgument` of the read side and for the lease; `Deadlock` when the holder has the lock itself; those of the server.
///
/// # Cancel safety
/// Dropped at any point it leaves no hold behind; those of others may be over all the same.
pub fn rw_lock_steal(
    state: &'static State,
    side: Handle,
    holding: Holding,
    lease_ms: Option<i64>,
) -> impl Future<Output = Result<Held>> + Send + 'static {
    let begun = begin::<RwLockSideEntry>(state, side, holding, "steal");
    async move {
        let (entry, holder) = begun?;
        let how = how(&*entry, Some(0), lease_ms)?;
        let grant = embed::side_into_grant(entry.side.steal_as(holder, how).await?);
        keep(state, entry, holding, holder, grant)
    }
}

/// Undoes one acquire of this side by `holder`; the last one ends its hold. With a token, only of the hold that has it.
///
/// # Errors
/// `NotHeld` when it does not hold it (any more).
///
/// # Cancel safety
/// Dropping the future does not stop the release.
pub async fn rw_lock_release(state: &'static State, side: Handle, holder: HolderId, token: Option<u64>) -> Result<()> {
    let entry = find(state, side, "release")?;
    match token {
        None => entry.side.release_as(holder).await,
        Some(token) => embed::release_side(&entry.side, holder, token).await,
    }
}

/// Sets the lease of the holder's hold of this side to `lease_ms` from now; for readers that share the hold as well.
///
/// # Errors
/// `NotHeld` when `holder` does not hold it or has lost it; `InvalidArgument` for the lease; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave the lease prolonged on the server, and not in what the hold says.
pub async fn rw_lock_extend(state: &'static State, side: Handle, holder: HolderId, lease_ms: i64) -> Result<()> {
    let entry = find(state, side, "extend")?;
    let lease = args::given_lease(lease_ms, "extend").map_err(|error| error.on(entry.side.rw_lock().key()))?;
    entry.side.extend_as(holder, lease).await
}

/// Turns one acquire of this side, the write side, by `holder` into one of the read side, with nobody else's write in between:
/// of the hold with this token, if one is given. What it brings is the hold of the read side.
///
/// # Errors
/// `InvalidArgument` of the read side; `NotHeld` when `holder` has no such hold, or lost it during this call; otherwise those
/// of an acquire, after which it still writes.
///
/// # Cancel safety
/// Dropping the future leaves the holder writing, or releases both sides if the release of the write side had begun.
pub async fn rw_lock_downgrade(
    state: &'static State,
    side: Handle,
    holder: HolderId,
    token: Option<u64>,
) -> Result<Held> {
    let entry = find(state, side, "downgrade")?;
    let (of, grant) = entry.downgrade(holder, token).await?;
    keep(state, of, Holding::ByHolder(holder), holder, grant)
}

/// Ends every hold of both sides, whoever has it, whichever side the handle is of; false when nobody had one.
///
/// # Errors
/// `OutcomeUnknown` when no reply came; `WrongType` when the key is no read-write lock; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave it done or not done.
pub async fn rw_lock_force_release(state: &'static State, side: Handle) -> Result<bool> {
    find(state, side, "force release")?.side.rw_lock().force_release().await
}

/// Who writes or how many read, as the server sees it; the same of both sides.
///
/// # Errors
/// `WrongType` when the key is no read-write lock; those of the server.
///
/// # Cancel safety
/// Dropping the future changes nothing.
pub async fn rw_lock_inspect(state: &'static State, side: Handle) -> Result<RwLockInspection> {
    find(state, side, "inspect")?.side.rw_lock().inspect().await
}

fn find(state: &State, side: Handle, op: &'static str) -> Result<Arc<RwLockSideEntry>> {
    state.get(side, op)
}
