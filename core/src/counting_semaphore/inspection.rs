//! What the server shows of a counting semaphore.

use super::CountingSemaphore;
use super::step::{Inspect, Inspected};
use crate::error::Result;

/// What the server shows of a counting semaphore.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let slots = client.counting_semaphore("slots")?;
/// assert!(!slots.inspect().await?.exists);
/// slots.try_set_permits(3).await?;
/// assert_eq!(slots.inspect().await?.available, 3);
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    // <api:counting_semaphore-inspection> written by `python3 api/write.py` from api/records.json
    /// Whether the semaphore is there; the first release makes one that is not.
    pub exists: bool,
    /// How many permits are available: negative after more were taken away than there were, 0 when the semaphore is
    /// not there.
    pub available: i64,
    /// How many processes stand in the queue.
    pub queued: u64,
    // </api:counting_semaphore-inspection>
}

impl CountingSemaphore {
    /// Reads how many permits are available; 0 when the semaphore is not there. May be negative, after permits were taken away.
    ///
    /// # Errors
    /// As the server says; [`WrongType`](crate::ErrorKind::WrongType) when the key is something else, also a semaphore of which
    /// permits are taken under leases.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn available(&self) -> Result<i64> {
        Ok(self.inspect().await?.available)
    }

    /// Reads how many permits are available, and how many processes wait.
    ///
    /// # Errors and cancel safety
    /// As [`CountingSemaphore::available`].
    pub async fn inspect(&self) -> Result<Inspection> {
        let Inspected { available, queued } = self.shared.run_now(&Inspect).await?;
        Ok(Inspection { exists: available.is_some(), available: available.unwrap_or(0), queued })
    }
}
