//! What is in a queue: counts, lists, the dead list, and taking jobs out of it.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::Queue;
use super::step::{Inspect, Inspected, List, Listed, Remove, Removed, Requeue};
use crate::error::{Error, ErrorKind, Result};
use crate::step::Step;

/// The most jobs that one list has.
const MAX_LISTED: usize = 1_000;

/// How many jobs a queue has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Jobs that are due.
    pub ready: u64,
    /// Jobs that are not due yet.
    pub delayed: u64,
    /// Jobs that were delivered and not ended. Some may be lost already, and come again with the next take.
    pub in_flight: u64,
    /// Jobs that were delivered as often as they may be.
    pub dead: u64,
    /// Processes that wait for jobs.
    pub waiters: u64,
}

/// A job as a list shows it.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ListedJob {
    /// The id of the job.
    pub id: String,
    /// What was put.
    pub payload: Vec<u8>,
    /// How often it was delivered.
    pub attempts: u64,
    /// When it is due, or was, by the server's clock.
    pub due: SystemTime,
    /// Since when it is dead, and why; `None` for a job that waits.
    pub dead: Option<(SystemTime, String)>,
}

/// Not the payload, which is the caller's.
impl fmt::Debug for ListedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListedJob { id, payload, attempts, due, dead } = self;
        let mut all = f.debug_struct("ListedJob");
        all.field("id", id).field("bytes", &payload.len()).field("attempts", attempts);
        all.field("due", due).field("dead", dead).finish()
    }
}

impl Queue {
    /// How many jobs there are. Costs the same however many that is.
    ///
    /// # Errors
    /// As the server says.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn counts(&self) -> Result<Counts> {
        let Inspected { due, delayed, delivered, dead, queued } = self.shared.run_now(&Inspect).await?;
        Ok(Counts { ready: due, delayed, in_flight: delivered, dead, waiters: queued })
    }

    /// The first `most` jobs that wait, 1 to 1,000, in their order, due or not; fewer where their payloads are 1 MiB together.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the number; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn peek(&self, most: usize) -> Result<Vec<ListedJob>> {
        self.list(false, most).await
    }

    /// As [`Queue::peek`], of the dead list, in the order in which they died.
    ///
    /// # Errors and cancel safety
    /// As [`Queue::peek`].
    pub async fn dead(&self, most: usize) -> Result<Vec<ListedJob>> {
        self.list(true, most).await
    }

    async fn list(&self, dead: bool, most: usize) -> Result<Vec<ListedJob>> {
        if !(1..=MAX_LISTED).contains(&most) {
            let given = format_args!("a list of {most} jobs is out of range");
            let allowed = format!("1 to {MAX_LISTED}");
            return Err(Error::refused(ErrorKind::InvalidArgument, List::OP, given, allowed).on(self.key()));
        }
        let listed = self.shared.run_now(&List { dead, most: most as u64 }).await?;
        let time = |ms| UNIX_EPOCH + Duration::from_millis(ms);
        let job = |Listed { id, payload, deliveries, due, since, reason, .. }: Listed| ListedJob {
            id,
            payload,
            attempts: deliveries,
            due: time(due),
            dead: (since > 0).then(|| (time(since), reason)),
        };
        Ok(listed.into_iter().map(job).collect())
    }

    /// Removes a job that waits; false when it is not there, or dead.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when it is being done: only its worker ends it then. [`ErrorKind::OutcomeUnknown`] when a request
    /// was sent and no repeat could find out what became of it; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn cancel(&self, id: &str) -> Result<bool> {
        let removed = self.remove_one(false, id).await?;
        if removed.delivered {
            let message = "the job was delivered, and its worker ends it; it cannot be cancelled";
            return Err(Error::new(ErrorKind::NotHeld, "cancel", message).on(self.key()));
        }
        Ok(removed.count > 0)
    }

    /// Removes a dead job; false when none has this id.
    ///
    /// # Errors and cancel safety
    /// As [`Queue::cancel`].
    pub async fn remove_dead(&self, id: &str) -> Result<bool> {
        Ok(self.remove_one(true, id).await?.count > 0)
    }

    async fn remove_one(&self, dead: bool, id: &str) -> Result<Removed> {
        self.shared.check_open(Remove::OP)?;
        match id {
            "" => Ok(Removed { count: 0, delivered: false }),
            id => self.remove(dead, Some(id)).await,
        }
    }

    /// The job of this id, or as many as one script should remove.
    async fn remove(&self, dead: bool, id: Option<&str>) -> Result<Removed> {
        let remove = |once| Remove { once, dead, id: id.map(str::to_owned) };
        let removed = self.client().operate_once(self.shared.name(), remove).await.map_err(|failed| failed.error)?;
        self.client().counters.queue.removed(removed.count);
        Ok(removed)
    }

    /// Removes all jobs that wait now, due or not; how many. Deliveries go on, and the dead list stays.
    ///
    /// # Errors
    /// As the server says; some may be removed then.
    ///
    /// # Cancel safety
    /// Dropping the future may leave some of them removed.
    pub async fn purge(&self) -> Result<u64> {
        self.remove_all(false).await
    }

    /// Removes all dead jobs; how many.
    ///
    /// # Errors and cancel safety
    /// As [`Queue::purge`].
    pub async fn purge_dead(&self) -> Result<u64> {
        self.remove_all(true).await
    }

    async fn remove_all(&self, dead: bool) -> Result<u64> {
        let (there, mut count) = (self.counts().await?, 0);
        // As many as there are now: what comes meanwhile may never end.
        let all = if dead { there.dead } else { there.ready.saturating_add(there.delayed) };
        while count < all {
            match self.remove(dead, None).await?.count {
                0 => break,
                removed => count += removed,
            }
        }
        Ok(count)
    }

    /// Has a dead job wait again, due now, as if it had never been delivered; false when none has this id.
    ///
    /// # Errors
    /// As the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn requeue_dead(&self, id: &str) -> Result<bool> {
        match id {
            "" => Ok(false),
            id => Ok(self.requeue(Some(id)).await? > 0),
        }
    }

    /// As [`Queue::requeue_dead`], all that are dead now; how many.
    ///
    /// # Errors and cancel safety
    /// As [`Queue::purge`].
    pub async fn requeue_all_dead(&self) -> Result<u64> {
        let (all, mut count) = (self.counts().await?.dead, 0);
        // As many as are dead now: those that die again meanwhile may never end.
        while count < all {
            match self.requeue(None).await? {
                0 => break,
                moved => count += moved,
            }
        }
        Ok(count)
    }

    /// The job of this id, or as many as one script should move.
    async fn requeue(&self, id: Option<&str>) -> Result<u64> {
        self.shared.check_open(Requeue::OP)?;
        let requeue = |once| Requeue { once, id: id.map(str::to_owned) };
        self.client().operate_once(self.shared.name(), requeue).await.map_err(|failed| failed.error)
    }
}
