//! Holds: asked for token, validity and loss, and, where the hold is the handle's own, released through it.

use std::sync::Arc;
use std::time::Duration;

use libdlock::{Error, ErrorKind, LossReason, Result};

use super::args;
use crate::handle::{Handle, Kind};
use crate::objects::HeldEntry;
use crate::state::State;

/// The fencing token of the hold.
pub fn held_token(state: &State, held: Handle) -> Result<u64> {
    Ok(find(state, held, "token")?.grant.token())
}

/// The owner on the wire, `<client uuid>:<n>`.
pub fn held_owner(state: &State, held: Handle) -> Result<String> {
    Ok(find(state, held, "owner")?.grant.owner().to_owned())
}

/// Whether the holder may still act. No I/O; false from the end of the lease on, exactly.
pub fn held_valid(state: &State, held: Handle) -> Result<bool> {
    Ok(find(state, held, "valid")?.grant.is_valid())
}

/// How long the hold is still valid if no renewal succeeds; zero when it is not.
pub fn held_remaining(state: &State, held: Handle) -> Result<Duration> {
    Ok(find(state, held, "remaining")?.grant.remaining())
}

/// Why the hold was lost; none while it is not.
pub fn held_loss(state: &State, held: Handle) -> Result<Option<LossReason>> {
    Ok(find(state, held, "lost")?.grant.loss())
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
    let grant = find(state, held, "lost")?.grant.clone();
    grant.lost_within(args::wait(wait_ms, "lost")?).await
}

/// How many levels of a hold that is the handle's own are held; 0 when it is not held any more.
pub fn held_hold_count(state: &State, held: Handle) -> Result<u32> {
    let entry = owning(state, held, "hold count")?;
    Ok(entry.lock.lock.hold_count(entry.holder))
}

/// Acquires a hold that is the handle's own once more, without I/O: it then takes one more release to end it.
///
/// # Errors
/// `Deadlock` when the lock is not re-entrant; `NotHeld` when the hold is over, `Lost` when it was lost.
pub fn held_reenter(state: &State, held: Handle) -> Result<()> {
    let entry = owning(state, held, "acquire")?;
    // Dropping what it gives would start a task of the runtime.
    entry.lock.lock.reenter_as(entry.holder).map(|level| drop(level.into_grant()))
}

/// Releases a hold that is the handle's own, one level.
///
/// # Errors
/// `NotHeld` when it is not held (any more); `InvalidArgument` when the hold is a thread's or a task's: only that may
/// release it, through the lock.
pub async fn held_release(state: &'static State, held: Handle) -> Result<()> {
    let entry = owning(state, held, "release")?;
    entry.lock.lock.release_as(entry.holder).await
}

/// As [`held_release`], for [`State::wait`] on a thread that may block: its one round trip is done on that thread.
///
/// # Errors
/// As [`held_release`].
pub async fn held_release_directly(state: &'static State, held: Handle) -> Result<()> {
    let entry = owning(state, held, "release")?;
    entry.lock.lock.release_directly(entry.holder).await
}

/// Sets the lease of the hold to `lease_ms` from now.
pub async fn held_extend(state: &'static State, held: Handle, lease_ms: i64) -> Result<()> {
    let entry = owning(state, held, "extend")?;
    let lease = args::given_lease(lease_ms, "extend").map_err(|error| error.on(entry.lock.lock.key()))?;
    entry.lock.lock.extend_as(entry.holder, lease).await
}

/// Ends the hold here without releasing it; see `lock_detach`.
pub async fn held_detach(state: &'static State, held: Handle) -> Result<String> {
    let entry = owning(state, held, "detach")?;
    entry.lock.lock.detach_as(entry.holder).await
}

/// Gives the handle up. A hold of a thread or a task stays; a hold that was the handle's own ends as by a finaliser:
/// renewal stops with a warning, and the lease runs out.
pub fn held_free(state: &State, held: Handle) -> Result<()> {
    let entry = state.remove(Kind::Held, &state.helds, held, "free")?;
    if entry.owns_hold {
        entry.lock.lock.abandon_as(entry.holder);
    }
    Ok(())
}

/// Gives back a hold that reaches nobody: its caller gave up when the completion was already on its way. The holder does not
/// have it any more when this returns, so that it may ask again at once; the server is told in the background.
pub fn held_undo(state: &State, held: Handle) {
    if let Ok(entry) = state.remove(Kind::Held, &state.helds, held, "undo") {
        // Core retries and, should the server stay away, lets the lease run out: there is nobody to tell.
        entry.lock.lock.release_in_background(entry.holder);
    }
}

fn owning(state: &State, held: Handle, op: &'static str) -> Result<Arc<HeldEntry>> {
    let entry = find(state, held, op)?;
    if entry.owns_hold {
        return Ok(entry);
    }
    let message = "this hold belongs to the thread or task that acquired it, which ends it through the lock";
    Err(Error::new(ErrorKind::InvalidArgument, op, message).on(entry.lock.lock.name()))
}

fn find(state: &State, held: Handle, op: &'static str) -> Result<Arc<HeldEntry>> {
    state.get(Kind::Held, &state.helds, held, op)
}
