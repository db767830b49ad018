//! One caller that wants the lock: a try, or a place in line until it has it or its time is over.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::HolderId;
use super::attempt::{Attempt, Came, Opened, Tried, Try};
use super::contend::{self, First, Guard};
use super::shared::{Delivery, LockShared, Obstacle, Ticket};
use crate::backend::Directly;
use crate::deadline::by_deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, Lease};
use crate::stats::Waiting;
use crate::time::Tick;
use crate::wait::while_open;

const OP: &str = "acquire";

/// A try that comes back stale is repeated at once, but not without end: the server's clock may be jumping.
const STALE_IN_A_ROW: u32 = 3;

/// Where a request is sent from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Path {
    /// A task of the runtime.
    Runtime,
    /// The caller's thread, for the first attempt.
    Direct,
}

/// One caller that wants the lock.
pub(super) struct Caller<'a> {
    shared: &'a Arc<LockShared>,
    holder: HolderId,
    lease: Lease,
    path: Path,
    asked_at: Tick,
}

/// A caller's place in line; given up when it is dropped.
struct Place<'a> {
    shared: &'a Arc<LockShared>,
    number: u64,
    replied: oneshot::Receiver<Result<Delivery>>,
    waiting: bool,
    _counted: Waiting,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if self.waiting {
            self.shared.client().counters.cancelled();
        }
        let was_last = self.shared.line().leave(self.number);
        if was_last {
            self.shared.wake_contender();
        }
    }
}

impl<'a> Caller<'a> {
    pub(super) fn new(shared: &'a Arc<LockShared>, holder: HolderId, lease: Lease, path: Path) -> Caller<'a> {
        Caller { shared, holder, lease, path, asked_at: shared.client().clock.now() }
    }

    /// One attempt, no waiting.
    pub(super) async fn once(&self) -> Result<Grant> {
        let deadline = self.shared.client().operation_deadline();
        for _ in 0..STALE_IN_A_ROW {
            let obstacle = self.shared.holds().valid().map(local_obstacle);
            if let Some(obstacle) = obstacle {
                return Err(self.out_of_time(Some(&obstacle)));
            }
            match self.while_open(self.attempt(deadline)).await?? {
                Tried::Granted(delivery) => return delivery.accept(OP, self.holder, self.asked_at),
                Tried::Refused(obstacle) => return Err(self.out_of_time(Some(&obstacle))),
                Tried::Stale => {}
                Tried::Late => return Err(self.late()),
            }
        }
        Err(self.shared.stale())
    }

    /// Stands in line until the lock is this caller's or the time is over.
    pub(super) async fn until(&self, deadline: Tick) -> Result<Grant> {
        let begun = self.shared.line().begin_first();
        let (number, first) = match begun {
            None => (None, First::Ask { queued: false }),
            Some(number) => match self.open(deadline).await? {
                Opened::Granted(delivery) => return delivery.accept(OP, self.holder, self.asked_at),
                Opened::Goes(onward) => (Some(number), onward.into_first()),
            },
        };
        let mut place = self.stand(number, deadline, first);
        // Whoever closes the client takes out all who stand in line: this one may have come after that.
        self.shared.check_open(OP)?;
        let replied = by_deadline(&self.shared.client().clock, deadline, &mut place.replied).await;
        place.waiting = false;
        match replied {
            Some(Ok(Ok(delivery))) => delivery.accept(OP, self.holder, self.asked_at),
            Some(Ok(Err(error))) => Err(error),
            Some(Err(_)) => Err(self.cut_off()),
            None => {
                let obstacle = self.shared.holds().valid().map(local_obstacle);
                let first = self.shared.line().is_first(place.number);
                let seen = if first { self.shared.obstacle() } else { Some(Obstacle::Line) };
                Err(self.out_of_time(obstacle.or(seen).as_ref()))
            }
        }
    }

    /// The line's first attempt, made by its first caller. What it does not bring, a contender goes on with.
    async fn open(&self, deadline: Tick) -> Result<Opened> {
        let shared = self.shared;
        let (client, guard) = (shared.client(), Guard::new(shared));
        let (kind, step, sent) = (self.lease, shared.acquire_step(self.lease, true, true), self.asked_at);
        if self.path == Path::Direct {
            let came = match client.backend.run_directly(shared.name(), &step, deadline) {
                Directly::Done(done) => Some(Came::Outcome(Ok(done))),
                Directly::Failed(failed) => Some(Came::Outcome(Err(failed))),
                Directly::Unanswered(begun) => Some(Came::Nothing(begun)),
                Directly::Unavailable => None,
            };
            if let Some(came) = came {
                return Ok(shared.opened(guard, Attempt { kind, step, sent, came }));
            }
        }
        let (shared, until) = (shared.clone(), client.operation_deadline());
        let opening = client.tasks.operation(async move {
            let outcome = shared.client().backend.run(shared.name(), &step, until).await;
            shared.opened(guard, Attempt { kind, step, sent, came: Came::Outcome(outcome) })
        });
        match self.while_open(by_deadline(&client.clock, deadline, opening)).await? {
            Some(Some(opened)) => Ok(opened),
            Some(None) => Err(self.cut_off()),
            // It goes on by itself.
            None => Err(self.out_of_time(None)),
        }
    }

    /// Stands in line, at its number if it came `first`; then it also says how the contender begins.
    fn stand(&self, number: Option<u64>, deadline: Tick, first: First) -> Place<'a> {
        let (ticket, replied) = Ticket::new(deadline == Tick::NEVER);
        let mut line = self.shared.line();
        let contends = number.is_some();
        let number = number.unwrap_or_else(|| line.number());
        let begun = line.stand(number, self.lease, ticket);
        drop(line);
        if begun || contends {
            contend::start(self.shared, first);
        }
        let _counted = self.shared.client().counters.waits();
        Place { shared: self.shared, number, replied, waiting: true, _counted }
    }

    /// Runs something until it completes or the client ends.
    async fn while_open<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        let done = while_open(OP, &self.shared.client().tasks, work).await;
        done.map_err(|error| error.on(self.shared.name().as_str()))
    }

    /// One attempt on the server: whatever becomes of the caller, it is seen through, and what nobody wants any more is given
    /// back. If nobody contends for this process, those who come meanwhile wait for it.
    async fn attempt(&self, deadline: Tick) -> Result<Tried> {
        let shared = self.shared;
        let attempt = Try {
            kind: self.lease,
            step: shared.acquire_step(self.lease, false, true),
            contends: shared.line().begin(),
        };
        let mut begun = None;
        if self.path == Path::Direct {
            match shared.client().backend.run_directly(shared.name(), &attempt.step, deadline) {
                Directly::Done(done) => return shared.tried(attempt, Ok(done)),
                Directly::Failed(failed) => return shared.tried(attempt, Err(failed)),
                Directly::Unanswered(unanswered) => begun = Some(unanswered),
                Directly::Unavailable => {}
            }
        }
        let shared = shared.clone();
        let trying = self.shared.client().tasks.operation(async move {
            let outcome = shared.client().backend.run_from(shared.name(), &attempt.step, deadline, begun).await;
            // When nobody waits for it any more, dropping the grant gives it back.
            shared.tried(attempt, outcome)
        });
        trying.await.unwrap_or_else(|| Err(self.cut_off()))
    }

    fn cut_off(&self) -> Error {
        let message = "the attempt was cut off: its runtime was shut down, or libdlock has a defect";
        Error::new(ErrorKind::Internal, OP, message).on(self.shared.name().as_str())
    }

    /// The error of a caller whose time is over. An answer that is merely on its way is no outage.
    fn out_of_time(&self, obstacle: Option<&Obstacle>) -> Error {
        let client = self.shared.client();
        client.counters.wait_timed_out();
        let waited = client.clock.now().since(self.asked_at);
        let away = client.backend.why_away();
        let (kind, message) = match (obstacle, &away) {
            (Some(Obstacle::Holder { holder, ttl }), _) => {
                let how_long = match u64::try_from(*ttl) {
                    Ok(ttl) => format!("for at most another {:?} unless renewed", Duration::from_millis(ttl)),
                    Err(_) => "without a lease that would run out".to_owned(),
                };
                (ErrorKind::Busy, format!("held by {holder} {how_long}; waited {waited:?}"))
            }
            (Some(Obstacle::Line), _) => {
                (ErrorKind::Busy, format!("others of this process are waiting in front; waited {waited:?}"))
            }
            (Some(Obstacle::Queue), _) => {
                (ErrorKind::Busy, format!("free, but other processes are waiting in front; waited {waited:?}"))
            }
            (Some(Obstacle::Outage(error)), _) | (None, Some(error)) => {
                (error.kind(), format!("{}; waited {waited:?}, this caller holds nothing", error.message()))
            }
            (None, None) if waited < client.options.response_timeout => (
                ErrorKind::Busy,
                format!("{} had not answered yet when the wait of {waited:?} was over", client.target),
            ),
            (None, None) => (
                ErrorKind::Connection,
                format!("{} gave no answer within the wait of {waited:?}; nothing is held", client.target),
            ),
        };
        Error::new(kind, OP, message).on(self.shared.name().as_str())
    }

    fn late(&self) -> Error {
        let message = "the answer took longer than the lease, so the grant was given back; ask for a longer lease";
        Error::new(ErrorKind::Connection, OP, message).on(self.shared.name().as_str())
    }
}

fn local_obstacle(grant: &Grant) -> Obstacle {
    let ttl = grant.remaining().as_millis() as i64;
    Obstacle::Holder { holder: format!("another holder in this process, token {},", grant.token()), ttl }
}
