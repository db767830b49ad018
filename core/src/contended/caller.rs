//! One caller that wants a grant: it tries once, or stands in line until it is granted or its wait is over.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tracing::Span;

use super::Primitive;
use super::acknowledged::Replicas;
use super::contend::{self, First};
use super::cut_off::CutOffOnDrop;
use super::delivery::{Delivery, Ticket};
use super::object::{Contended, Obstacle};
use super::outcome::{AcquireOutcome, NonBlocking, NonBlockingOutcome, Opened, TOO_LATE_IN_A_ROW};
use crate::ended::{cut_off, while_moving, while_open};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, GrantKind, HolderId};
use crate::span;
use crate::stats::Waiting;
use crate::step::Step;
use crate::time::Tick;
use crate::wait::{ON_ITS_WAY, by_deadline};

/// One caller that wants a grant.
pub(crate) struct Caller<'a, P: Primitive> {
    shared: &'a Arc<Contended<P>>,
    holder: HolderId,
    wanted: P::Wanted,
    asked_at: Tick,
}

/// A caller's place in line; given up when it is dropped.
struct Place<'a, P: Primitive> {
    shared: &'a Arc<Contended<P>>,
    number: u64,
    replied: oneshot::Receiver<Result<Delivery<P>>>,
    waiting: bool,
    _counted: Waiting,
}

impl<P: Primitive> Drop for Place<'_, P> {
    fn drop(&mut self) {
        if self.shared.client().tasks.is_forked() {
            return;
        }
        if self.waiting {
            P::Renew::counts(&self.shared.client().counters).cancelled();
        }
        let mut line = self.shared.line();
        let before = line.wanted();
        if line.leave(self.number) {
            self.shared.has_left(line, before);
        }
    }
}

impl<'a, P: Primitive> Caller<'a, P> {
    /// The operation's name in errors.
    const OP: &'static str = P::Acquire::OP;

    pub(crate) fn new(
        shared: &'a Arc<Contended<P>>,
        holder: HolderId,
        wanted: P::Wanted,
        asked_at: Tick,
    ) -> Caller<'a, P> {
        Caller { shared, holder, wanted, asked_at }
    }

    /// One request, no waiting.
    pub(crate) async fn once(&self) -> Result<Grant> {
        self.traced(self.ask_once()).await
    }

    /// Stands in line until a grant comes or the time is over.
    pub(crate) async fn until(&self, deadline: Tick) -> Result<Grant> {
        self.traced(self.wait_until(deadline)).await
    }

    async fn traced(&self, acquiring: impl Future<Output = Result<Grant>>) -> Result<Grant> {
        let told = |span: &Span, grant: &Grant| {
            span.record("outcome", "granted").record("token", grant.token());
        };
        let span = span::acquire(P::KIND, self.shared.name().as_str());
        span::within(span, acquiring, told, |error| error).await
    }

    async fn ask_once(&self) -> Result<Grant> {
        let deadline = self.shared.client().operation_deadline();
        for _ in 0..=TOO_LATE_IN_A_ROW {
            let obstacle = self.shared.obstacle_here(self.wanted);
            if let Some(obstacle) = obstacle {
                return Err(self.out_of_time(Some(&obstacle)));
            }
            match self.while_open(pin!(self.try_once(deadline))).await?? {
                NonBlockingOutcome::Granted(delivery) => return delivery.accept(Self::OP, self.holder, self.asked_at),
                NonBlockingOutcome::Refused(obstacle) => return Err(self.out_of_time(Some(&obstacle))),
                NonBlockingOutcome::TooLate(None) => {}
                NonBlockingOutcome::TooLate(Some(undone)) => {
                    // Else the next request could find the object held by this one.
                    let undone = pin!(undone);
                    let undone = pin!(by_deadline(&self.shared.client().clock, deadline, undone));
                    self.while_open(undone).await?;
                }
                NonBlockingOutcome::LeaseOver(how) => return Err(self.lease_over(&how)),
            }
        }
        Err(self.shared.too_late(Self::OP))
    }

    async fn wait_until(&self, deadline: Tick) -> Result<Grant> {
        let begun = self.shared.line().begin_first();
        let (number, first) = match begun {
            None => (None, First::Ask { queued: false }),
            Some(number) => match self.open(deadline).await? {
                Opened::Granted(delivery) => return delivery.accept(Self::OP, self.holder, self.asked_at),
                Opened::Waits(start) => (Some(number), start.into_first()),
            },
        };
        let mut place = self.stand(number, deadline, first);
        // Closing the client takes out all that stand in line: this caller may have come after that.
        self.shared.check_open(Self::OP)?;
        let clock = &self.shared.client().clock;
        let replied = pin!(by_deadline(clock, deadline, Pin::new(&mut place.replied)));
        let replied = while_moving(Self::OP, Some(clock).filter(|_| deadline != Tick::NEVER), replied).await;
        let replied = replied.map_err(|error| error.on(self.shared.name().as_str()))?;
        place.waiting = false;
        match replied {
            Some(Ok(Ok(delivery))) => delivery.accept(Self::OP, self.holder, self.asked_at),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_)) => Err(self.cut_off()),
            None => {
                let obstacle = self.shared.obstacle_here(self.wanted);
                let first = self.shared.line().is_first(place.number);
                let seen = match self.shared.obstacle() {
                    Some(Obstacle::Holder { .. } | Obstacle::Queue | Obstacle::Replicas(_)) if !first => {
                        Some(Obstacle::Line)
                    }
                    // The server has answered meanwhile, but not for this caller.
                    None if !first && self.heard_since_asked() => Some(Obstacle::Line),
                    seen => seen,
                };
                Err(self.out_of_time(obstacle.or(seen).as_ref()))
            }
        }
    }

    /// The line's first request, made by its first caller. If it brings no grant, a contender goes on with it.
    async fn open(&self, deadline: Tick) -> Result<Opened<P>> {
        let (client, shared, guard) = (self.shared.client(), self.shared.clone(), CutOffOnDrop::new(self.shared));
        let step = P::acquire(client, shared.name(), self.wanted, true, true);
        let (wanted, sent) = (self.wanted, self.asked_at);
        let opening = client.tasks.operation(async move {
            let outcome = shared.send_acquire(&step, shared.client().operation_deadline(), deadline).await;
            shared.opened(guard, AcquireOutcome { wanted, others: Vec::new(), step, sent, outcome })
        });
        let opening = pin!(opening);
        match self.while_open(pin!(by_deadline(&client.clock, deadline, opening))).await? {
            Some(Some(opened)) => Ok(opened),
            Some(None) => Err(self.cut_off()),
            // The operation goes on in a task.
            None => {
                let obstacle = self.shared.obstacle().filter(|seen| matches!(seen, Obstacle::Replicas(_)));
                Err(self.out_of_time(obstacle.as_ref()))
            }
        }
    }

    /// Stands in line. The caller that opened the line has its number already, and starts the contender with `first`.
    fn stand(&self, number: Option<u64>, deadline: Tick, first: First<P>) -> Place<'a, P> {
        let (ticket, replied) = Ticket::new(deadline == Tick::NEVER, self.asked_at);
        let mut line = self.shared.line();
        let contends = number.is_some();
        let number = number.unwrap_or_else(|| line.number());
        let begun = line.stand(number, self.wanted, ticket);
        drop(line);
        if begun || contends {
            contend::start(self.shared, first);
        }
        let _counted = P::Renew::counts(&self.shared.client().counters).waits();
        Place { shared: self.shared, number, replied, waiting: true, _counted }
    }

    /// Runs something until it completes or the client ends.
    async fn while_open<T>(&self, work: Pin<&mut impl Future<Output = T>>) -> Result<T> {
        let done = while_open(Self::OP, &self.shared.client().tasks, work).await;
        done.map_err(|error| error.on(self.shared.name().as_str()))
    }

    /// One request to the server. It is carried through even if the caller goes away, and an unwanted grant is given back. If
    /// nobody contends for this process, callers that come meanwhile wait for it.
    async fn try_once(&self, deadline: Tick) -> Result<NonBlockingOutcome<P>> {
        let (client, shared, wanted) = (self.shared.client(), self.shared.clone(), self.wanted);
        let step = P::acquire(client, shared.name(), wanted, false, true);
        let request = NonBlocking { wanted, step, contends: shared.line().begin() };
        let trying = client.tasks.operation(async move {
            let outcome = shared.send_acquire(&request.step, deadline, deadline).await;
            // If the caller is gone, dropping the grant gives it back.
            shared.non_blocking_done(request, outcome)
        });
        trying.await.unwrap_or_else(|| Err(self.cut_off()))
    }

    fn cut_off(&self) -> Error {
        cut_off(Self::OP, &self.shared.client().tasks, "the attempt").on(self.shared.name().as_str())
    }

    fn heard_since_asked(&self) -> bool {
        self.shared.heard_at() > self.asked_at
    }

    /// The error of a caller whose wait is over. An answer that is merely on its way is no outage.
    pub(super) fn out_of_time(&self, obstacle: Option<&Obstacle>) -> Error {
        let client = self.shared.client();
        P::Renew::counts(&client.counters).wait_timed_out();
        let now = client.clock.now();
        let waited = now.since(self.asked_at);
        // Nothing is asked while a hold of this process is in the way, and the release of that takes its time.
        let asks_since = self.shared.line().asks_since().map(Tick);
        let unanswered = asks_since.map_or(Duration::ZERO, |since| now.since(since.max(self.asked_at)));
        let away = self.shared.why_away();
        let error = |kind, message: String| Error::new(kind, Self::OP, message);
        let error = match (obstacle, &away) {
            (Some(Obstacle::Holder { holder, ttl }), _) => {
                let remaining = u64::try_from(*ttl).ok().map(Duration::from_millis);
                let how_long = match remaining {
                    Some(remaining) => format!(" for at most another {remaining:?} unless renewed"),
                    None if P::Renew::LEASED => " without a lease that would run out".to_owned(),
                    None => String::new(),
                };
                let message = format!("{}{how_long}; waited {waited:?}", P::in_the_way_of(holder));
                match P::is_one_holder(holder) {
                    true => error(ErrorKind::Busy, message).held_by(holder, remaining),
                    // Of several holders none is the one.
                    false => error(ErrorKind::Busy, message),
                }
            }
            (Some(Obstacle::Ours { owner, token, remaining }), _) => {
                let message = format!(
                    "held by another holder in this process, token {token}, for at most another {remaining:?} unless renewed; \
                     waited {waited:?}"
                );
                error(ErrorKind::Busy, message).held_by(owner, Some(*remaining))
            }
            (Some(Obstacle::Line), _) => {
                error(ErrorKind::Busy, format!("others of this process are waiting in front; waited {waited:?}"))
            }
            (Some(Obstacle::Queue), _) => {
                error(ErrorKind::Busy, format!("other processes are waiting in front; waited {waited:?}"))
            }
            (Some(Obstacle::Replicas(required)), _) => {
                let message = format!(
                    "granted, but not yet confirmed by {} (option replicas); waited {waited:?}, the grant is released",
                    Replicas(required.count)
                );
                error(if unanswered < ON_ITS_WAY { ErrorKind::Busy } else { ErrorKind::Server }, message)
            }
            (Some(Obstacle::Outage(outage)), _) | (None, Some(outage)) => {
                let message = format!("{}; waited {waited:?}, this caller holds nothing", outage.message());
                outage.retold(Self::OP, message)
            }
            (None, None) if unanswered < ON_ITS_WAY || self.heard_since_asked() => {
                let message = format!("{} had not answered yet when the wait of {waited:?} was over", client.target);
                error(ErrorKind::Busy, message)
            }
            (None, None) => {
                let message =
                    format!("{} gave no answer within the wait of {waited:?}; nothing is held", client.target);
                error(ErrorKind::Connection, message)
            }
        };
        error.on(self.shared.name().as_str())
    }

    pub(super) fn lease_over(&self, how: &str) -> Error {
        let message = format!("{how}; the grant was given back, ask for a longer lease");
        Error::new(ErrorKind::Connection, Self::OP, message).on(self.shared.name().as_str())
    }
}
