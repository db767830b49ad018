//! Delayed queues: opened by name, jobs put and taken. What is in a queue is asked in `queue_jobs.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use libdlock::queue::{Delivery, NewJob, QueueOptions};
use libdlock::{Error, ErrorKind, Result, embed};

use super::held::keep;
use super::{Holding, args};
use crate::client::ClientEntry;
use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::objects::{DeliveryEntry, HeldEntry, QueueEntry};
use crate::outcome::{Delivered, Deliveries, Flags, Job, Put, Puts};
use crate::state::State;

impl HandleEnd for QueueEntry {
    fn client(self: &Arc<Self>) -> Option<Arc<ClientEntry>> {
        Some(self.client.clone())
    }
}

/// How a queue is opened, in plain numbers; none is core's default. Ranges are core's to check.
#[derive(Clone, Copy, Debug, Default)]
pub struct QueueArgs {
    /// The lease of a delivery, which nothing renews; none is one that the watchdog renews.
    pub lease_ms: Option<i64>,
    /// The lease with which the watchdog renews deliveries; none is the client's.
    pub watchdog_lease_ms: Option<i64>,
    /// How often a job that is put is delivered, until it is dead.
    pub max_attempts: Option<i64>,
    /// The largest payload, in bytes.
    pub max_payload: Option<i64>,
    /// How many jobs the queue may hold when one is put; 0 is any number.
    pub max_length: Option<i64>,
}

/// A job that is to be put, in plain values. Ranges are core's to check.
#[derive(Clone, Default)]
pub struct JobArgs {
    /// The payload, which is moved to where it is sent from.
    pub payload: Vec<u8>,
    /// Its id in UTF-8; none is a new one.
    pub id: Option<Vec<u8>>,
    /// After how long it is due; none is at once. Excludes `at_ms`.
    pub delay_ms: Option<i64>,
    /// When it is due, in milliseconds since 1970. Excludes `delay_ms`.
    pub at_ms: Option<i64>,
    /// Jobs that are due come by priority, the higher first.
    pub priority: i64,
}

impl JobArgs {
    fn read(self) -> Result<NewJob> {
        let refuse =
            |given: fmt::Arguments<'_>, allowed: &str| Error::refused(ErrorKind::InvalidArgument, PUT, given, allowed);
        let mut job = NewJob::new(self.payload);
        if let Some(id) = self.id {
            job = job.id(args::text(&id, "id of the job", PUT)?);
        }
        job = match (self.delay_ms, self.at_ms) {
            (None, None) => job,
            (Some(delay_ms), None) => job.delay(args::millis(delay_ms, "delay", "0 to 100 years", PUT)?),
            // What is due before 1970 is due at once, as everything in the past.
            (None, Some(at_ms)) => job.at(UNIX_EPOCH + Duration::from_millis(u64::try_from(at_ms).unwrap_or(0))),
            (Some(_), Some(_)) => {
                return Err(refuse(format_args!("a delay and a due time were given"), "one of them"));
            }
        };
        let priority = i16::try_from(self.priority).map_err(|_| {
            refuse(format_args!("priority {} is out of range", self.priority), "-32768 to 32767, and 0 for most jobs")
        })?;
        Ok(job.priority(priority))
    }
}

const PUT: &str = "put";
const TAKE: &str = "take";

/// The queue `name` of `client`. No I/O.
///
/// # Errors
/// `InvalidName`, `InvalidArgument`, `Unsupported` with several independent servers, `Closed`.
pub fn queue_open(state: &State, client: Handle, name: &[u8], how: QueueArgs) -> Result<Handle> {
    const OP: &str = "queue";
    let client = state.get::<ClientEntry>(client, OP)?;
    let name = embed::name_from_utf8(name)?;
    let key = client.client.key_of(name)?;
    let options = read_options(how, OP).map_err(|error| error.on(&key))?;
    let queue = client.client.queue_with(name, options)?;
    state.insert(Arc::new(QueueEntry { queue, client }))
}

/// As `Queue::followed_by` of core: a queue like `queue`, whose takes go on to `other`. No I/O.
///
/// # Errors
/// `InvalidArgument` for a queue of another client, `Closed`.
pub fn queue_followed_by(state: &State, queue: Handle, other: Handle) -> Result<Handle> {
    const OP: &str = "followed by";
    let (first, second) = (find(state, queue, OP)?, find(state, other, OP)?);
    if !Arc::ptr_eq(&first.client, &second.client) {
        let given = format_args!("the queue {:?} of another client was given", second.queue.name());
        let error = Error::refused(ErrorKind::InvalidArgument, OP, given, "queues of one client");
        return Err(error.on(first.queue.key()));
    }
    let queue = first.queue.followed_by(&second.queue);
    state.insert(Arc::new(QueueEntry { queue, client: first.client.clone() }))
}

/// The name of the queue that the hold `held` is a delivery of, without the client's key prefix. No I/O.
///
/// # Errors
/// `InvalidArgument` for a hold of anything else.
pub fn delivery_queue(state: &State, held: Handle) -> Result<String> {
    Ok(delivery(state, held, "queue")?.queue().to_owned())
}

fn read_options(how: QueueArgs, op: &'static str) -> Result<QueueOptions> {
    let mut options = QueueOptions::default();
    if let Some(lease) = args::lease(how.lease_ms, op)? {
        options.lease = lease;
    }
    options.watchdog_lease = args::watchdog_lease(how.watchdog_lease_ms, op)?;
    // What does not fit is too many either way, and core says so.
    if let Some(attempts) = how.max_attempts {
        let attempts = args::count(attempts, "number of attempts", "1 to 1000000", op)?;
        options.max_attempts = u32::try_from(attempts).unwrap_or(u32::MAX);
    }
    if let Some(bytes) = how.max_payload {
        let bytes = args::count(bytes, "max_payload", "0 to 2097152 bytes", op)?;
        options.max_payload = usize::try_from(bytes).unwrap_or(usize::MAX);
    }
    if let Some(jobs) = how.max_length {
        options.max_length = args::count(jobs, "max_length", "0 or more; 0 is any number of jobs", op)?;
    }
    Ok(options)
}

/// The name that it was made with.
pub fn queue_name(state: &State, queue: Handle) -> Result<String> {
    Ok(find(state, queue, "name")?.queue.name().to_owned())
}

/// The name on the server, as errors say it.
pub fn queue_key(state: &State, queue: Handle) -> Result<String> {
    Ok(find(state, queue, "name")?.queue.key().to_owned())
}

/// Puts a job: its id, and whether it was put or there already.
///
/// # Errors and cancel safety
/// As `Queue::put` of core.
pub async fn queue_put(state: &'static State, queue: Handle, job: JobArgs) -> Result<Put> {
    let entry = find(state, queue, PUT)?;
    let job = job.read().map_err(|error| error.on(entry.queue.key()))?;
    Ok(entry.queue.put(job).await?.into())
}

/// Puts jobs, in their order, and says the same of each.
///
/// # Errors
/// As `Queue::put_many` of core; for a job with a value out of range nothing is put.
///
/// # Cancel safety
/// As `Queue::put_many` of core.
pub async fn queue_put_many(state: &'static State, queue: Handle, jobs: Vec<JobArgs>) -> Result<Puts> {
    let entry = find(state, queue, PUT)?;
    let jobs: Result<Vec<NewJob>> = jobs.into_iter().map(JobArgs::read).collect();
    let jobs = jobs.map_err(|error| error.on(entry.queue.key()))?;
    let puts = entry.queue.put_many(jobs).await?;
    Ok(Puts(puts.into_iter().map(Put::from).collect()))
}

/// Takes the first job that is due; none when there was none within `wait_ms` (none: for ever; 0 does not wait). The hold is
/// the handle's own, and ends with [`delivery_ack`] or [`delivery_nack`].
///
/// # Errors
/// As `Queue::take_for` of core.
///
/// # Cancel safety
/// Dropped at any point it takes no job: one that was delivered meanwhile goes back, and does not count.
pub async fn queue_take(state: &'static State, queue: Handle, wait_ms: Option<i64>) -> Result<Option<Delivered>> {
    let entry = find(state, queue, TAKE)?;
    let wait = args::wait(wait_ms, TAKE).map_err(|error| error.on(entry.queue.key()))?;
    let taken = entry.queue.take_for(wait).await?;
    taken.map(|delivery| delivered(state, &entry, delivery)).transpose()
}

/// Takes up to `most` jobs, 1 to 100: those that are due, or the first that is within `wait_ms`, as [`queue_take`].
///
/// # Errors
/// As `Queue::take_many` of core.
///
/// # Cancel safety
/// As [`queue_take`].
pub async fn queue_take_many(
    state: &'static State,
    queue: Handle,
    most: i64,
    wait_ms: Option<i64>,
) -> Result<Deliveries> {
    let entry = find(state, queue, TAKE)?;
    let on = |error: Error| error.on(entry.queue.key());
    let most = args::count(most, "number of jobs", "1 to 100", TAKE).map_err(on)?;
    let wait = args::wait(wait_ms, TAKE).map_err(on)?;
    let taken = entry.queue.take_many(usize::try_from(most).unwrap_or(usize::MAX), wait).await?;
    let taken = taken.into_iter().map(|delivery| delivered(state, &entry, delivery));
    Ok(Deliveries(taken.collect::<Result<_>>()?))
}

/// Gives a delivery its handle.
fn delivered(state: &State, queue: &QueueEntry, delivery: Delivery) -> Result<Delivered> {
    let (grant, delivery) = (embed::delivery_grant(&delivery), Arc::new(delivery));
    let entry = DeliveryEntry { delivery: delivery.clone(), client: queue.client.clone() };
    let holding = Holding::ByHandle;
    let held = keep(state, Arc::new(entry), holding, holding.holder(), grant)?;
    Ok(Delivered { held, job: Job(delivery) })
}

/// The job that the hold `held` is a delivery of. No I/O.
///
/// # Errors
/// `InvalidArgument` for a hold of anything else.
pub fn delivery_job(state: &State, held: Handle) -> Result<Job> {
    Ok(Job(delivery(state, held, "job")?))
}

/// The job is done: removes it from the queue. The handle stays, to be freed.
///
/// # Errors
/// As `Delivery::ack` of core: `NotHeld` when the delivery is over or was lost; `InvalidArgument` for a hold of anything else.
///
/// # Cancel safety
/// Dropping the future does not stop it.
pub async fn delivery_ack(state: &'static State, held: Handle) -> Result<()> {
    embed::ack(&*delivery(state, held, "ack")?).await
}

/// The jobs of these deliveries of the queue are done, as [`delivery_ack`] of each: whether each is, and not so when it was over or
/// lost before. The handles stay, to be freed.
///
/// # Errors
/// `InvalidArgument` when one of the holds is no delivery of this queue and client; all are held as before then. Otherwise as
/// `Delivery::ack` of core: those deliveries are over all the same, and their jobs may come again.
///
/// # Cancel safety
/// Dropping the future does not stop it.
pub async fn queue_ack_many(state: &'static State, queue: Handle, helds: Vec<Handle>) -> Result<Flags> {
    const OP: &str = "ack";
    let entry = find(state, queue, OP)?;
    let deliveries: Vec<Arc<Delivery>> =
        helds.into_iter().map(|held| delivery(state, held, OP)).collect::<Result<_>>()?;
    let each: Vec<&Delivery> = deliveries.iter().map(Arc::as_ref).collect();
    let flag = |ended: Result<()>| match ended {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotHeld => Ok(false),
        Err(error) => Err(error),
    };
    let ended = embed::ack_many(&entry.queue, &each).await;
    ended.into_iter().map(flag).collect::<Result<_>>().map(Flags)
}

/// The job is not done: puts it back, due again after `delay_ms`, none is at once and at its place. `reason`, in UTF-8, of
/// which 1,024 bytes are kept, is what the dead list says of a job that was delivered as often as it may be.
///
/// # Errors
/// As `Delivery::nack` of core; `InvalidArgument` for the delay, for a reason that is no UTF-8 and for a hold of anything else,
/// and then it is held as before.
///
/// # Cancel safety
/// Dropping the future does not stop it.
pub async fn delivery_nack(state: &'static State, held: Handle, delay_ms: Option<i64>, reason: Vec<u8>) -> Result<()> {
    const OP: &str = "nack";
    let delivery = delivery(state, held, OP)?;
    let on = |error: Error| error.on(embed::delivery_key(&delivery));
    let delay = delay_ms.map(|delay_ms| args::millis(delay_ms, "delay", "0 to 100 years", OP));
    let (delay, reason) = (delay.transpose().map_err(on)?, args::text(&reason, "reason", OP).map_err(on)?);
    embed::nack(&delivery, delay, reason).await
}

/// Puts a job back that was not begun, at its place; the delivery does not count. For consumers that stop.
///
/// # Errors and cancel safety
/// As [`delivery_ack`].
pub async fn delivery_give_back(state: &'static State, held: Handle) -> Result<()> {
    embed::give_back(&*delivery(state, held, "give back")?).await
}

/// How long a job waits that failed at this attempt, from 1 on, in milliseconds, rounded up: `base_ms` at most after the first,
/// each time twice as long, `longest_ms` at most; less up to a half at random. No I/O.
///
/// # Errors
/// `InvalidArgument` for a number below 0, and for a base that is above the longest.
pub fn backoff_ms(attempt: i64, base_ms: i64, longest_ms: i64) -> Result<i64> {
    const OP: &str = "back-off";
    let base = args::millis(base_ms, "base", "0 or more", OP)?;
    let longest = args::millis(longest_ms, "longest back-off", "0 or more", OP)?;
    if base > longest {
        let given = format_args!("a base of {base:?} and a longest back-off of {longest:?} were given");
        return Err(Error::refused(ErrorKind::InvalidArgument, OP, given, "a base of at most the longest"));
    }
    let attempt = u32::try_from(args::count(attempt, "attempt", "0 or more", OP)?).unwrap_or(u32::MAX);
    let delay = embed::backoff(base, longest, attempt);
    Ok(i64::try_from(delay.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX))
}

fn delivery(state: &State, held: Handle, op: &'static str) -> Result<Arc<Delivery>> {
    let entry = state.get::<HeldEntry>(held, op)?;
    entry.hold.delivery().cloned().ok_or_else(|| {
        Error::new(ErrorKind::InvalidArgument, op, "this hold is no delivery of a queue").on(entry.hold.of().key())
    })
}

pub(super) fn find(state: &State, queue: Handle, op: &'static str) -> Result<Arc<QueueEntry>> {
    state.get(queue, op)
}
