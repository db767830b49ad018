//! A client, as everything that is opened through it keeps it.

use std::sync::atomic::{AtomicU64, Ordering};

use libdlock::{Client, embed};

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

impl Drop for ClientEntry {
    /// Neither the client nor a lock of it has a handle any more: nobody could release what is held.
    fn drop(&mut self) {
        embed::let_go(&self.client);
    }
}
