//! What the handles of locks, holds and the rest stand for. What the end of each does stands with its operations, in its
//! [`HandleEnd`](crate::ends::HandleEnd).

mod delivery;

use std::sync::Arc;
use std::time::Duration;

use libdlock::lease::{Grant, HolderId};
use libdlock::rw_lock::RwLockSide;
use libdlock::{
    BloomFilter, CountingSemaphore, Error, ErrorKind, IdGenerator, Latch, Lock, LockAll, ManualClock, Queue,
    RateLimiter, Result, Semaphore, Snowflake, Worker, embed,
};
use tokio::sync::watch;

pub(crate) use self::delivery::DeliveryEntry;
use crate::client::ClientEntry;
use crate::hold::Hold;
use crate::leased::{Asking, Downgraded, Granting, Leased};
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
}

impl Granting for LockEntry {
    fn token(&self, grant: &Grant) -> u64 {
        grant.token()
    }

    fn keep_while_held(&self, grant: &Grant) {
        embed::keep_while_held(&self.lock, grant);
    }

    fn release_in_background(&self, holder: HolderId, token: u64) {
        embed::release_in_background(&self.lock, holder, token);
    }
}

/// Several locks of a client as one. What a holder has of them is a [`Hold::Set`].
pub(crate) struct LockAllEntry {
    pub(crate) set: LockAll,
    pub(crate) client: Arc<ClientEntry>,
}

impl Leased for LockAllEntry {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    /// Of the first lock, in the order of the keys.
    fn key(&self) -> &str {
        embed::first_key(&self.set)
    }

    fn hold_count(&self, holder: HolderId) -> u32 {
        self.set.hold_count(holder)
    }

    fn reenter(&self, holder: HolderId) -> Result<()> {
        embed::reenter_members(&self.set, holder)
    }

    fn release(&self, holder: HolderId) -> Asking<'_, ()> {
        Box::pin(self.set.release_as(holder))
    }

    fn extend(&self, holder: HolderId, lease: Duration) -> Asking<'_, ()> {
        Box::pin(self.set.extend_as(holder, lease))
    }

    fn detach(&self, _holder: HolderId) -> Asking<'_, String> {
        let message = "several locks that are held as one cannot be handed to another process: release them here, and \
                       acquire them there";
        Box::pin(async move { Err(Error::new(ErrorKind::InvalidArgument, "detach", message).on(self.key())) })
    }

    fn abandon(&self, holder: HolderId) {
        embed::abandon_members(&self.set, holder);
    }
}

/// One side of a read-write lock of a client. A holder has each side by itself.
pub(crate) struct RwLockSideEntry {
    pub(crate) side: RwLockSide,
    pub(crate) client: Arc<ClientEntry>,
}

impl RwLockSideEntry {
    /// The other side, for a hold that goes on there.
    pub(crate) fn read(&self) -> RwLockSideEntry {
        RwLockSideEntry { side: self.side.rw_lock().read(), client: self.client.clone() }
    }

    /// As [`embed::downgrade`], with the object that the hold is of then.
    pub(crate) async fn downgrade(&self, holder: HolderId, token: Option<u64>) -> Result<Downgraded> {
        let grant = embed::side_into_grant(embed::downgrade(&self.side, holder, token).await?);
        Ok((Arc::new(self.read()), grant))
    }
}

impl Leased for RwLockSideEntry {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    fn key(&self) -> &str {
        self.side.rw_lock().key()
    }

    fn hold_count(&self, holder: HolderId) -> u32 {
        self.side.hold_count(holder)
    }

    fn reenter(&self, holder: HolderId) -> Result<()> {
        // Dropping what it gives would start a task of the runtime.
        embed::reenter_side(&self.side, holder).map(|held| drop(embed::side_into_grant(held)))
    }

    fn release(&self, holder: HolderId) -> Asking<'_, ()> {
        Box::pin(self.side.release_as(holder))
    }

    fn extend(&self, holder: HolderId, lease: Duration) -> Asking<'_, ()> {
        Box::pin(self.side.extend_as(holder, lease))
    }

    fn detach(&self, _holder: HolderId) -> Asking<'_, String> {
        let message =
            "a side of a read-write lock cannot be handed to another process: release it here, and acquire it there";
        Box::pin(async move { Err(Error::new(ErrorKind::InvalidArgument, "detach", message).on(self.key())) })
    }

    fn downgrade(&self, holder: HolderId) -> Asking<'_, Downgraded> {
        Box::pin(RwLockSideEntry::downgrade(self, holder, None))
    }

    fn abandon(&self, holder: HolderId) {
        embed::abandon_side(&self.side, holder);
    }
}

impl Granting for RwLockSideEntry {
    fn token(&self, grant: &Grant) -> u64 {
        grant.token()
    }

    fn keep_while_held(&self, grant: &Grant) {
        embed::keep_side_while_held(&self.side, grant);
    }

    fn release_in_background(&self, holder: HolderId, token: u64) {
        embed::release_side_in_background(&self.side, holder, token);
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
}

impl Granting for SemaphoreEntry {
    fn token(&self, _grant: &Grant) -> u64 {
        0
    }

    fn permits(&self, grant: &Grant) -> Vec<String> {
        embed::permit_ids(grant)
    }

    fn keep_while_held(&self, grant: &Grant) {
        embed::keep_permits_while_held(&self.semaphore, grant);
    }

    fn release_in_background(&self, holder: HolderId, token: u64) {
        embed::release_permits_in_background(&self.semaphore, holder, token);
    }
}

/// A worker number of a client: held by nothing but its hold, and by its generators.
pub(crate) struct WorkerEntry {
    pub(crate) worker: Worker,
    pub(crate) client: Arc<ClientEntry>,
}

impl WorkerEntry {
    fn refuse<T>(&self, op: &'static str, message: &str) -> Result<T> {
        Err(Error::new(ErrorKind::InvalidArgument, op, message).on(self.worker.key()))
    }
}

/// Each hold has an object of its own, so that it does not matter who asks.
impl Leased for WorkerEntry {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    fn key(&self) -> &str {
        self.worker.key()
    }

    fn hold_count(&self, _holder: HolderId) -> u32 {
        self.worker.is_valid().into()
    }

    fn reenter(&self, _holder: HolderId) -> Result<()> {
        self.refuse("acquire", "a worker number is leased once: lease another one")
    }

    fn release(&self, _holder: HolderId) -> Asking<'_, ()> {
        Box::pin(self.worker.release())
    }

    fn extend(&self, _holder: HolderId, _lease: Duration) -> Asking<'_, ()> {
        let message = "the lease of a worker number is renewed: give the lease when you lease one";
        Box::pin(async move { self.refuse("extend", message) })
    }

    fn detach(&self, _holder: HolderId) -> Asking<'_, String> {
        let message = "a worker number cannot be handed to another process: lease one there";
        Box::pin(async move { self.refuse("detach", message) })
    }

    /// With the hold goes what keeps the number, unless a generator keeps it: then it is given back.
    fn abandon(&self, _holder: HolderId) {}
}

impl Granting for WorkerEntry {
    fn token(&self, _grant: &Grant) -> u64 {
        0
    }

    fn worker(&self) -> Option<&Worker> {
        Some(&self.worker)
    }

    fn keep_while_held(&self, _grant: &Grant) {}

    /// As [`Leased::abandon`].
    fn release_in_background(&self, _holder: HolderId, _token: u64) {}
}

/// A hold, seen through what granted it.
pub(crate) struct HeldEntry {
    pub(crate) hold: Hold,
    pub(crate) holder: HolderId,
    /// The hold belongs to this handle rather than to a thread or a task: with the handle it ends.
    pub(crate) owns_hold: bool,
}

/// A rate limiter of a client.
pub(crate) struct LimiterEntry {
    pub(crate) limiter: RateLimiter,
    pub(crate) freed: Freed,
}

/// A count-down latch of a client.
pub(crate) struct LatchEntry {
    pub(crate) latch: Latch,
    pub(crate) client: Arc<ClientEntry>,
}

/// A counting semaphore of a client.
pub(crate) struct CountingSemaphoreEntry {
    pub(crate) semaphore: CountingSemaphore,
    pub(crate) client: Arc<ClientEntry>,
}

/// A delayed queue of a client.
pub(crate) struct QueueEntry {
    pub(crate) queue: Queue,
    pub(crate) client: Arc<ClientEntry>,
}

/// A generator of ids in blocks of a client.
pub(crate) struct IdGeneratorEntry {
    pub(crate) ids: IdGenerator,
    pub(crate) client: Arc<ClientEntry>,
}

/// A Bloom filter of a client.
pub(crate) struct BloomFilterEntry {
    pub(crate) filter: BloomFilter,
    pub(crate) client: Arc<ClientEntry>,
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

/// The time of clients on `memory://`.
pub(crate) struct ClockEntry {
    pub(crate) clock: ManualClock,
}
