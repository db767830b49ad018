//! What is held under a lease, whatever its kind: one set of functions over holds serves all kinds.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use libdlock::lease::{Grant, HolderId};
use libdlock::queue::Delivery;
use libdlock::{Error, ErrorKind, Result, Worker};

use crate::client::ClientEntry;

/// The answer of something that asks the server.
pub(crate) type Asking<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A hold that goes on as one of another object, and that object.
pub(crate) type Downgraded = (Arc<dyn Granting>, Grant);

/// An object of which a holder can have a hold. A hold's handle calls it; see `ops/held.rs` for what each call means.
pub(crate) trait Leased: Send + Sync {
    /// The client through which it is held.
    fn client(&self) -> &Arc<ClientEntry>;
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
    /// Turns the holder's hold of a write side into one of the read side; nothing else has one.
    fn downgrade(&self, _holder: HolderId) -> Asking<'_, Downgraded> {
        let message = "only a hold of the write side of a read-write lock can be downgraded";
        Box::pin(async move { Err(Error::new(ErrorKind::InvalidArgument, "downgrade", message).on(self.key())) })
    }
    /// Stops the renewal of the holder's hold, with a warning. No I/O.
    fn abandon(&self, holder: HolderId);
}

/// An object whose holds are one grant each.
pub(crate) trait Granting: Leased {
    /// The fencing token of a hold; 0, which no hold with a token has, for a kind whose holds have none.
    fn token(&self, grant: &Grant) -> u64;
    /// The ids of the permits of a hold; of a kind that has no permits none.
    fn permits(&self, _grant: &Grant) -> Vec<String> {
        Vec::new()
    }
    /// The worker number that is held, if it is one.
    fn worker(&self) -> Option<&Worker> {
        None
    }
    /// The job that was delivered, if it is one.
    fn delivery(&self) -> Option<&Arc<Delivery>> {
        None
    }
    /// Lets a hold of a thread or a task outlive the last handle of its object.
    fn keep_while_held(&self, grant: &Grant);
    /// Gives back the holder's hold with that token, which nobody got: the holder does not have it any more when this returns.
    fn release_in_background(&self, holder: HolderId, token: u64);
}
