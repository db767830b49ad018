//! The delayed queue: jobs with due times, each delivered at least once.
//!
//! A job is bytes. It waits until it is due, a take delivers it under a lease, and an acknowledgement ends it. A delivery whose
//! lease runs out puts its job back by itself, so that a worker that dies loses none. What was delivered too often goes to the
//! dead list. There is no transfer task: takes move what is due.
//!
//! Waiting is the engine's (`contended`), with one difference: time makes room for a waiter, too, so the head of the queue of
//! waiters sleeps until the first job is due. The wire format is in `docs/protocol`.

mod acks;
mod consume;
mod delivery;
mod jobs;
mod jobs_of;
#[cfg(test)]
mod model_test;
mod new_job;
mod options;
mod step;
mod take;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

pub use consume::{ConsumeOptions, Deliveries};
pub use delivery::Delivery;
use jobs::Jobs;
pub use jobs_of::{Counts, ListedJob};
pub use new_job::NewJob;
pub use options::QueueOptions;
pub(crate) use step::QueueState;
pub(crate) use step::Renew;
use step::{Put as PutStep, PutOnce, PutOutcome};

use crate::contended::{Contended, Home};
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::step::{Carried, Once, Step};

/// What the queues of one client share.
pub(crate) type Queues = Home<Jobs>;

/// What the queues of one name share in a client.
type QueueObject = Contended<Jobs>;

/// How many jobs one request puts at most, and how many bytes of payload if it puts more than one.
const JOBS_AT_ONCE: usize = 100;
const BYTES_AT_ONCE: usize = 1 << 20;

/// A named delayed queue. Cheap to clone; clones, and all queues that any process makes of one name, are the same queue.
///
/// ```
/// # let client = libdlock::Client::blocking_connect("memory://")?;
/// # client.block_on(async {
/// use std::time::Duration;
///
/// use libdlock::queue::NewJob;
///
/// let mails = client.queue("mails")?;
/// mails.put("to: ada").await?;
/// mails.put(NewJob::new("to: bob").id("bob-1").delay(Duration::from_secs(60))).await?;
///
/// let delivery = mails.try_take().await?.expect("one is due");
/// assert_eq!(delivery.payload(), b"to: ada");
/// delivery.ack().await?; // the job is done; without it, it comes again
/// assert!(mails.try_take().await?.is_none(), "the other one is due in a minute");
/// # Ok::<(), libdlock::Error>(()) })?;
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone)]
pub struct Queue {
    shared: Arc<QueueObject>,
    options: QueueOptions,
    /// The queues from which it takes when it has no job that is due, in their order; none of these has others.
    then: Arc<[Queue]>,
}

/// What a put has done.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Put {
    /// The id of the job.
    pub id: String,
    /// False when a job with this id was there: nothing was put.
    pub is_new: bool,
}

impl Queue {
    /// The queue of this name. No I/O.
    pub(crate) fn open(queues: &Arc<Queues>, name: &str, options: QueueOptions) -> Result<Queue> {
        let shared = queues.open(name)?;
        options.check().map_err(|error| error.on(shared.name().as_str()))?;
        Ok(Queue { shared, options, then: Arc::default() })
    }

    /// The same queue, whose takes and consumers go on to `other` when no job of this queue is due: so an urgent job is taken
    /// before all usual ones. Puts, counts and lists are of this queue alone. `other` may be followed by others itself. No I/O.
    ///
    /// A take asks one queue after the other, and waits for all when none has a job that is due. Which one a job is of,
    /// [`Delivery::queue`] says.
    ///
    /// ```
    /// # let client = libdlock::Client::blocking_connect("memory://")?;
    /// # client.block_on(async {
    /// let (urgent, usual) = (client.queue("urgent")?, client.queue("usual")?);
    /// usual.put("news").await?;
    /// urgent.put("alarm").await?;
    /// let both = urgent.followed_by(&usual);
    /// let first = both.take().await?;
    /// assert_eq!((first.queue(), first.payload()), ("urgent", &b"alarm"[..]));
    /// first.ack().await?;
    /// assert_eq!(both.take().await?.queue(), "usual");
    /// # Ok::<(), libdlock::Error>(()) })?;
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    pub fn followed_by(&self, other: &Queue) -> Queue {
        let then = self.then.iter().chain(other.in_order()).map(|queue| queue.with_then(Arc::default())).collect();
        self.with_then(then)
    }

    fn with_then(&self, then: Arc<[Queue]>) -> Queue {
        Queue { shared: self.shared.clone(), options: self.options, then }
    }

    /// This queue, and those that follow it.
    fn in_order(&self) -> impl Iterator<Item = &Queue> {
        [self].into_iter().chain(self.then.iter())
    }

    /// The name that it was made with. On the server the client's `key_prefix` stands before it, and so it does in errors and
    /// events, for whoever looks for the key there.
    pub fn name(&self) -> &str {
        self.shared.name().as_given()
    }

    /// The name on the server, key prefix included: what errors and events say.
    pub fn key(&self) -> &str {
        self.shared.name().as_str()
    }

    /// Puts a job.
    ///
    /// A job without an id gets one. One with an id is put once: while a job with that id is in the queue, waiting, delivered or
    /// dead, another put of it does nothing and says so. A put with an id is repeated when a reply is lost, and takes effect
    /// once, also if the job is done before the repeat.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for an id, a payload or a due time out of range: see [`NewJob`]. [`ErrorKind::Full`] when
    /// the queue would hold more than `max_length` jobs. [`ErrorKind::Connection`] when the server was not reached within
    /// `operation_timeout`: nothing was put. [`ErrorKind::OutcomeUnknown`] when a request was sent and it is not known what
    /// became of it; for a job without an id, when one reply was lost. [`ErrorKind::WrongType`], [`ErrorKind::NoPermission`],
    /// [`ErrorKind::OutOfMemory`], [`ErrorKind::Unsupported`] and [`ErrorKind::Server`] as the server says;
    /// [`ErrorKind::Clock`] when its clock jumps back and forth; [`ErrorKind::Closed`], [`ErrorKind::Forked`] and
    /// [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future may leave it done or not done.
    pub async fn put(&self, job: impl Into<NewJob>) -> Result<Put> {
        let mut put = self.put_many([job.into()]).await?;
        put.pop().ok_or_else(|| Error::new(ErrorKind::Internal, PutStep::OP, "a put without an answer").on(self.key()))
    }

    /// Puts jobs, in their order: up to 100 in one request, and no more than 1 MiB of payload unless one job alone is larger.
    ///
    /// # Errors
    /// As [`Queue::put`]. A request puts all of its jobs or none of them, and those of earlier requests stay.
    ///
    /// # Cancel safety
    /// Dropping the future may leave some of them put.
    pub async fn put_many<J: Into<NewJob>>(&self, jobs: impl IntoIterator<Item = J>) -> Result<Vec<Put>> {
        self.shared.check_open(PutStep::OP)?;
        let on = |error: Error| error.on(self.key());
        let jobs: Vec<NewJob> = jobs.into_iter().map(Into::into).collect();
        let has_ids = jobs.iter().all(NewJob::has_id);
        let mut specs = Vec::with_capacity(jobs.len());
        for job in jobs {
            specs.push(job.into_spec(self.options.max_payload).map_err(on)?);
        }
        let mut put = Vec::with_capacity(specs.len());
        let mut rest = specs.into_iter().peekable();
        while rest.peek().is_some() {
            let (mut some, mut bytes) = (Vec::new(), 0);
            while let Some(next) = rest.peek() {
                bytes += next.payload.len();
                if some.len() == JOBS_AT_ONCE || (!some.is_empty() && bytes > BYTES_AT_ONCE) {
                    break;
                }
                some.extend(rest.next());
            }
            let ids: Vec<String> = some.iter().map(|spec| spec.id.clone()).collect();
            let PutStep { once, max_length, max_attempts, .. } = self.put_step();
            let step = PutStep { once, jobs: some, max_length, max_attempts };
            match self.send_put(step, has_ids).await? {
                PutOutcome::Put(are_new) if are_new.len() != ids.len() => {
                    let message = "the server's reply has another number of answers";
                    return Err(Error::new(ErrorKind::Server, PutStep::OP, message).on(self.key()));
                }
                PutOutcome::Put(are_new) => {
                    let new = are_new.iter().filter(|is_new| **is_new).count();
                    self.client().counters.queue.put(new, are_new.len() - new);
                    put.extend(ids.into_iter().zip(are_new).map(|(id, is_new)| Put { id, is_new }));
                }
                PutOutcome::Full { length } => {
                    self.client().counters.queue.full();
                    let message = format!(
                        "the queue is full: it has {length} jobs of at most {}, and {} of this call were put; take some, or raise \
                         max_length",
                        self.options.max_length,
                        put.len()
                    );
                    return Err(Error::new(ErrorKind::Full, PutStep::OP, message).on(self.key()));
                }
            }
        }
        Ok(put)
    }

    fn put_step(&self) -> PutStep {
        let QueueOptions { max_length, max_attempts, .. } = self.options;
        PutStep { once: Once::in_process(), jobs: Vec::new(), max_length, max_attempts }
    }

    /// With ids a request may be repeated: the server remembers it.
    async fn send_put(&self, step: PutStep, has_ids: bool) -> Result<PutOutcome> {
        let (client, name) = (self.client(), self.shared.name());
        if has_ids {
            let put = |once| PutOnce(PutStep { once, ..step.clone() });
            return client.operate_once(name, put).await.map_err(|failed| failed.error);
        }
        let Carried { out, .. } = self.shared.run_now(&step).await?;
        out.ok_or_else(|| {
            let message = "the request reached the server too late; nothing was put";
            Error::new(ErrorKind::Connection, PutStep::OP, message).on(self.key())
        })
    }

    fn client(&self) -> &Context {
        self.shared.client()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        self.client().tasks.leak_if_forked(&self.shared);
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Queue");
        all.field("name", self.shared.name()).field("options", &self.options);
        if !self.then.is_empty() {
            all.field("then", &self.then);
        }
        all.finish()
    }
}
