//! What the handles of clients, locks, holds and the rest stand for.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use libdlock::lease::{Grant, HolderId};
use libdlock::{Client, Lock, RateLimiter, Result, Snowflake, embed};

use crate::handle::Handle;
use crate::kinds::Object;
use crate::leased::Leased;
use crate::near::Freed;
use crate::state::State;

/// A client. Its locks and holds keep it alive after its own handle is freed.
pub(crate) struct ClientEntry {
    pub(crate) client: Client,
    /// Of all clients of this process and of those it was forked from, no other has it; never 0.
    pub(crate) serial: u64,
}

impl ClientEntry {
    pub(crate) fn new(client: Client) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self { client, serial: NEXT.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Object for ClientEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.clone())
    }

    /// Closes, in the background, a client that was opened for nobody.
    fn undone(self: Arc<Self>, state: &'static State, _handle: Handle) {
        state.spawn(async move { self.client.close().await });
    }
}

impl Drop for ClientEntry {
    /// Neither the client nor a lock of it has a handle any more: nobody could release what is held.
    fn drop(&mut self) {
        embed::let_go(&self.client);
    }
}

/// A lock of a client.
pub(crate) struct LockEntry {
    pub(crate) lock: Lock,
    pub(crate) client: Arc<ClientEntry>,
    pub(crate) freed: Freed,
}

impl Object for LockEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }

    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        self.freed.set();
        Ok(())
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

impl Object for HeldEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.of.client().clone())
    }

    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        if self.owns_hold {
            self.of.abandon(self.holder);
        }
        Ok(())
    }

    /// Core retries and, should the server stay away, lets the lease run out.
    fn undone(self: Arc<Self>, _state: &'static State, _handle: Handle) {
        self.of.release_in_background(self.holder, self.grant.token());
    }
}

/// A rate limiter of a client.
pub(crate) struct LimiterEntry {
    pub(crate) limiter: RateLimiter,
}

impl Object for LimiterEntry {}

/// A generator of ids.
pub(crate) struct SnowflakeEntry {
    pub(crate) ids: Snowflake,
    pub(crate) freed: Freed,
}

impl Object for SnowflakeEntry {
    fn freed(self: Arc<Self>, _state: &'static State, _handle: Handle) -> Result<()> {
        self.freed.set();
        Ok(())
    }
}
