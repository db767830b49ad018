//! What the server shows of a read-write lock, and what an operator can do about it.

use std::time::Duration;

use super::RwLock;
use super::step::{ForceRelease, Inspect, Inspected};
use crate::error::Result;

/// What the server shows of a read-write lock.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let prices = client.rw_lock("prices")?;
/// let held = prices.read().acquire().await?;
/// let seen = prices.inspect().await?;
/// assert_eq!((seen.writer, seen.readers, seen.token), (None, 1, Some(held.token())));
/// # held.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    // <api:inspection> written by `python3 api/write.py` from api/records.json
    /// The owner of the write side, `<client uuid>:<n>:write` (Redisson's or ours); `None` when nobody writes.
    pub writer: Option<String>,
    /// Whether that is this client.
    pub ours: bool,
    /// How many holds of the read side there are; readers of one process that share one count as one.
    pub readers: u64,
    /// What is left of the longest lease; `None` when nobody holds it, and for a foreign key that never expires.
    pub ttl: Option<Duration>,
    /// The last fencing token given for this name, as long as the server remembers it.
    pub token: Option<u64>,
    /// How many processes stand in the queue.
    pub queued: u64,
    // </api:inspection>
}

impl RwLock {
    /// Ends every hold of both sides, whoever has it; false when nobody had one. For operators: the holds of this client are lost
    /// when this returns, other clients are sent a message and look at once; until then only their fencing tokens protect the
    /// resource. With more than 500 holders the others learn of it at their next renewal.
    ///
    /// # Errors
    /// [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) when no reply came (it is not sent twice);
    /// [`WrongType`](crate::ErrorKind::WrongType) when the key is no read-write lock; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn force_release(&self) -> Result<bool> {
        self.shared.force_release(self.shared.run_now(&ForceRelease)).await
    }

    /// Reads who writes or how many read, for how long, and the last token.
    ///
    /// # Errors
    /// As the server says; [`WrongType`](crate::ErrorKind::WrongType) when the key is no read-write lock.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn inspect(&self) -> Result<Inspection> {
        let Inspected { writer, readers, ttl, token, queued } = self.shared.run_now(&Inspect).await?;
        Ok(Inspection {
            ours: writer.as_deref().is_some_and(|writer| self.shared.client().owns(writer)),
            writer,
            readers,
            ttl: u64::try_from(ttl).ok().map(Duration::from_millis),
            token: token.and_then(|token| token.parse().ok()),
            queued,
        })
    }
}
