//! What the handles of clients, locks, holds and the rest stand for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use libdlock::{Client, Grant, HolderId, Lock, RateLimiter, Snowflake};

/// A client. Its locks and holds keep it alive after its own handle is freed.
pub(crate) struct ClientEntry {
    pub(crate) client: Client,
    /// The fork generation that made it.
    pub(crate) generation: u32,
}

/// A lock of a client.
pub(crate) struct LockEntry {
    pub(crate) lock: Lock,
    pub(crate) client: Arc<ClientEntry>,
    /// The handle was given up; see `near.rs`.
    pub(crate) freed: AtomicBool,
}

/// A hold of a lock, seen through the grant that gave it.
pub(crate) struct HeldEntry {
    pub(crate) lock: Arc<LockEntry>,
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
    /// The handle was given up; see `near.rs`.
    pub(crate) freed: AtomicBool,
}
