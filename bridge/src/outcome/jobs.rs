//! Jobs of a queue on their way to the host.

use std::fmt;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use libdlock::queue::{self, Delivery};

use super::Held;

/// What a put has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The id of the job.
    pub id: String,
    /// False when a job with this id was there: nothing was put.
    pub is_new: bool,
}

impl From<queue::Put> for Put {
    fn from(put: queue::Put) -> Self {
        Put { id: put.id, is_new: put.is_new }
    }
}

/// What a put of several jobs has done, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Puts(pub Vec<Put>);

/// A job that was delivered: the hold, and the job that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The hold, which is the handle's own. When the handle is given up before the delivery was ended, the job goes back in the
    /// background, and the delivery counts.
    pub held: Held,
    /// What was delivered.
    pub job: Job,
}

/// Jobs that were delivered, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deliveries(pub Vec<Delivered>);

/// A delivered job, to be read. The payload is where the connection has put it: a host that keeps a copy drops this. Cheap to
/// clone; keeps the delivery from going back.
#[derive(Clone)]
pub struct Job(pub(crate) Arc<Delivery>);

impl Job {
    /// What was put.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        self.0.payload()
    }

    /// The id of the job.
    #[must_use]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// Which delivery of the job this is, from 1 on.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.0.attempt()
    }

    /// When the job was due, by the server's clock, in milliseconds since 1970.
    #[must_use]
    pub fn due_ms(&self) -> i64 {
        unix_ms(self.0.due())
    }

    /// The priority with which it was put.
    #[must_use]
    pub fn priority(&self) -> i16 {
        self.0.priority()
    }
}

impl PartialEq for Job {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Job {}

/// Not the payload, which is the caller's.
impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How many jobs a queue has; see `libdlock::queue::Counts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueCounts {
    /// Jobs that are due.
    pub ready: u64,
    /// Jobs that are not due yet.
    pub delayed: u64,
    /// Jobs that were delivered and not ended.
    pub in_flight: u64,
    /// Jobs that were delivered as often as they may be.
    pub dead: u64,
    /// Processes that wait for jobs.
    pub waiters: u64,
}

impl From<queue::Counts> for QueueCounts {
    fn from(counts: queue::Counts) -> Self {
        let queue::Counts { ready, delayed, in_flight, dead, waiters, .. } = counts;
        QueueCounts { ready, delayed, in_flight, dead, waiters }
    }
}

/// A job as a list shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ListedJob {
    /// The id of the job.
    pub id: String,
    /// What was put.
    pub payload: Vec<u8>,
    /// How often it was delivered.
    pub attempts: u64,
    /// When it is due, or was, by the server's clock, in milliseconds since 1970.
    pub due_ms: i64,
    /// Since when it is dead, in milliseconds since 1970, and why; none for a job that waits.
    pub dead: Option<(i64, String)>,
}

impl From<queue::ListedJob> for ListedJob {
    fn from(job: queue::ListedJob) -> Self {
        let queue::ListedJob { id, payload, attempts, due, dead, .. } = job;
        let dead = dead.map(|(since, reason)| (unix_ms(since), reason));
        ListedJob { id, payload, attempts, due_ms: unix_ms(due), dead }
    }
}

/// Not the payload, which is the caller's.
impl fmt::Debug for ListedJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ListedJob { id, payload, attempts, due_ms, dead } = self;
        let mut all = f.debug_struct("ListedJob");
        all.field("id", id).field("bytes", &payload.len()).field("attempts", attempts);
        all.field("due_ms", due_ms).field("dead", dead).finish()
    }
}

/// A list of jobs, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedJobs(pub Vec<ListedJob>);

/// Core takes no time before 1970, and none behind 2269.
fn unix_ms(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
