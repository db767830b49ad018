//! For those who bind libdlock to another language: what a host needs beyond the public types, because it holds by threads,
//! tasks and handles of its own. The layer above `client`; it decides nothing. No part of the crate's stable interface: it may
//! change in any version.

use std::fmt;
use std::time::Duration;

pub use crate::blocking::may_block;
use crate::client::Client;
use crate::config::Range;
use crate::error::Result;
use crate::lease::{Grant, HolderId};
use crate::lock::{AcquireOptions, Held, Lock};
pub use crate::name::name_from_utf8;
use crate::semaphore::{self, Permits, Semaphore};

/// The durations that a lease may have, as errors write them.
pub const fn lease_range() -> impl fmt::Display {
    Range::LEASE
}

/// The holder with this number, as the host keeps it.
pub const fn holder(number: u64) -> HolderId {
    HolderId(number)
}

/// The number of a holder; never 0.
pub const fn holder_number(holder: HolderId) -> u64 {
    holder.0
}

/// The bare grant of a hold, which then ends by [`Lock::release_as`], or is abandoned with the last [`Lock`] of its name.
pub fn into_grant(held: Held) -> Grant {
    held.into_grant()
}

/// Lets the hold of this grant outlive the last [`Lock`] of its name: until it is released, lost, or abandoned with its holder
/// or its client. For hosts whose callers may make a lock anew to release it; see also [`let_go`].
pub fn keep_while_held(lock: &Lock, grant: &Grant) {
    lock.keep_while_held(grant);
}

/// Ends what [`keep_while_held`] began, for all locks of a client: holds end with the last [`Lock`] of their name again.
pub fn let_go(client: &Client) {
    client.let_go();
}

/// Counts one more acquire of what `holder` holds, if that is all that [`Lock::acquire_as`] would do. False: nothing was done,
/// and [`Lock::acquire_as`] does it or says why not.
pub fn reenter_now(lock: &Lock, holder: HolderId, how: &AcquireOptions) -> bool {
    lock.reenter_now(holder, how)
}

/// Counts one more acquire of what `holder` holds, without I/O: its lease stays as it is, and it takes one more release.
///
/// # Errors
/// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` does not hold it; [`Deadlock`](crate::ErrorKind::Deadlock) and
/// [`Lost`](crate::ErrorKind::Lost) as [`Lock::acquire_as`].
pub fn reenter(lock: &Lock, holder: HolderId) -> Result<Held> {
    lock.reenter_as(holder)
}

/// Takes back one acquire of `holder` that is not its last, if that is all that [`Lock::release_as`] would do, or, with a
/// token, [`release_hold`]. False: nothing was done.
pub fn release_reentry(lock: &Lock, holder: HolderId, token: Option<u64>) -> bool {
    lock.release_reentry(holder, token)
}

/// As [`Lock::release_as`], but only for the hold with this token: a scope that lost its hold does not end a later one of the
/// same holder.
///
/// # Errors and cancel safety
/// As [`Lock::release_as`].
pub async fn release_hold(lock: &Lock, holder: HolderId, token: u64) -> Result<()> {
    lock.release_hold_as(holder, token).await
}

/// Ends one acquire of `holder`, of the hold with this token, unattended: it is not the holder's any more when this returns,
/// and the server is told in the background. For grants that reach nobody. What was lost by more than its lease running out is
/// left alone.
pub fn release_in_background(lock: &Lock, holder: HolderId, token: u64) {
    lock.release_in_background(holder, token);
}

/// Forgets what `holder` holds of a lock without a word to the server, as when the holder went away: stops its renewal and
/// warns. The lease runs out by itself.
pub fn abandon(lock: &Lock, holder: HolderId) {
    lock.abandon_as(holder);
}

/// As [`abandon`], for every hold that `holder` has through a client.
pub fn abandon_all(client: &Client, holder: HolderId) {
    client.abandon(holder);
}

/// As [`into_grant`], of permits.
pub fn permits_into_grant(held: Permits) -> Grant {
    held.into_grant()
}

/// How many permits a grant of a semaphore is for.
pub fn permit_count(grant: &Grant) -> u32 {
    semaphore::count_of(grant)
}

/// As [`Permits::ids`], of a grant of a semaphore.
pub fn permit_ids(grant: &Grant) -> Vec<String> {
    semaphore::ids_of(grant)
}

/// As [`keep_while_held`], of permits.
pub fn keep_permits_while_held(semaphore: &Semaphore, grant: &Grant) {
    semaphore.keep_while_held(grant);
}

/// As [`Semaphore::release_as`], but only the hold with this number ([`Grant::token`] of its grant).
///
/// # Errors and cancel safety
/// As [`Semaphore::release_as`].
pub async fn release_permits(semaphore: &Semaphore, holder: HolderId, number: u64) -> Result<()> {
    semaphore.release_which(holder, Some(number)).await
}

/// As [`Semaphore::extend_as`], but only the hold with this number.
///
/// # Errors and cancel safety
/// As [`Semaphore::extend_as`].
pub async fn extend_permits(semaphore: &Semaphore, holder: HolderId, number: u64, lease: Duration) -> Result<()> {
    semaphore.extend_which(holder, Some(number), lease).await
}

/// As [`release_in_background`], of the hold with this number.
pub fn release_permits_in_background(semaphore: &Semaphore, holder: HolderId, number: u64) {
    semaphore.release_in_background(holder, number);
}

/// As [`abandon`], of a semaphore.
pub fn abandon_permits(semaphore: &Semaphore, holder: HolderId) {
    semaphore.abandon_as(holder);
}
