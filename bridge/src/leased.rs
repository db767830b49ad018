//! What is held under a lease, whatever its kind: one set of functions over holds serves all kinds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use libdlock::lease::HolderId;
use libdlock::{Result, embed};

use crate::objects::{ClientEntry, LockEntry};

/// The answer of something that asks the server.
pub(crate) type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// An object of which a holder can have a hold. A hold's handle calls it; see `ops/held.rs` for what each call means.
pub(crate) trait Leased: Send + Sync {
    /// The client through which it is held.
    fn client(&self) -> &Arc<ClientEntry>;
    /// The name it was opened with.
    fn name(&self) -> &str;
    /// Its name on the server.
    fn key(&self) -> &str;
    /// How often `holder` has acquired what it holds.
    fn hold_count(&self, holder: HolderId) -> u32;
    /// Counts one more acquire of `holder`. No I/O.
    fn reenter(&self, holder: HolderId) -> Result<()>;
    /// Takes back one acquire of `holder`.
    fn release(&self, holder: HolderId) -> Asking<'_, ()>;
    /// Sets the lease of the holder's hold to `lease` from now.
    fn extend(&self, holder: HolderId, lease: Duration) -> Asking<'_, ()>;
    /// Ends the holder's hold here without releasing it.
    fn detach(&self, holder: HolderId) -> Asking<'_, String>;
    /// Stops the renewal of the holder's hold, with a warning. No I/O.
    fn abandon(&self, holder: HolderId);
    /// Gives back the holder's hold with that token, which nobody got: the holder does not have it any more when this returns.
    fn release_in_background(&self, holder: HolderId, token: u64);
}

impl Leased for LockEntry {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    fn name(&self) -> &str {
        self.lock.name()
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

    fn release_in_background(&self, holder: HolderId, token: u64) {
        embed::release_in_background(&self.lock, holder, token);
    }
}
