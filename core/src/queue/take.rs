//! Taking jobs.

use std::future::{Future, poll_fn};
use std::mem;
use std::task::Poll;
use std::time::Duration;

use super::step::{MAX_TAKEN, Take};
use super::{Delivery, Queue};
use crate::config::check_lease;
use crate::contended::{Caller, LastHolder, Primitive};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, HolderId, Term};
use crate::step::Step;
use crate::wait::Wait;

/// Deliveries that their caller has not seen yet: dropped with the call, they go back and do not count.
struct Unseen(Vec<Delivery>);

impl Drop for Unseen {
    fn drop(&mut self) {
        self.0.iter().for_each(Delivery::give_back_in_background);
    }
}

impl Queue {
    /// Takes the first job that is due, waiting as long as it takes.
    ///
    /// In the order of priority, then due time, then arrival. Takers of all processes are served in their order.
    ///
    /// # Errors
    /// [`ErrorKind::Connection`] when the server could not be asked for `operation_timeout`; [`ErrorKind::OutcomeUnknown`] when
    /// it was asked and did not answer: what it delivered all the same goes back in the background, and does not count.
    /// [`ErrorKind::WrongType`], [`ErrorKind::NoPermission`], [`ErrorKind::OutOfMemory`], [`ErrorKind::Unsupported`] and
    /// [`ErrorKind::Server`] as the server says; [`ErrorKind::Clock`] when its clock jumps back and forth;
    /// [`ErrorKind::Closed`], [`ErrorKind::Forked`] and [`ErrorKind::Internal`] as the client has ended.
    ///
    /// # Cancel safety
    /// Dropping the future at any point takes no job: one that was delivered meanwhile goes back, and does not count.
    pub async fn take(&self) -> Result<Delivery> {
        let taken = self.take_for(Wait::Forever).await?;
        taken.ok_or_else(|| Error::new(ErrorKind::Internal, Take::OP, "an endless wait has ended").on(self.key()))
    }

    /// Takes the first job that is due now; `None` when there is none, or others wait in front.
    ///
    /// # Errors and cancel safety
    /// As [`Queue::take`].
    pub async fn try_take(&self) -> Result<Option<Delivery>> {
        self.take_for(Wait::Try).await
    }

    /// Takes the first job that is due, waiting at most `wait`; `None` when there was none in time.
    ///
    /// # Errors
    /// As [`Queue::take`]; [`ErrorKind::Connection`] when the server could not be asked within a wait of 100 ms or more.
    ///
    /// # Cancel safety
    /// As [`Queue::take`].
    pub async fn take_timeout(&self, wait: Duration) -> Result<Option<Delivery>> {
        self.take_for(Wait::For(wait)).await
    }

    /// Takes the first job that is due, waiting as `wait` says.
    ///
    /// # Errors and cancel safety
    /// As [`Queue::take_timeout`].
    pub async fn take_for(&self, wait: Wait) -> Result<Option<Delivery>> {
        if self.then.is_empty() {
            return self.take_alone(wait).await;
        }
        let (clock, asked_at) = (&self.client().clock, self.client().clock.now());
        for queue in self.in_order() {
            if let Some(delivery) = queue.take_alone(Wait::Try).await? {
                return Ok(Some(delivery));
            }
        }
        let left = match wait {
            Wait::For(wait) => Wait::For(wait.saturating_sub(clock.now().since(asked_at))),
            wait => wait,
        };
        match left.until(asked_at) {
            None => Ok(None),
            Some(_) => self.take_from_any(left).await,
        }
    }

    /// Waits for all queues; of those that have a job at the same time the first gives it.
    async fn take_from_any(&self, wait: Wait) -> Result<Option<Delivery>> {
        let mut takes: Vec<_> = self.in_order().map(|queue| Some(Box::pin(queue.take_alone(wait)))).collect();
        poll_fn(|context| {
            for take in &mut takes {
                match take.as_mut().map(|take| take.as_mut().poll(context)) {
                    None | Some(Poll::Pending) => {}
                    // Its wait is over, and those of the others soon.
                    Some(Poll::Ready(Ok(None))) => *take = None,
                    Some(Poll::Ready(taken)) => return Poll::Ready(taken),
                }
            }
            if takes.iter().all(Option::is_none) { Poll::Ready(Ok(None)) } else { Poll::Pending }
        })
        .await
    }

    async fn take_alone(&self, wait: Wait) -> Result<Option<Delivery>> {
        let term = self.term()?;
        let asked_at = self.client().clock.now();
        self.shared.check_open(Take::OP)?;
        let caller = Caller::new(&self.shared, HolderId::fresh(), term, asked_at);
        let granted = match wait.until(asked_at) {
            None => caller.once().await,
            Some(deadline) => caller.until(deadline).await,
        };
        match granted {
            Ok(grant) => self.delivery(grant).map(Some),
            Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes up to `most` jobs, 1 to 100: those that are due now, or the first one that is, waiting as `wait` says.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] for the number; else as [`Queue::take_timeout`].
    ///
    /// # Cancel safety
    /// As [`Queue::take`].
    pub async fn take_many(&self, most: usize, wait: Wait) -> Result<Vec<Delivery>> {
        if !(1..=MAX_TAKEN).contains(&most) {
            let given = format_args!("{most} jobs at once are out of range");
            let allowed = format!("1 to {MAX_TAKEN}");
            return Err(Error::refused(ErrorKind::InvalidArgument, Take::OP, given, allowed).on(self.key()));
        }
        let mut taken = Unseen(self.take_now(most).await?);
        if !taken.0.is_empty() || wait == Wait::Try {
            return Ok(mem::take(&mut taken.0));
        }
        taken.0.extend(self.take_for(wait).await?);
        if !taken.0.is_empty() && most > 1 {
            // What follows is a bonus: what is taken already is not given up for an error.
            taken.0.extend(self.take_now(most - 1).await.unwrap_or_default());
        }
        Ok(mem::take(&mut taken.0))
    }

    /// Takes those that are due now, from one queue after the other.
    async fn take_now(&self, most: usize) -> Result<Vec<Delivery>> {
        let mut taken = Unseen(Vec::new());
        for queue in self.in_order() {
            if taken.0.len() < most {
                taken.0.extend(queue.take_now_alone(most - taken.0.len()).await?);
            }
        }
        Ok(mem::take(&mut taken.0))
    }

    /// The jobs of these deliveries are done: removes them from the queue, by one request for each 100. In their order what
    /// [`Delivery::ack`] would say of each; [`ErrorKind::InvalidArgument`] of all when one is of another queue than this and those
    /// that follow it, and then all of these jobs go back.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop it.
    ///
    /// ```
    /// # use libdlock::{Client, Wait};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> libdlock::Result<()> {
    /// # let client = Client::connect("memory://").await?;
    /// let mails = client.queue("mails")?;
    /// mails.put_many(["to: ada", "to: grace"]).await?;
    /// let deliveries = mails.take_many(100, Wait::Forever).await?;
    /// for done in mails.ack_many(deliveries).await {
    ///     done?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn ack_many(&self, deliveries: impl IntoIterator<Item = Delivery>) -> Vec<Result<()>> {
        let deliveries: Vec<Delivery> = deliveries.into_iter().collect();
        self.ack_each(&deliveries.iter().collect::<Vec<_>>()).await
    }

    /// As [`Queue::ack_many`], of deliveries that their work may still have at hand.
    pub(crate) async fn ack_each(&self, deliveries: &[&Delivery]) -> Vec<Result<()>> {
        let is_of = |queue: &Queue, delivery: &Delivery| delivery.is_of(&queue.shared);
        if self.then.is_empty() || !deliveries.iter().all(|each| self.in_order().any(|queue| is_of(queue, each))) {
            return Delivery::ack_each(&self.shared, deliveries).await;
        }
        let mut answers: Vec<Option<Result<()>>> = vec![None; deliveries.len()];
        for queue in self.in_order() {
            let of_it: Vec<usize> = (0..deliveries.len()).filter(|at| is_of(queue, deliveries[*at])).collect();
            let each: Vec<&Delivery> = of_it.iter().map(|at| deliveries[*at]).collect();
            for (at, ended) in of_it.into_iter().zip(Delivery::ack_each(&queue.shared, &each).await) {
                answers[at].get_or_insert(ended);
            }
        }
        answers.into_iter().flatten().collect()
    }

    async fn take_now_alone(&self, most: usize) -> Result<Vec<Delivery>> {
        let (term, client) = (self.term()?, self.client());
        let request = || {
            let mut step = super::Jobs::acquire(client, self.shared.name(), term, false, true);
            super::Jobs::acquire_also(client, &mut step, &vec![term; most - 1]);
            step
        };
        let grants = self.shared.ask_for_several(HolderId::fresh(), term, request).await?;
        // All of them, also behind one that is no job: those that nobody gets go back.
        let (mut taken, mut result) = (Unseen(Vec::with_capacity(grants.len())), Ok(()));
        for grant in grants {
            match self.delivery(grant) {
                Ok(delivery) => taken.0.push(delivery),
                Err(error) => result = Err(error),
            }
        }
        result.map(|()| mem::take(&mut taken.0))
    }

    fn term(&self) -> Result<Term> {
        let watchdog_lease = self.options.watchdog_lease.unwrap_or(self.client().options.lease);
        let term = self.options.lease.term(watchdog_lease);
        if let Term::Fixed(lease) = term {
            check_lease(Take::OP, lease).map_err(|error| error.on(self.key()))?;
        }
        Ok(term)
    }

    /// What is no job is not kept: nobody could end it.
    fn delivery(&self, grant: Grant) -> Result<Delivery> {
        let kept = grant.clone();
        Delivery::new(self, grant).inspect_err(|_| {
            if let Some(grant) = self.shared.take_back(kept.token()) {
                self.shared.give_back(&grant, LastHolder::Nobody);
            }
        })
    }
}
