//! What the handles of locks, holds and the rest stand for. What the end of each does stands with its operations, in its
//! [`HandleEnd`](crate::ends::HandleEnd).

use std::sync::Arc;
use std::time::Duration;

use libdlock::lease::{Grant, HolderId};
use libdlock::{Error, ErrorKind, Lock, RateLimiter, Result, Semaphore, Snowflake, embed};
use tokio::sync::watch;

use crate::client::ClientEntry;
use crate::leased::{Asking, Leased};
use crate::near::Freed;

/// A lock of a client.
pub(crate) struct LockEntry {
    pub(crate) lock: Lock,
    pub(crate) client: Arc<ClientEntry>,
    pub(crate) freed: Freed,
}

impl Leased for LockEntry {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    fn key(&self) -> &str {
        self.lock.key()
    }

    fn token(&self, grant: &Grant) -> u64 {
        grant.token()
    }

    fn permits(&self, _grant: &Grant) -> Vec<String> {
        Vec::new()
    }

    fn keep_while_held(&self, grant: &Grant) {
        embed::keep_while_held(&self.lock, grant);
    }

    fn hold_count(&self, holder: HolderId) -> u32 {
        self.lock.hold_count(holder)
    }

    fn reenter(&self, holder: HolderId) -> Result<()> {
        // Dropping what it gives would start a task of the runtime.
        embed::reenter(&self.lock, holder).map(|held| drop(embed::into_grant(held)))
    }

    fn release(&self, holder: HolderId) -> Asking<'_, ()> {
        Box::pin(self.lock.release_as(holder))
    }

    fn extend(&self, holder: HolderId, lease: Duration) -> Asking<'_, ()> {
        Box::pin(self.lock.extend_as(holder, lease))
    }

    fn detach(&self, holder: HolderId) -> Asking<'_, String> {
        Box::pin(self.lock.detach_as(holder))
    }

    fn abandon(&self, holder: HolderId) {
        embed::abandon(&self.lock, holder);
    }

    fn release_in_background(&self, holder: HolderId, token: u64) {
        embed::release_in_background(&self.lock, holder, token);
    }
}

/// A semaphore of a client.
pub(crate) struct SemaphoreEntry {
    pub(crate) semaphore: Semaphore,
    pub(crate) client: Arc<ClientEntry>,
}

impl SemaphoreEntry {
    fn refuse<T>(&self, op: &'static str, message: &str) -> Result<T> {
        Err(Error::new(ErrorKind::InvalidArgument, op, message).on(self.key()))
    }
}

/// Of a hold that is a handle's own the holder is known to nobody else, so its latest hold is the handle's.
impl Leased for SemaphoreEntry {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    fn key(&self) -> &str {
        self.semaphore.key()
    }

    fn token(&self, _grant: &Grant) -> u64 {
        0
    }

    fn permits(&self, grant: &Grant) -> Vec<String> {
        embed::permit_ids(grant)
    }

    fn keep_while_held(&self, grant: &Grant) {
        embed::keep_permits_while_held(&self.semaphore, grant);
    }

    fn hold_count(&self, holder: HolderId) -> u32 {
        self.semaphore.hold_count(holder)
    }

    fn reenter(&self, _holder: HolderId) -> Result<()> {
        self.refuse("acquire", "each acquire of a semaphore is a hold of its own: acquire again from the semaphore")
    }

    fn release(&self, holder: HolderId) -> Asking<'_, ()> {
        Box::pin(self.semaphore.release_as(holder))
    }

    fn extend(&self, holder: HolderId, lease: Duration) -> Asking<'_, ()> {
        Box::pin(self.semaphore.extend_as(holder, lease))
    }

    fn detach(&self, _holder: HolderId) -> Asking<'_, String> {
        let message = "permits cannot be handed to another process: release them here, and acquire them there";
        Box::pin(async move { self.refuse("detach", message) })
    }

    fn abandon(&self, holder: HolderId) {
        embed::abandon_permits(&self.semaphore, holder);
    }

    fn release_in_background(&self, holder: HolderId, token: u64) {
        embed::release_permits_in_background(&self.semaphore, holder, token);
    }
}

/// A hold, seen through the grant that gave it.
pub(crate) struct HeldEntry {
    pub(crate) of: Arc<dyn Leased>,
    pub(crate) holder: HolderId,
    pub(crate) grant: Grant,
    /// The hold belongs to this handle rather than to a thread or a task: with the handle it ends.
    pub(crate) owns_hold: bool,
}

/// A rate limiter of a client.
pub(crate) struct LimiterEntry {
    pub(crate) limiter: RateLimiter,
}

/// A generator of ids.
pub(crate) struct SnowflakeEntry {
    pub(crate) ids: Snowflake,
    pub(crate) freed: Freed,
}

/// Once fired it stays fired.
pub(crate) struct CancelEntry {
    pub(crate) fired: watch::Sender<bool>,
}
