//! For those who bind libdlock to another language: what a host needs beyond the public types, because it holds by threads,
//! tasks and handles of its own. The layer above `client`; it decides nothing. No part of the crate's stable interface: it may
//! change in any version.

use std::fmt;
use std::time::Duration;

pub use crate::blocking::may_block;
use crate::client::Client;
use crate::config::Range;
use crate::error::{Error, Result};
use crate::id::Worker;
use crate::lease::{Grant, HolderId};
use crate::limit::{Decision, RateLimiter};
pub use crate::lock::all::Members;
use crate::lock::{AcquireOptions, Held, HeldAll, Lock, LockAll};
pub use crate::name::name_from_utf8;
use crate::queue::{ConsumeOptions, Delivery, Queue};
use crate::rw_lock::{RwHeld, RwLockSide};
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

/// The bare grant of a worker number, whose hold still ends with the last [`Worker`] and its generators.
pub fn worker_grant(worker: &Worker) -> Grant {
    worker.grant().clone()
}

/// Lets the hold of this grant outlive the last [`Lock`] of its name: until it is released, lost, or abandoned with its holder
/// or its client. For hosts whose callers may make a lock anew to release it; see also [`let_go`].
pub fn keep_while_held(lock: &Lock, grant: &Grant) {
    lock.keep_while_held(grant);
}

/// Checks how many items a batch of [`RateLimiter::try_acquire_many`] has, for hosts that can refuse some of them by
/// themselves: a key that is no text, a cost below 0.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument).
pub fn check_decision_batch(limiter: &RateLimiter, items: usize) -> Result<()> {
    limiter.check_batch(items)
}

/// Of calls for tokens, each with a [key](RateLimiter::keyed) or none and a cost: how many, from the first on, belong in one
/// call of [`try_acquire_each`], how many of the rest in the next, and so on. Those of one are answered together.
pub fn parts(limiter: &RateLimiter, asks: &[(Option<&str>, u64)]) -> Vec<usize> {
    limiter.parts(asks)
}

/// What a [`RateLimiter::try_acquire`] of each of these brings, at once and in their order, with one request for those that are
/// alike. For hosts that collect the calls of one turn of their loop.
///
/// # Cancel safety
/// As [`RateLimiter::try_acquire`].
pub async fn try_acquire_each(limiter: &RateLimiter, asks: &[(Option<&str>, u64)]) -> Vec<Result<Decision>> {
    limiter.try_acquire_each(asks).await
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

/// Whether one hold was granted, or handed over, after another.
pub fn is_later(hold: &Grant, other: &Grant) -> bool {
    hold.address() != other.address() && hold.since() >= other.since()
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

/// The error of a number of permits that is out of range, where the host's numbers can be what core's cannot.
pub fn refuse_permits(op: &'static str, permits: i64, most: u32) -> Error {
    semaphore::refuse_permits(op, permits, most)
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

/// How many of the holder's latest holds have exactly so many permits together: how often it has to call
/// [`Semaphore::release_as`] to end so many. For hosts whose callers name the number of permits that they release.
///
/// # Errors
/// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` has no hold; [`InvalidArgument`](crate::ErrorKind::InvalidArgument)
/// when none of its latest holds have so many, which says how many they have.
pub fn holds_of(semaphore: &Semaphore, holder: HolderId, permits: u32) -> Result<u32> {
    semaphore.holds_of(holder, permits)
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

/// As [`into_grant`], of one side of a read-write lock.
pub fn side_into_grant(held: RwHeld) -> Grant {
    held.into_grant()
}

/// As [`keep_while_held`], of one side of a read-write lock.
pub fn keep_side_while_held(side: &RwLockSide, grant: &Grant) {
    side.keep_while_held(grant);
}

/// As [`reenter`], of one side of a read-write lock.
///
/// # Errors
/// As [`reenter`].
pub fn reenter_side(side: &RwLockSide, holder: HolderId) -> Result<RwHeld> {
    side.reenter_as(holder)
}

/// As [`RwLockSide::release_as`], but only for the hold with this token.
///
/// # Errors and cancel safety
/// As [`RwLockSide::release_as`].
pub async fn release_side(side: &RwLockSide, holder: HolderId, token: u64) -> Result<()> {
    side.release_which(holder, Some(token)).await
}

/// As [`RwHeld::downgrade`], of what `holder` holds of the write side, or of the hold with this token.
///
/// # Errors
/// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) of the read side; [`NotHeld`](crate::ErrorKind::NotHeld) when
/// `holder` has no such hold; else as [`RwLockSide::acquire_as`], after which it still writes, and as
/// [`RwLockSide::release_as`], after which it holds nothing.
///
/// # Cancel safety
/// Dropping the future leaves the holder writing, or releases both sides if the release of the write side had begun.
pub async fn downgrade(side: &RwLockSide, holder: HolderId, token: Option<u64>) -> Result<RwHeld> {
    side.downgrade_as(holder, token).await
}

/// As [`release_in_background`], of one side of a read-write lock.
pub fn release_side_in_background(side: &RwLockSide, holder: HolderId, token: u64) {
    side.release_in_background(holder, token);
}

/// As [`abandon`], of one side of a read-write lock: what `holder` holds of the other stays.
pub fn abandon_side(side: &RwLockSide, holder: HolderId) {
    side.abandon_as(holder);
}

/// The name on the server of the first lock of a set, in the order of the keys: for errors about no lock in particular.
pub fn first_key(set: &LockAll) -> &str {
    set.first_key()
}

/// As [`into_grant`], of several locks as one.
pub fn into_members(held: HeldAll) -> Members {
    held.into_members()
}

/// What `holder` has of each lock of a set, lost or not; `None` when it has not acquired one of them.
pub fn members_of(set: &LockAll, holder: HolderId) -> Option<Members> {
    set.members_of(holder)
}

/// As [`keep_while_held`], of each lock.
pub fn keep_members_while_held(members: &Members) {
    members.keep_while_held();
}

/// As [`reenter`], of each lock of a set, or of none.
///
/// # Errors
/// As [`reenter`], of the first lock that has an error.
pub fn reenter_members(set: &LockAll, holder: HolderId) -> Result<()> {
    set.reenter_as(holder)
}

/// As [`LockAll::release_as`], but only of these grants: what `holder` acquired anew since then stays.
///
/// # Errors and cancel safety
/// As [`LockAll::release_as`].
pub async fn release_members(members: &Members, holder: HolderId) -> Result<()> {
    members.release_as(holder).await
}

/// As [`release_in_background`], of these grants.
pub fn release_members_in_background(members: &Members, holder: HolderId) {
    members.release_in_background(holder);
}

/// As [`abandon`], of each lock of a set.
pub fn abandon_members(set: &LockAll, holder: HolderId) {
    set.abandon_as(holder);
}

/// The grant of a delivery, which keeps the delivery no longer alive.
pub fn delivery_grant(delivery: &Delivery) -> Grant {
    delivery.grant().clone()
}

/// The name on the server of the queue that a delivery is of.
pub fn delivery_key(delivery: &Delivery) -> &str {
    delivery.key()
}

/// As [`Delivery::ack`], of one that the host may still look at.
///
/// # Errors and cancel safety
/// As [`Delivery::ack`].
pub async fn ack(delivery: &Delivery) -> Result<()> {
    delivery.ack_shared().await
}

/// As [`Queue::ack_many`], of deliveries that the host may still look at.
///
/// # Cancel safety
/// As [`Queue::ack_many`].
pub async fn ack_many(queue: &Queue, deliveries: &[&Delivery]) -> Vec<Result<()>> {
    queue.ack_each(deliveries).await
}

/// As [`Delivery::nack_after`], or without a delay [`Delivery::nack`], of one that the host may still look at.
///
/// # Errors
/// As [`Delivery::nack`]; [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for the delay, and then nothing has changed.
///
/// # Cancel safety
/// As [`Delivery::nack`].
pub async fn nack(delivery: &Delivery, delay: Option<Duration>, reason: &str) -> Result<()> {
    delivery.nack_hosted(delay, reason).await
}

/// Puts a job back that its worker has not begun, at the place that it had: the delivery does not count.
///
/// # Errors and cancel safety
/// As [`Delivery::nack`].
pub async fn give_back(delivery: &Delivery) -> Result<()> {
    delivery.give_back().await
}

/// As [`give_back`], in the background: for deliveries that reach nobody.
pub fn give_back_in_background(delivery: &Delivery) {
    delivery.give_back_in_background();
}

/// How long a job waits that failed at this attempt, by what [`ConsumeOptions::backoff`] is given.
pub fn backoff(first: Duration, longest: Duration, attempt: u32) -> Duration {
    ConsumeOptions::default().backoff(first, longest).backoff_of(attempt)
}
