//! Consumers: deliveries as a stream, and a loop that works on several at a time.

use std::fmt::{self, Display};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Delivery, Queue};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::wait::by_deadline;

/// Between two takes that failed: from the first to the longest, each twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The most jobs that one consumer works on at a time.
const MAX_CONCURRENCY: usize = 10_000;

/// How [`Queue::consume`] works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConsumeOptions {
    /// How many jobs are worked on at a time, 1 to 10,000; 1 unless it is set.
    pub concurrency: usize,
    /// After how long a job that failed is due again the first time, 1 s unless it is set; each time twice as long, less up to a
    /// half at random.
    pub backoff: Duration,
    /// The longest of these, 5 min unless it is set.
    pub max_backoff: Duration,
    /// How long jobs in hand may go on once the consumer is stopped, 10 s unless it is set; the others are put back.
    pub grace: Duration,
}

impl Default for ConsumeOptions {
    fn default() -> ConsumeOptions {
        let seconds = Duration::from_secs;
        ConsumeOptions { concurrency: 1, backoff: seconds(1), max_backoff: seconds(300), grace: seconds(10) }
    }
}

impl ConsumeOptions {
    /// Sets how many jobs are worked on at a time.
    pub const fn concurrency(mut self, jobs: usize) -> ConsumeOptions {
        self.concurrency = jobs;
        self
    }

    /// Sets after how long a job that failed is due again: the first time, and at most.
    pub const fn backoff(mut self, first: Duration, longest: Duration) -> ConsumeOptions {
        (self.backoff, self.max_backoff) = (first, longest);
        self
    }

    /// Sets how long jobs in hand may go on once the consumer is stopped.
    pub const fn grace(mut self, grace: Duration) -> ConsumeOptions {
        self.grace = grace;
        self
    }

    /// After how long a job is due again that failed at this attempt, from 1 on: for [`Delivery::nack_after`].
    pub fn backoff_of(&self, attempt: u32) -> Duration {
        let doubled = self.backoff.saturating_mul(1_u32.checked_shl(attempt.saturating_sub(1)).unwrap_or(u32::MAX));
        doubled.min(self.max_backoff).mul_f64(1.0 - fastrand::f64() / 2.0)
    }
}

/// The deliveries of a queue, one after the other, made by [`Queue::deliveries`]. It ends only with its client: an error is an
/// item, and the next poll takes again.
pub struct Deliveries {
    queue: Queue,
    next: Pin<Box<dyn Future<Output = Result<Delivery>> + Send>>,
}

impl Deliveries {
    fn take(queue: &Queue) -> Pin<Box<dyn Future<Output = Result<Delivery>> + Send>> {
        let queue = queue.clone();
        Box::pin(async move { queue.take().await })
    }
}

impl Stream for Deliveries {
    type Item = Result<Delivery>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Delivery>>> {
        let taken = ready!(self.next.as_mut().poll(context));
        self.next = Deliveries::take(&self.queue);
        match taken {
            Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Forked) => Poll::Ready(None),
            taken => Poll::Ready(Some(taken)),
        }
    }
}

impl fmt::Debug for Deliveries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deliveries").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Queue {
    /// The deliveries of this queue as a stream, which takes the next job when it is polled.
    pub fn deliveries(&self) -> Deliveries {
        Deliveries { queue: self.clone(), next: Deliveries::take(self) }
    }

    /// Works on jobs until `stop` completes.
    ///
    /// Each job that `work` returns `Ok` for is acknowledged. One for which it returns an error, or panics, is put back with a
    /// back-off, and the error is the reason should the job be dead. When a delivery is lost, its work is dropped. A take that
    /// fails for a reason that passes is tried again, after a pause with jitter.
    ///
    /// Once `stop` has completed it takes no more, lets what is in hand go on for `grace`, and puts the rest back.
    ///
    /// ```
    /// # let client = libdlock::Client::blocking_connect("memory://")?;
    /// # client.block_on(async {
    /// use libdlock::queue::ConsumeOptions;
    ///
    /// let mails = client.queue("mails")?;
    /// mails.put("to: ada").await?;
    /// let (done, stop) = tokio::sync::oneshot::channel::<()>();
    /// let done = std::sync::Mutex::new(Some(done));
    /// let work = move |delivery: std::sync::Arc<libdlock::queue::Delivery>| {
    ///     let done = done.lock().unwrap().take();
    ///     async move {
    ///         assert_eq!(delivery.payload(), b"to: ada");
    ///         drop(done); // stops the consumer
    ///         Ok::<(), String>(())
    ///     }
    /// };
    /// mails.consume(ConsumeOptions::default().concurrency(4), async { drop(stop.await) }, work).await?;
    /// assert_eq!(mails.counts().await?.in_flight, 0);
    /// # Ok::<(), libdlock::Error>(()) })?;
    /// # Ok::<(), libdlock::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the concurrency. An error of a take that does not pass, such as
    /// [`ErrorKind::NoPermission`], or [`ErrorKind::Closed`]; what is in hand has its `grace` then, too.
    ///
    /// # Panics
    /// When called outside a tokio runtime, on which the work runs.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and puts back what is in hand.
    pub async fn consume<F, W, E>(&self, options: ConsumeOptions, stop: impl Future<Output = ()>, work: F) -> Result<()>
    where
        F: Fn(Arc<Delivery>) -> W,
        W: Future<Output = Result<(), E>> + Send + 'static,
        E: Display + Send + 'static,
    {
        if !(1..=MAX_CONCURRENCY).contains(&options.concurrency) {
            let given = format_args!("a concurrency of {} is out of range", options.concurrency);
            let allowed = format!("1 to {MAX_CONCURRENCY}");
            return Err(Error::refused(ErrorKind::InvalidArgument, "consume", given, allowed).on(self.key()));
        }
        let (mut running, mut stop) = (JoinSet::new(), pin!(stop));
        let slots = Arc::new(Semaphore::new(options.concurrency));
        let result = loop {
            while running.try_join_next().is_some() {}
            let next = async {
                let slot = slots.clone().acquire_owned().await.ok();
                (slot, self.take_patiently().await)
            };
            let (slot, delivery) = tokio::select! {
                biased;
                () = &mut stop => break Ok(()),
                (slot, taken) = next => match taken {
                    Ok(delivery) => (slot, Arc::new(delivery)),
                    Err(error) => break Err(error),
                },
            };
            let mut working = JoinSet::new();
            // It may panic before it has made a future: without one, the job is put back as if that had panicked.
            if let Ok(work) = catch_unwind(AssertUnwindSafe(|| work(delivery.clone()))) {
                working.spawn(work);
            }
            running.spawn(async move {
                let _slot = slot;
                delivery.done_by(working, &options).await;
            });
        };
        let clock = &self.client().clock;
        let finished = async { while running.join_next().await.is_some() {} };
        let _ = by_deadline(clock, clock.now().plus(options.grace), pin!(finished)).await;
        // Dropping the rest puts it back.
        running.shutdown().await;
        result
    }

    /// Takes a job, and tries again as long as what is in the way passes.
    async fn take_patiently(&self) -> Result<Delivery> {
        let (clock, mut pause) = (&self.client().clock, PAUSE);
        loop {
            match self.take().await {
                Err(error) if error.is_retryable() && error.kind() != ErrorKind::Closed => {
                    clock.sleep_until(clock.now().plus(pause.mul_f64(1.0 - fastrand::f64() / 2.0))).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                taken => return taken,
            }
        }
    }
}

impl Delivery {
    /// Ends this delivery as its work ends, which is the only task of `working`; none is there when it panicked.
    async fn done_by<E: Display + Send + 'static>(
        &self,
        mut working: JoinSet<std::result::Result<(), E>>,
        options: &ConsumeOptions,
    ) {
        let done = tokio::select! {
            done = working.join_next() => done,
            // It comes again by itself: the work is dropped.
            _ = self.lost() => return,
        };
        let ended = match done {
            Some(Ok(Ok(()))) => self.ack_shared().await,
            Some(Ok(Err(error))) => self.nack_shared(options.backoff_of(self.attempt()), &error.to_string()).await,
            _ => self.nack_shared(options.backoff_of(self.attempt()), "its work panicked").await,
        };
        if let Err(error) = ended {
            let message = format!(
                "the end of job {} was not confirmed, and it may come again: {}",
                crate::text::part(self.id()),
                error.message()
            );
            self.events().emit(Level::Warn, Some(self.key()), message);
        }
    }
}
