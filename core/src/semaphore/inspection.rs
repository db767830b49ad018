//! What the server shows of a semaphore, and how many permits it has.

use super::step::{Inspect, Inspected, SetPermits};
use super::{MAX_PERMITS, Semaphore, refuse_permits};
use crate::error::Result;
use crate::event::Level;
use crate::step::Step;

/// What the server shows of a semaphore.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// let downloads = client.semaphore("downloads", 10)?;
/// let held = downloads.acquire_many(3).await?;
/// let seen = downloads.inspect().await?;
/// assert_eq!((seen.permits, seen.available), (Some(10), 7));
/// # held.release().await?;
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    // <api:inspection> written by `python3 api/write.py` from api/records.json
    /// How many permits there are in all; `None` when the semaphore is not there, which the first acquire changes.
    pub permits: Option<u64>,
    /// How many can be acquired now, those whose lease has run out among them; negative after the number was lowered
    /// below what is taken.
    pub available: i64,
    /// How many processes stand in the queue.
    pub queued: u64,
    // </api:inspection>
}

impl Semaphore {
    /// Sets how many permits there are in all, 1 to [`MAX_PERMITS`]. Lowered, what is taken stays taken, and nothing is granted
    /// until enough was given back; raised, those are woken whose turn it is. Repeating it changes nothing.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for the number; [`WrongType`](crate::ErrorKind::WrongType) when
    /// the key is no semaphore; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn set_permits(&self, permits: u32) -> Result<()> {
        if !(1..=MAX_PERMITS).contains(&permits) {
            return Err(refuse_permits(SetPermits::OP, permits, MAX_PERMITS).on(self.key()));
        }
        self.shared.run_now(&SetPermits { total: permits }).await.map(drop)
    }

    /// Reads how many permits there are, and how many are available.
    ///
    /// # Errors
    /// As the server says; [`WrongType`](crate::ErrorKind::WrongType) when the key is no semaphore.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn inspect(&self) -> Result<Inspection> {
        let Inspected { available, taken, expired, queued } = self.shared.run_now(&Inspect).await?;
        let total = available.map(|available| available + taken as i64);
        Ok(Inspection {
            permits: total.and_then(|total| u64::try_from(total).ok()),
            available: available.map_or(0, |available| available + expired as i64),
            queued,
        })
    }

    /// Compares, in the background and once for each name, the number of permits that was given here with that on the server,
    /// and warns when they differ.
    pub(super) fn compare_permits(&self) {
        if !self.shared.is_to_be_compared() {
            return;
        }
        let semaphore = self.clone();
        self.client().tasks.spawn(async move {
            let seen = semaphore.inspect().await;
            let Ok(Inspection { permits: Some(there), .. }) = seen else { return };
            if there != u64::from(semaphore.permits) {
                let message = format!(
                    "has {there} permits on the server, and this program was told {}; the server's number counts, set_permits \
                     changes it",
                    semaphore.permits
                );
                semaphore.client().events.emit(Level::Warn, Some(semaphore.key()), message);
            }
        });
    }
}
