//! Locks: opened by name, acquired and released by a holder.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use libdlock::{Acquire, Grant, HolderId, LockOptions, Result};

use super::args;
use super::{Held, Inspection};
use crate::handle::{Handle, Kind};
use crate::holder;
use crate::near::Near;
use crate::objects::{HeldEntry, LockEntry};
use crate::state::State;

/// Whose the hold is that an operation makes.
#[derive(Clone, Copy, Debug)]
pub enum Holding {
    /// The holder's, a thread or a task: re-entrant, and released by it through the lock. The held handle is a view.
    ByHolder(HolderId),
    /// The held handle's own: released through that handle, and given up with it.
    ByHandle,
}

impl Holding {
    fn holder(self) -> HolderId {
        match self {
            Holding::ByHolder(holder) => holder,
            Holding::ByHandle => HolderId::fresh(),
        }
    }
}

/// The lock `name` of `client`. No I/O. `lease_ms` none is the client's lease, renewed by its watchdog; otherwise the lease
/// of every acquire that gives none. `reentrant` none is the client's option.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Closed`.
pub fn lock_open(
    state: &State,
    client: Handle,
    name: &[u8],
    lease_ms: Option<i64>,
    reentrant: Option<bool>,
) -> Result<Handle> {
    let client = state.get(Kind::Client, &state.clients, client, "lock")?;
    let name = libdlock::name_from_utf8(name)?;
    let mut options = LockOptions::default();
    if let Some(lease) = args::lease(lease_ms, "lock")? {
        options.lease = lease;
    }
    options.reentrant = reentrant;
    let lock = client.client.lock_with(name, options)?;
    state.insert(Kind::Lock, &state.locks, Arc::new(LockEntry { lock, client, freed: AtomicBool::new(false) }))
}

/// Gives the handle up; holds of the lock stay.
pub fn lock_free(state: &State, lock: Handle) -> Result<()> {
    let entry = state.remove(Kind::Lock, &state.locks, lock, "free")?;
    entry.freed.store(true, Ordering::Relaxed);
    Ok(())
}

/// The name the lock was opened with.
pub fn lock_name(state: &State, lock: Handle) -> Result<String> {
    Ok(find(state, lock, "name")?.lock.name().to_owned())
}

/// How many times `holder` holds the lock; 0 when it does not, or not any more.
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
/// `Busy` when it was not to be had within the wait; `Deadlock`; `InvalidArgument`; those of the server.
///
/// # Cancel safety
/// Dropped at any point it leaves no hold and no queue entry behind.
pub async fn lock_acquire(
    state: &'static State,
    lock: Handle,
    holding: Holding,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> Result<Held> {
    let entry = find(state, lock, "acquire")?;
    let (how, holder) = (how(&entry, wait_ms, lease_ms)?, holding.holder());
    let grant = entry.lock.acquire_as(holder, how).await?.into_grant();
    keep(state, entry, holding, holder, grant)
}

/// As [`lock_acquire`], for [`State::wait`] on a thread that may block: its one round trip is done on that thread.
///
/// # Errors and cancel safety
/// As [`lock_acquire`].
pub async fn lock_acquire_directly(
    state: &'static State,
    lock: Handle,
    holding: Holding,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> Result<Held> {
    let entry = find(state, lock, "acquire")?;
    let (how, holder) = (how(&entry, wait_ms, lease_ms)?, holding.holder());
    let grant = entry.lock.acquire_directly(holder, how).await?.into_grant();
    keep(state, entry, holding, holder, grant)
}

/// Counts one more acquire of what `holder` holds, if that is all that [`lock_acquire`] would do: for hosts that need no further
/// view of it. No I/O, no future. `false`: nothing was done, and [`lock_acquire`] does it or says why not.
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
    let entry = near(state, lock, "acquire")?;
    Ok(entry.lock.reenter_now(holder, &how(&entry, wait_ms, lease_ms)?))
}

fn how(entry: &LockEntry, wait_ms: Option<i64>, lease_ms: Option<i64>) -> Result<Acquire> {
    let on = |error: libdlock::Error| error.on(entry.lock.key());
    Ok(Acquire {
        wait: args::wait(wait_ms, "acquire").map_err(on)?,
        lease: args::lease(lease_ms, "acquire").map_err(on)?,
    })
}

/// Takes over a hold that was detached, here or in another process.
///
/// # Errors
/// `NotHeld` when that hold is over, `InvalidArgument` for a text that is no detached hold.
pub async fn lock_attach(state: &'static State, lock: Handle, holding: Holding, detached: Vec<u8>) -> Result<Held> {
    let entry = find(state, lock, "attach")?;
    let detached = args::text(&detached, "detached hold", "attach")?;
    let holder = holding.holder();
    let grant = entry.lock.attach_as(holder, detached).await?.into_grant();
    keep(state, entry, holding, holder, grant)
}

/// Undoes one acquire of `holder`; the last one frees the lock.
///
/// # Errors
/// `NotHeld` when it does not hold it (any more).
pub async fn lock_release(state: &'static State, lock: Handle, holder: HolderId) -> Result<()> {
    let entry = find(state, lock, "release")?;
    entry.lock.release_as(holder).await
}

/// As [`lock_release`], for [`State::wait`] on a thread that may block: its one round trip is done on that thread.
///
/// # Errors
/// As [`lock_release`].
pub async fn lock_release_directly(state: &'static State, lock: Handle, holder: HolderId) -> Result<()> {
    let entry = find(state, lock, "release")?;
    entry.lock.release_directly(holder).await
}

/// Takes back one acquire of `holder` that is not its last, if that is all that [`lock_release`] would do. No I/O, no future.
/// `false`: nothing was done, and [`lock_release`] does it or says why not.
///
/// # Errors
/// That of a handle which is no lock.
pub fn lock_leave(state: &State, lock: Handle, holder: HolderId) -> Result<bool> {
    Ok(near(state, lock, "release")?.lock.leave_now(holder))
}

/// Sets the lease of the holder's hold to `lease_ms` from now.
pub async fn lock_extend(state: &'static State, lock: Handle, holder: HolderId, lease_ms: i64) -> Result<()> {
    let entry = find(state, lock, "extend")?;
    let lease = args::given_lease(lease_ms, "extend").map_err(|error| error.on(entry.lock.key()))?;
    entry.lock.extend_as(holder, lease).await
}

/// Ends the hold here without releasing it; whoever has the text can [`lock_attach`] it while the lease lasts.
pub async fn lock_detach(state: &'static State, lock: Handle, holder: HolderId) -> Result<String> {
    let entry = find(state, lock, "detach")?;
    entry.lock.detach_as(holder).await
}

/// Frees the lock whoever holds it; `false` when nobody did.
pub async fn lock_force_release(state: &'static State, lock: Handle) -> Result<bool> {
    let entry = find(state, lock, "force release")?;
    entry.lock.force_release().await
}

/// Who holds the lock, as the server sees it.
pub async fn lock_inspect(state: &'static State, lock: Handle) -> Result<Inspection> {
    let entry = find(state, lock, "inspect")?;
    let seen = entry.lock.inspect().await?;
    Ok(Inspection { holder: seen.holder, ours: seen.ours, ttl: seen.ttl, token: seen.token, queued: seen.queued })
}

fn find(state: &State, lock: Handle, op: &'static str) -> Result<Arc<LockEntry>> {
    state.get(Kind::Lock, &state.locks, lock, op)
}

/// As [`find`], for calls that are over so soon that the table's lock would be most of them.
fn near(state: &State, lock: Handle, op: &'static str) -> Result<Arc<LockEntry>> {
    thread_local! {
        static NEAR: Near<LockEntry> = const { Near::new() };
    }
    // At hand may also be what was there before a fork.
    state.check(Kind::Lock, lock, op)?;
    let known =
        |near: &Near<LockEntry>| near.get(lock, |entry| !entry.freed.load(Ordering::Relaxed), || find(state, lock, op));
    // A thread that is ending has nothing near.
    NEAR.try_with(known).unwrap_or_else(|_| find(state, lock, op))
}

/// Gives a hold that has just been got its handle. No await: what is got is never dropped on the way.
fn keep(state: &State, lock: Arc<LockEntry>, holding: Holding, holder: HolderId, grant: Grant) -> Result<Held> {
    holder::remember(holder, &lock.client);
    let (token, owner) = (grant.token(), grant.owner().to_owned());
    let owns_hold = matches!(holding, Holding::ByHandle);
    let entry = HeldEntry { lock, holder, grant, owns_hold };
    let handle = state.insert(Kind::Held, &state.helds, Arc::new(entry))?;
    Ok(Held { handle, token, owner })
}
