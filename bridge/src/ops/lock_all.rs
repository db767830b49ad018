//! Several locks as one: opened by their names, acquired and released by a holder.

use std::future::Future;
use std::sync::Arc;

use libdlock::lease::HolderId;
use libdlock::{Error, ErrorKind, Result, embed};

use super::held::{begin, how, keep_hold};
use super::{Holding, args};
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::hold::Hold;
use crate::leased::Leased;
use crate::objects::{HeldEntry, LockAllEntry};
use crate::outcome::Held;
use crate::state::State;

impl HandleEnd for LockAllEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// The locks of these names as one; a name that is given twice counts once. No I/O. When the handle is given up a hold of a
/// thread or a task stays: its holder may release it through another handle of the same names.
///
/// The rest is as in [`lock_open`](super::lock_open), for each of the locks.
///
/// # Errors
/// `InvalidName`; `InvalidArgument`, also for no name and for more than 100 different ones; `Closed`.
pub fn lock_all_open<N: AsRef<[u8]>>(
    state: &State,
    client: Handle,
    names: &[N],
    lease_ms: Option<i64>,
    watchdog_lease_ms: Option<i64>,
    reentrant: Option<bool>,
) -> Result<Handle> {
    const OP: &str = "lock all";
    let client = state.get::<ClientEntry>(client, OP)?;
    let options = args::lock_options(lease_ms, watchdog_lease_ms, reentrant, OP)?;
    let set = client.client.lock_all_with(args::names(names)?, options)?;
    state.insert(Arc::new(LockAllEntry { set, client }))
}

/// The names that it was opened with, each once, in the order in which the locks are waited for: that of their keys.
pub fn lock_all_names(state: &State, set: Handle) -> Result<Vec<String>> {
    Ok(find(state, set, "names")?.set.names().map(str::to_owned).collect())
}

/// How many times `holder` holds all of them; 0 when it does not hold one of them, or not any more: that tells it of a loss,
/// after which it may acquire again.
pub fn lock_all_hold_count(state: &State, set: Handle, holder: HolderId) -> Result<u32> {
    Ok(find(state, set, "hold count")?.set.hold_count(holder))
}

/// A view of what `holder` has of all of them, lost or not; none when it has not acquired one of them.
pub fn lock_all_held(state: &State, set: Handle, holder: HolderId) -> Result<Option<Held>> {
    let of = find(state, set, "held")?;
    let members = embed::members_of(&of.set, holder);
    let keep = |members| keep_hold(state, Hold::Set { of, members }, Holding::ByHolder(holder), holder);
    members.map(keep).transpose()
}

/// Takes all of them, or none. `wait_ms`, for all together: none waits for ever, 0 does not wait. `lease_ms`: none is the
/// locks' own. It is one hold: [`held_tokens`](super::held_tokens) gives the token of each lock, and it is lost when one of
/// them is, which [`held_lost_member`](super::held_lost_member) names.
///
/// # Errors
/// `Busy` if not all were acquired within the wait; `Deadlock`; `InvalidArgument`; those of the server. The error names the
/// lock that it is about.
///
/// # Cancel safety
/// Dropped at any point it leaves no hold and no queue entry behind.
pub fn lock_all_acquire(
    state: &'static State,
    set: Handle,
    holding: Holding,
    wait_ms: Option<i64>,
    lease_ms: Option<i64>,
) -> impl Future<Output = Result<Held>> + Send + 'static {
    let begun = begin::<LockAllEntry>(state, set, holding, "acquire");
    async move {
        let (of, holder) = begun?;
        let how = how(&*of, wait_ms, lease_ms)?;
        let members = embed::into_members(of.set.acquire_as(holder, how).await?);
        keep_hold(state, Hold::Set { of, members }, holding, holder)
    }
}

/// Undoes one acquire of each by `holder`; those that it had acquired once are freed. With a hold's number
/// ([`Held::number`]), only of that hold: a scope which knows its hold never ends a later one of the same holder.
///
/// # Errors
/// `NotHeld` when it does not hold one of them (any more), which the error names: the others are released all the same.
/// `InvalidArgument` for the number of a hold that is not one of a thread or task of these locks.
///
/// # Cancel safety
/// Dropping the future does not stop the release.
pub async fn lock_all_release(state: &'static State, set: Handle, holder: HolderId, number: Option<u64>) -> Result<()> {
    let entry = find(state, set, "release")?;
    let Some(number) = number else { return entry.set.release_as(holder).await };
    let held = state.get::<HeldEntry>(number, "release")?;
    let refuse = |message| Err(Error::new(ErrorKind::InvalidArgument, "release", message).on(entry.key()));
    let Hold::Set { of, members } = &held.hold else { return refuse("this is no hold of several locks") };
    let same_names = entry.set.names().eq(members.tokens().map(|(name, _)| name));
    if !Arc::ptr_eq(&entry.client, of.client()) || !same_names {
        return refuse("this hold is not one of these locks and their client");
    }
    if held.owns_hold {
        return refuse("this hold belongs to its handle and to no thread or task: release the hold itself");
    }
    embed::release_members(members, holder).await
}

/// Sets the lease of all of them to `lease_ms` from now, of what `holder` has.
///
/// # Errors
/// `NotHeld` when `holder` does not hold one of them or has lost it; `InvalidArgument` for the lease; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave leases prolonged on the server, and not in what the hold says.
pub async fn lock_all_extend(state: &'static State, set: Handle, holder: HolderId, lease_ms: i64) -> Result<()> {
    let entry = find(state, set, "extend")?;
    let lease = args::given_lease(lease_ms, "extend").map_err(|error| error.on(entry.key()))?;
    entry.set.extend_as(holder, lease).await
}

fn find(state: &State, set: Handle, op: &'static str) -> Result<Arc<LockAllEntry>> {
    state.get(set, op)
}
