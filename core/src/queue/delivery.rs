//! A job that was delivered, under a lease.

use std::fmt;
use std::str::from_utf8;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::step::{Ack, Nack, Seen, Take};
use super::{Queue, QueueObject, acks};
use crate::contended::Released;
use crate::error::{Error, ErrorKind, Result};
use crate::event::Events;
use crate::lease::{Grant, HoldState, LossReason, Parcel};
use crate::stats::JobCounts;
use crate::step::Step;

/// The longest reason that is kept, in bytes.
const MAX_REASON: usize = 1_024;

/// The longest delay of a job that is put back: 100 years.
const MAX_DELAY: Duration = Duration::from_secs(100 * 365 * 86_400);

/// A job that was delivered. It is this worker's until the lease ends, which the watchdog renews.
///
/// [`Delivery::ack`] ends it when the job is done, [`Delivery::nack`] puts it back. Dropping it puts it back in the background.
/// When its lease runs out, because the process died or stood still, the job comes again by itself, to whoever takes it.
#[must_use = "dropping it puts the job back"]
pub struct Delivery {
    shared: Arc<QueueObject>,
    grant: Grant,
    job: Job,
    ended: AtomicBool,
}

struct Job {
    parcel: Arc<Parcel>,
    id: String,
    attempt: u32,
    due: SystemTime,
    priority: i16,
}

impl Job {
    fn read(parcel: &Arc<Parcel>) -> Option<Job> {
        let [id, _, attempt, due, rank] = parcel.parts.as_slice() else { return None };
        let number = |part: &Vec<u8>| from_utf8(part).ok()?.parse::<u64>().ok();
        let urgency = u16::from_str_radix(from_utf8(rank.get(..4)?).ok()?, 16).ok()?;
        Some(Job {
            parcel: parcel.clone(),
            id: from_utf8(id).ok()?.to_owned(),
            attempt: u32::try_from(number(attempt)?).ok()?,
            due: UNIX_EPOCH.checked_add(Duration::from_millis(number(due)?))?,
            priority: i16::try_from(i32::from(i16::MAX) - i32::from(urgency)).ok()?,
        })
    }
}

impl Delivery {
    pub(super) fn new(queue: &Queue, grant: Grant) -> Result<Delivery> {
        let job = grant.parcel().and_then(Job::read);
        let job = job.ok_or_else(|| {
            let message = "the server delivered what is no job of this version";
            Error::new(ErrorKind::Server, Take::OP, message).on(queue.key())
        })?;
        Ok(Delivery { shared: queue.shared.clone(), grant, job, ended: AtomicBool::new(false) })
    }

    /// What was put.
    pub fn payload(&self) -> &[u8] {
        &self.job.parcel.parts[1]
    }

    /// The id of the job.
    pub fn id(&self) -> &str {
        &self.job.id
    }

    /// Which delivery of the job this is, from 1 on.
    pub fn attempt(&self) -> u32 {
        self.job.attempt
    }

    /// The name of its queue, without the client's key prefix.
    pub fn queue(&self) -> &str {
        self.shared.name().as_given()
    }

    /// When the job was due, by the server's clock.
    pub fn due(&self) -> SystemTime {
        self.job.due
    }

    /// The priority with which it was put.
    pub fn priority(&self) -> i16 {
        self.job.priority
    }

    /// The fencing token: larger than that of every delivery of this queue before it.
    pub fn token(&self) -> u64 {
        self.grant.token()
    }

    /// Whether the worker may act: see [`Grant::is_valid`].
    pub fn is_valid(&self) -> bool {
        self.grant.is_valid()
    }

    /// How long the delivery stays valid if nothing is renewed; zero when it is not valid.
    pub fn remaining(&self) -> Duration {
        self.grant.remaining()
    }

    /// How the delivery stands.
    pub fn state(&self) -> HoldState {
        self.grant.state()
    }

    /// Completes when the delivery is over: with the reason when it was lost, with `None` when its end began.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn lost(&self) -> Option<LossReason> {
        self.grant.lost().await
    }

    /// The job is done: removes it from the queue.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when the delivery was lost: the job comes again, or has come to another worker, and nothing of
    /// that was touched. [`ErrorKind::OutcomeUnknown`] or [`ErrorKind::Connection`] when no reply came within
    /// `operation_timeout`: the delivery is over all the same, and the job may come again. Else as the server says; it works on a
    /// server that is full.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop it.
    pub async fn ack(self) -> Result<()> {
        self.ack_shared().await
    }

    /// As [`Delivery::ack`], of one that its work may still have at hand.
    pub(crate) async fn ack_shared(&self) -> Result<()> {
        let Some(grant) = self.ends(Ack::OP)? else { return Err(self.shared.not_held(Ack::OP, Some(&self.grant))) };
        let (shared, owner, alone) = (self.shared.clone(), grant.owner().to_owned(), self.shared.has_none());
        self.shared.end_with(Ack::OP, grant, async move { acks::ack(&shared, owner, alone).await }).await?;
        self.counts().acked();
        Ok(())
    }

    /// As [`Delivery::ack_shared`], of several: what became of each. When one of them is of another queue all are held as before.
    pub(crate) async fn ack_each(queue: &Arc<QueueObject>, deliveries: &[&Delivery]) -> Vec<Result<()>> {
        if let Some(other) = deliveries.iter().find(|delivery| !delivery.is_of(queue)) {
            let given = match other.key() == queue.name().as_str() {
                true => "a delivery that another client took was given".to_owned(),
                false => format!("a delivery of the queue {:?} was given", other.key()),
            };
            let allowed = "deliveries of this queue and client";
            let error = Error::refused(ErrorKind::InvalidArgument, Ack::OP, format_args!("{given}"), allowed);
            let error = error.on(queue.name().as_str());
            return vec![Err(error); deliveries.len()];
        }
        let begun = deliveries
            .iter()
            .map(|delivery| delivery.ends(Ack::OP)?.ok_or_else(|| queue.not_held(Ack::OP, Some(&delivery.grant))));
        let begun: Vec<Result<Grant>> = begun.collect();
        let grants: Vec<Grant> = begun.iter().filter_map(|begun| begun.as_ref().ok()).cloned().collect();
        let mut ended =
            queue.end_each(Ack::OP, &grants, |owners| acks::ack_all(queue.clone(), owners)).await.into_iter();
        let answer = |begun: Result<Grant>| {
            let grant = begun?;
            ended.next().unwrap_or_else(|| Err(queue.not_held(Ack::OP, Some(&grant))))?;
            queue.client().counters.queue.acked();
            Ok(())
        };
        begun.into_iter().map(answer).collect()
    }

    /// As [`Delivery::nack_after`], of one that its work may still have at hand.
    pub(super) async fn nack_shared(&self, delay: Duration, reason: &str) -> Result<()> {
        self.put_back(Some(delay.min(MAX_DELAY)), reason).await
    }

    /// As [`Delivery::nack_after`], or without a delay [`Delivery::nack`], for hosts, whose workers may look at it afterwards.
    /// A delay out of range changes nothing.
    pub(crate) async fn nack_hosted(&self, delay: Option<Duration>, reason: &str) -> Result<()> {
        self.check_delay(delay.unwrap_or_default())?;
        self.put_back(delay, reason).await
    }

    /// Puts the job back as if it had never been delivered, at its place: the delivery does not count.
    pub(crate) async fn give_back(&self) -> Result<()> {
        self.end(Nack::undelivered(self.grant.owner())).await.map(drop)
    }

    /// As [`Delivery::give_back`], unattended: for deliveries that reach nobody.
    pub(crate) fn give_back_in_background(&self) {
        self.let_go(|| Nack::undelivered(self.grant.owner()));
    }

    pub(crate) fn grant(&self) -> &Grant {
        &self.grant
    }

    /// The name of the queue on the server.
    pub(crate) fn key(&self) -> &str {
        self.shared.name().as_str()
    }

    pub(super) fn is_of(&self, queue: &Arc<QueueObject>) -> bool {
        Arc::ptr_eq(&self.shared, queue)
    }

    pub(super) fn events(&self) -> &Events {
        &self.shared.client().events
    }

    /// The job is not done: puts it back, due at once at the place that it had. When it was delivered as often as it may be, it is
    /// dead, for this reason, of which 1,024 bytes are kept, its control characters escaped.
    ///
    /// # Errors and cancel safety
    /// As [`Delivery::ack`].
    pub async fn nack(self, reason: &str) -> Result<()> {
        self.put_back(None, reason).await
    }

    /// As [`Delivery::nack`], due after `delay`, 100 years at most.
    ///
    /// # Errors
    /// As [`Delivery::ack`]; [`ErrorKind::InvalidArgument`] for the delay, and then the job goes back at once.
    ///
    /// # Cancel safety
    /// As [`Delivery::ack`].
    pub async fn nack_after(self, delay: Duration, reason: &str) -> Result<()> {
        self.check_delay(delay)?;
        self.put_back(Some(delay), reason).await
    }

    fn check_delay(&self, delay: Duration) -> Result<()> {
        if delay > MAX_DELAY {
            let given = format_args!("a delay of {delay:?} is out of range");
            return Err(Error::refused(ErrorKind::InvalidArgument, Nack::OP, given, "0 to 100 years").on(self.key()));
        }
        Ok(())
    }

    async fn put_back(&self, delay: Option<Duration>, reason: &str) -> Result<()> {
        let step = self.nack_step(delay, reason);
        let ended = self.end(step).await?;
        self.counts().nacked(ended == Released::Discarded);
        Ok(())
    }

    fn nack_step(&self, delay: Option<Duration>, reason: &str) -> Nack {
        let reason = crate::text::kept(reason, MAX_REASON);
        Nack { owner: self.grant.owner().to_owned(), delay, seen: Seen::Yes, reason }
    }

    /// Puts it back, in the background, unless its end has begun.
    fn let_go(&self, step: impl FnOnce() -> Nack) {
        if self.ended.swap(true, Ordering::Relaxed) || self.shared.client().tasks.leak_if_forked(&self.shared) {
            return;
        }
        let Some(grant) = self.shared.take_back(self.grant.token()) else { return };
        if self.has_expired() {
            return self.put_back_lost();
        }
        if grant.loss().is_some() {
            return;
        }
        let (shared, step) = (self.shared.clone(), step());
        self.shared.client().tasks.spawn_operation(async move {
            let counts = step.seen != Seen::No;
            // The lease runs out instead of what fails.
            if let Ok(ended) = shared.end_by(grant, step).await
                && counts
            {
                shared.client().counters.queue.nacked(ended == Released::Discarded);
            }
        });
    }

    async fn end<S: Step<Reply = Released>>(&self, step: S) -> Result<Released> {
        let Some(grant) = self.ends(S::OP)? else { return Err(self.shared.not_held(S::OP, Some(&self.grant))) };
        self.shared.end_by(grant, step).await
    }

    /// Its end begins: the hold that is to end; none when it is over.
    fn ends(&self, op: &'static str) -> Result<Option<Grant>> {
        self.ended.store(true, Ordering::Relaxed);
        match self.shared.take_back(self.grant.token()) {
            Some(_) if self.has_expired() => {
                self.shared.check_open(op)?;
                self.put_back_lost();
                Ok(None)
            }
            Some(grant) => Ok(Some(grant)),
            None => {
                self.shared.check_open(op)?;
                Ok(None)
            }
        }
    }

    fn counts(&self) -> &JobCounts {
        &self.shared.client().counters.queue
    }

    /// Whether its validity is over. The lease on the server outlives that by the margin.
    fn has_expired(&self) -> bool {
        let (client, grant) = (self.shared.client(), &self.grant);
        let now = client.clock.now();
        client.keeper.expire(grant, now);
        grant.loss_at(now) == Some(LossReason::Expired)
    }

    /// Puts back, in the background, what the server would put back at the end of the lease: others need not wait for that. Its
    /// worker had it, so it counts.
    fn put_back_lost(&self) {
        let (shared, step) = (self.shared.clone(), Nack::over(self.grant.owner(), self.grant.token()));
        self.shared.client().tasks.spawn_operation(async move {
            // The lease runs out instead.
            drop(shared.client().operate(shared.name(), &step).await);
        });
    }

    /// Prolongs the lease to `lease` from now on, 100 ms to 24 h. Only ever prolongs.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when it was lost, which this call may find out; [`ErrorKind::InvalidArgument`] for the lease; else
    /// as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the lease prolonged on the server, and not in what the delivery says.
    pub async fn extend(&self, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        crate::config::check_lease(OP, lease).map_err(|error| error.on(self.shared.name().as_str()))?;
        self.shared.check_open(OP)?;
        match self.grant.is_valid() && self.grant.loss().is_none() {
            true => self.shared.extend(OP, &self.grant, lease).await,
            false => Err(self.shared.not_held(OP, Some(&self.grant))),
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        self.let_go(|| self.nack_step(None, "its worker let it go"));
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all = f.debug_struct("Delivery");
        all.field("id", &self.job.id).field("attempt", &self.job.attempt).field("grant", &self.grant).finish()
    }
}
