//! Holds, of whatever kind: asked for token, validity and loss, and, where the hold is the handle's own, released through it.

use std::sync::Arc;
use std::time::Duration;

use libdlock::lease::{AcquireOptions, Grant, HolderId, LossReason};
use libdlock::{Error, ErrorKind, Result};

use super::args;
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::hold::Hold;
use crate::kinds::Entry;
use crate::leased::{Granting, Leased};
use crate::objects::HeldEntry;
use crate::outcome::Held;
use crate::state::State;

impl HandleEnd for HeldEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.hold.of().client().clone())
    }

    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        if self.owns_hold {
            self.hold.of().abandon(self.holder);
        }
        Ok(())
    }

    /// Core retries and, should the server stay away, lets the lease run out.
    fn undone(self: Arc<Self>, _state: &'static State, _handle: Handle) {
        self.hold.release_in_background(self.holder);
    }
}

/// Whose the hold is that an operation makes.
#[derive(Clone, Copy, Debug)]
pub enum Holding {
    /// The holder's, a thread or a task: re-entrant, and released by it through the object. The handle is a view.
    ByHolder(HolderId),
    /// The handle's own: released through that handle, and given up with it.
    ByHandle,
}

impl Holding {
    pub(super) fn holder(self) -> HolderId {
        match self {
            Holding::ByHolder(holder) => holder,
            Holding::ByHandle => HolderId::fresh(),
        }
    }
}

/// The object of a hold that is to be made, and its holder. Not within the operation's future: for a thread that is ending
/// another one polls that, and this notes what the calling thread may leave.
pub(super) fn begin<E: Entry + Leased>(
    state: &State,
    of: Handle,
    holding: Holding,
    op: &'static str,
) -> Result<(Arc<E>, HolderId)> {
    let (entry, holder) = (state.get::<E>(of, op)?, holding.holder());
    state.remember(holder, entry.client());
    Ok((entry, holder))
}

/// How it is to be made. None waits for ever; no lease is the object's own.
pub(super) fn how(of: &impl Leased, wait_ms: Option<i64>, lease_ms: Option<i64>) -> Result<AcquireOptions> {
    let on = |error: Error| error.on(of.key());
    let mut how = AcquireOptions::default().wait(args::wait(wait_ms, "acquire").map_err(on)?);
    how.lease = args::lease(lease_ms, "acquire").map_err(on)?;
    Ok(how)
}

/// Gives a hold that has just been got its handle. No await: what is got is never dropped on the way.
pub(crate) fn keep(
    state: &State,
    of: Arc<dyn Granting>,
    holding: Holding,
    holder: HolderId,
    grant: Grant,
) -> Result<Held> {
    let number = grant.token();
    let held = keep_hold(state, Hold::One { of, grant }, holding, holder)?;
    Ok(Held { number, ..held })
}

/// As [`keep`], of any hold. Its number is its handle.
pub(super) fn keep_hold(state: &State, hold: Hold, holding: Holding, holder: HolderId) -> Result<Held> {
    let owns_hold = matches!(holding, Holding::ByHandle);
    if !owns_hold {
        hold.keep_while_held();
    }
    let (token, owner) = (hold.token(), hold.owner().to_owned());
    let handle = state.insert(Arc::new(HeldEntry { hold, holder, owns_hold }))?;
    Ok(Held { handle, token, number: handle, owner })
}

/// The fencing token of the hold; 0 for permits, which have none, and for several locks, which have one each.
pub fn held_token(state: &State, held: Handle) -> Result<u64> {
    Ok(find(state, held, "token")?.hold.token())
}

/// The name of each lock and its fencing token, in the order of [`lock_all_names`](super::lock_all_names); none for what is no
/// hold of several locks. No I/O.
pub fn held_tokens(state: &State, held: Handle) -> Result<Vec<(String, u64)>> {
    Ok(find(state, held, "tokens")?.hold.tokens())
}

/// The fencing token of the lock of this name among those that are held as one. No I/O.
///
/// # Errors
/// `InvalidArgument` for a name that is not among them, which says which are, and for what is no hold of several locks.
pub fn held_token_of(state: &State, held: Handle, name: &[u8]) -> Result<u64> {
    const OP: &str = "token";
    let entry = find(state, held, OP)?;
    let refuse = |message: String| Error::new(ErrorKind::InvalidArgument, OP, message).on(entry.hold.of().key());
    let tokens = entry.hold.tokens();
    if tokens.is_empty() {
        return Err(refuse("this is no hold of several locks: ask it for its token without a name".to_owned()));
    }
    let token = tokens.iter().find_map(|(member, token)| (member.as_bytes() == name).then_some(*token));
    token.ok_or_else(|| {
        let names: Vec<_> = tokens.iter().map(|(name, _)| format!("{name:?}")).collect();
        refuse(format!("{:?} is none of the locks of this hold: {}", String::from_utf8_lossy(name), names.join(", ")))
    })
}

/// The ids of the permits that are held, each 32 hexadecimal digits; none for what is no semaphore's. No I/O.
pub fn held_permits(state: &State, held: Handle) -> Result<Vec<String>> {
    Ok(find(state, held, "permits")?.hold.permits())
}

/// The owner on the wire, `<client uuid>:<n>`; empty for several locks, which have one each.
pub fn held_owner(state: &State, held: Handle) -> Result<String> {
    Ok(find(state, held, "owner")?.hold.owner().to_owned())
}

/// Whether the holder may still act. No I/O; false from the end of the lease on, exactly.
pub fn held_valid(state: &State, held: Handle) -> Result<bool> {
    Ok(find(state, held, "valid")?.hold.is_valid())
}

/// How long the hold is still valid if no renewal succeeds; zero when it is not.
pub fn held_remaining(state: &State, held: Handle) -> Result<Duration> {
    Ok(find(state, held, "remaining")?.hold.remaining())
}

/// Why the hold was lost; none while it is not.
pub fn held_loss(state: &State, held: Handle) -> Result<Option<LossReason>> {
    Ok(find(state, held, "lost")?.hold.loss())
}

/// The name of the lock that was lost, and why, of several that are held as one: the first in the order of
/// [`lock_all_names`](super::lock_all_names) if it was more than one. None while none is lost, and for a hold of anything else.
/// No I/O. To be asked for when [`held_loss`] or [`held_wait_lost`] told of a loss.
pub fn held_lost_member(state: &State, held: Handle) -> Result<Option<(String, LossReason)>> {
    Ok(find(state, held, "lost")?.hold.lost_member())
}

/// Waits until the hold is over, at most `wait_ms` (none: for ever; 0 does not wait): with the reason when it was lost, with
/// none when it was released.
///
/// # Errors
/// `Busy` when it was not over within the wait.
///
/// # Cancel safety
/// Dropping it changes nothing.
pub async fn held_wait_lost(state: &'static State, held: Handle, wait_ms: Option<i64>) -> Result<Option<LossReason>> {
    let hold = find(state, held, "lost")?.hold.clone();
    hold.lost_within(args::wait(wait_ms, "lost")?).await
}

/// How many levels of a hold that is the handle's own are held; 0 when it is not held any more.
pub fn held_hold_count(state: &State, held: Handle) -> Result<u32> {
    let entry = owning(state, held, "hold count")?;
    Ok(entry.hold.of().hold_count(entry.holder))
}

/// Acquires a hold that is the handle's own once more, without I/O: it then takes one more release to end it.
///
/// # Errors
/// `Deadlock` when the object is not re-entrant; `NotHeld` when the hold is over, `Lost` when it was lost.
pub fn held_reenter(state: &State, held: Handle) -> Result<()> {
    let entry = owning(state, held, "acquire")?;
    entry.hold.of().reenter(entry.holder)
}

/// Releases a hold that is the handle's own, one level.
///
/// # Errors
/// `NotHeld` when it is not held (any more); `InvalidArgument` when the hold is a thread's or a task's: only that may
/// release it, through the object.
///
/// # Cancel safety
/// Dropping the future does not stop the release.
pub async fn held_release(state: &'static State, held: Handle) -> Result<()> {
    let entry = owning(state, held, "release")?;
    entry.hold.of().release(entry.holder).await
}

/// Sets the lease of the hold to `lease_ms` from now.
///
/// # Errors
/// As [`held_release`]; `InvalidArgument` also for the lease; those of the server.
///
/// # Cancel safety
/// Dropping the future may leave the lease prolonged on the server, and not in what the hold says.
pub async fn held_extend(state: &'static State, held: Handle, lease_ms: i64) -> Result<()> {
    let entry = owning(state, held, "extend")?;
    let lease = args::given_lease(lease_ms, "extend").map_err(|error| error.on(entry.hold.of().key()))?;
    entry.hold.of().extend(entry.holder, lease).await
}

/// Ends the hold here without releasing it; see [`lock_detach`](super::lock_detach), also for errors and cancel safety.
///
/// # Errors
/// As [`held_release`], and as the hold's own kind says.
pub async fn held_detach(state: &'static State, held: Handle) -> Result<String> {
    let entry = owning(state, held, "detach")?;
    entry.hold.of().detach(entry.holder).await
}

/// Turns a hold of a write side that is the handle's own into one of the read side, with nobody else's write in between, and
/// gives that a handle of its own. The handle of the write side stays, to be freed.
///
/// # Errors
/// As [`held_release`]; `InvalidArgument` also for a hold of anything but a write side, and for one of more than one level,
/// of which only one would go on; else as [`rw_lock_downgrade`](super::rw_lock_downgrade).
///
/// # Cancel safety
/// Dropping the future leaves the write side held, or releases both sides if its release had begun.
pub async fn held_downgrade(state: &'static State, held: Handle) -> Result<Held> {
    const OP: &str = "downgrade";
    let entry = owning(state, held, OP)?;
    // Each handle ends the holder's whole hold of its side with it, so two of one side cannot share a holder.
    // Of a lost one the count would tell its holder of the loss, which is for the error of the downgrade to do.
    let levels = if entry.hold.loss().is_none() { entry.hold.of().hold_count(entry.holder) } else { 0 };
    if levels > 1 {
        let message = format!("this hold was entered {levels} times: release the other levels first");
        return Err(Error::new(ErrorKind::InvalidArgument, OP, message).on(entry.hold.of().key()));
    }
    let (of, grant) = entry.hold.of().downgrade(entry.holder).await?;
    keep(state, of, Holding::ByHandle, entry.holder, grant)
}

fn owning(state: &State, held: Handle, op: &'static str) -> Result<Arc<HeldEntry>> {
    let entry = find(state, held, op)?;
    if entry.owns_hold {
        return Ok(entry);
    }
    let message = "this hold belongs to the thread or task that acquired it, which ends it through the object";
    Err(Error::new(ErrorKind::InvalidArgument, op, message).on(entry.hold.of().key()))
}

fn find(state: &State, held: Handle, op: &'static str) -> Result<Arc<HeldEntry>> {
    state.get(held, op)
}
