//! Holders within a process.

use std::sync::atomic::{AtomicU64, Ordering};

/// Who holds, within this process: a thread, a task, a handle. Never reused, never an address.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use libdlock::lease::HolderId;
/// use libdlock::lock::AcquireOptions;
///
/// let (lock, me) = (client.lock("orders/42")?, HolderId::fresh());
/// let outer = lock.acquire_as(me, AcquireOptions::default()).await?;
/// let inner = lock.acquire_as(me, AcquireOptions::default()).await?; // without a request
/// assert_eq!(lock.hold_count(me), 2);
/// inner.release().await?;
/// outer.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HolderId(pub(crate) u64);

impl HolderId {
    /// A holder that did not exist before in this process.
    pub fn fresh() -> HolderId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        HolderId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
