//! What the server shows of a lock, and what an operator can do about it.

use std::time::Duration;

use super::step::{ForceRelease, Inspect};
use super::{Lock, quorum};
use crate::error::Result;
use crate::step::Step;

/// What the server shows of a lock.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let lock = client.lock("orders/42")?;
/// let held = lock.acquire().await?;
/// let seen = lock.inspect().await?;
/// assert!(seen.ours && seen.token == Some(held.token()));
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    // <api:inspection> written by `python3 api/write.py` from api/records.json
    /// The owner, `<client uuid>:<n>` (Redisson's or ours); `None` when the lock is free.
    pub holder: Option<String>,
    /// Whether the owner is this client.
    pub ours: bool,
    /// What is left of the lease; `None` when the lock is free, and for a foreign key that never expires.
    pub ttl: Option<Duration>,
    /// The last fencing token reserved for this name, as long as the server remembers it; the holder's may be lower.
    pub token: Option<u64>,
    /// How many processes stand in the queue.
    pub queued: u64,
    // </api:inspection>
}

impl Lock {
    /// Frees the lock whoever holds it; false when nobody did. For operators: a hold of this client is lost when this returns,
    /// another client is sent a message and looks at once; until then only its fencing token protects the resource.
    ///
    /// # Errors
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) when no reply came (it is not sent twice); else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn force_release(&self) -> Result<bool> {
        self.shared.check_open(ForceRelease::OP)?;
        let client = self.client();
        let Some(quorum) = client.backend.quorum() else {
            return self.shared.force_release(self.shared.run_now(&ForceRelease)).await;
        };
        let frees = quorum::force_release(quorum, self.shared.name(), client.operation_deadline());
        self.shared.force_release(async { frees.await.map_err(|failed| failed.error) }).await
    }

    /// Reads who holds the lock, for how long, and the last token.
    ///
    /// # Errors
    /// As the server says; [`WrongType`](crate::ErrorKind::WrongType) when the key is no lock.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn inspect(&self) -> Result<Inspection> {
        let client = self.client();
        let seen = match client.backend.quorum() {
            Some(quorum) => {
                self.shared.check_open(Inspect::OP)?;
                let seen = quorum::inspect(quorum, self.shared.name(), client.operation_deadline()).await;
                seen.map_err(|failed| failed.error)?
            }
            None => self.shared.run_now(&Inspect).await?,
        };
        Ok(Inspection {
            ours: seen.holder.as_deref().is_some_and(|holder| self.client().owns(holder)),
            ttl: u64::try_from(seen.ttl).ok().map(Duration::from_millis),
            token: seen.token.and_then(|token| token.parse().ok()),
            queued: seen.queued,
            holder: seen.holder,
        })
    }
}
