//! Contending on the server for all waiters of this process for one object.
//!
//! One task for each object that somebody waits for. It asks, stands in the queue between processes, sleeps until its inbox or
//! its timer says to ask again, and gives what it is granted to the first in line. `tests/model` checks these rules.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OwnedSemaphorePermit;

use super::cut_off::CutOffOnDrop;
use super::delivery::Delivery;
use super::line::Rest;
use super::object::{Contended, Obstacle};
use super::outcome::{AcquireOutcome, TOO_LATE_IN_A_ROW, more_than_there_is};
use super::owed::undo;
use super::sleep::SleepPlan;
use super::sleepers::Alarm;
use super::{AcquireStep, Acquired, Cancelled, Primitive, Released, Wanted, pace};
use crate::backend::{Done, Failed, Subscription, echo_until};
use crate::error::ErrorKind;
use crate::event::Level;
use crate::lease::{GrantKind, GrantSpec};
use crate::stats::Way;
use crate::step::Step;
use crate::task::fault_point;
use crate::time::Tick;

/// The name of the task, for the fault tests.
const TASK: &str = "contender";

/// Within this time waiters of several servers begin an attempt, so that they do not all ask at once.
const JITTER: Duration = Duration::from_millis(3);

/// How a contender begins.
pub(super) enum First<P: Primitive> {
    Ask {
        /// A release may have joined the queue.
        queued: bool,
    },
    /// The first request was made by the caller.
    Begun(AcquireOutcome<P>),
    /// A release has joined the queue, at this rank.
    Joined { rank: u64, sent: Tick },
    /// Nobody waits, but there may be a place in the queue to leave.
    Leave,
}

/// What the contender does next.
pub(super) enum Next<P: Primitive> {
    Ask,
    /// Until a message or the looker says otherwise.
    Sleep(SleepPlan),
    /// Free a grant that nobody wants.
    GiveBack(Box<Unwanted<P>>),
    /// Nobody waits any more.
    Leave,
    Over,
}

/// A grant that nobody wants any more, and what was asked for.
pub(super) struct Unwanted<P: Primitive> {
    step: P::Acquire,
    spec: GrantSpec,
}

pub(super) struct Contender<P: Primitive> {
    pub(super) shared: Arc<Contended<P>>,
    /// The process may stand in the queue.
    pub(super) queued: bool,
    /// A caller had to wait already.
    pub(super) waited: bool,
    /// The object's own channel, where a foreign holder announces a release.
    pub(super) channel: Option<Subscription>,
    /// Held until the answer is there, by one of many contenders that ask at once.
    pub(super) turn: Option<OwnedSemaphorePermit>,
    /// How many acquires in a row came too late.
    too_late: u32,
    /// How many cancels in a row did.
    late_cancels: u32,
    /// The number of permits that its last request wanted and the queue keeps room for; not known after a request that failed.
    pub(super) kept: Option<u32>,
}

/// Starts the contender of a line whose phase has just become [`Phase::Contending`].
pub(super) fn start<P: Primitive>(shared: &Arc<Contended<P>>, first: First<P>) {
    let shared = shared.clone();
    let tasks = shared.client().tasks.clone();
    tasks.spawn_operation(async move {
        let mut guard = CutOffOnDrop::new(&shared);
        let queued = !matches!(first, First::Ask { queued: false });
        let contender = Contender {
            shared,
            queued,
            waited: queued,
            channel: None,
            turn: None,
            too_late: 0,
            late_cancels: 0,
            kept: None,
        };
        contender.run(first).await;
        guard.disarm();
    });
}

/// Starts a contender for what a line has left to do.
pub(super) fn go_on<P: Primitive>(shared: &Arc<Contended<P>>, rest: Rest) {
    match rest {
        Rest::Idle => {}
        Rest::Waiting => start(shared, First::Ask { queued: false }),
        Rest::Queued => start(shared, First::Leave),
    }
}

impl<P: Primitive> Contender<P> {
    async fn run(mut self, first: First<P>) {
        let mut next = match first {
            First::Ask { .. } => Next::Ask,
            First::Begun(outcome) => self.came(outcome),
            First::Joined { rank, sent } => self.joined(rank, sent),
            First::Leave => Next::Leave,
        };
        loop {
            next = match next {
                Next::Ask => self.ask().await,
                Next::Sleep(plan) => self.sleep(plan).await,
                Next::GiveBack(unwanted) => self.give_back(*unwanted).await,
                Next::Leave => self.leave().await,
                Next::Over => return,
            };
        }
    }

    async fn ask(&mut self) -> Next<P> {
        fault_point(TASK);
        if self.waited && !self.shared.has_queue() {
            // All waiters heard the same message.
            let clock = &self.shared.client().clock;
            clock.sleep_until(clock.now().plus(JITTER.mul_f64(fastrand::f64()))).await;
        }
        let (wanted, others, alone) = {
            let mut line = self.shared.line();
            // The request is newer than any message so far.
            if line.wanted().is_some() {
                line.take_mail();
            }
            (line.wanted(), line.wanted_behind(P::AT_ONCE - 1), line.len() < 2)
        };
        let Some(wanted) = wanted else {
            self.turn = None;
            return Next::Leave;
        };
        let client = self.shared.client();
        let (mut step, mut others, sent) =
            (P::acquire(client, self.shared.name(), wanted, true, alone), others, client.clock.now());
        others.truncate(P::acquire_also(client, &mut step, &others));
        let outcome = self.shared.send_acquire(&step, client.operation_deadline(), Tick::NEVER).await;
        self.turn = None;
        self.came(AcquireOutcome { wanted, others, step, sent, outcome })
    }

    fn came(&mut self, came: AcquireOutcome<P>) -> Next<P> {
        let AcquireOutcome { wanted, mut others, step, sent, outcome } = came;
        if !others.is_empty() {
            others.insert(0, wanted);
            return self.came_for_several(&others, &step, sent, outcome);
        }
        self.shared.undo_unless_granted(&step, &outcome);
        match outcome {
            Ok(done) => self.answered(wanted, &step, sent, done),
            Err(failed) => self.failed(failed, sent),
        }
    }

    pub(super) fn answered(
        &mut self,
        wanted: P::Wanted,
        step: &P::Acquire,
        sent: Tick,
        done: Done<Acquired>,
    ) -> Next<P> {
        if !matches!(done.reply, Acquired::TooLate { .. }) {
            self.too_late = 0;
            self.kept = Some(wanted.permits());
        }
        match done.reply {
            Acquired::Granted { token, .. } => self.granted(wanted, step, token, &done),
            Acquired::TooLate { .. } if self.too_late < TOO_LATE_IN_A_ROW => {
                self.too_late += 1;
                Next::Ask
            }
            Acquired::TooLate { .. } => {
                self.shared.refuse_all(&self.shared.too_late(P::Acquire::OP));
                Next::Leave
            }
            Acquired::Busy { ttl, holder, rank, .. } => self.busy(ttl, holder, rank.unwrap_or(u64::MAX), sent, sent),
            Acquired::MoreThanThereIs { total, .. } => {
                self.shared.refuse_first(wanted, &more_than_there_is(P::Acquire::OP, total));
                Next::Ask
            }
            Acquired::NotYourTurn { .. } | Acquired::Several { .. } => {
                self.listen(false);
                self.in_the_way(Obstacle::Queue);
                // The head may be dead, and so may the waiters behind it: any waiter that sees this drops them, at any rank.
                self.queue_up(-1, 0, sent, sent)
            }
        }
    }

    /// How a caller came to what is granted now.
    pub(super) fn way(&self) -> Way {
        match (self.queued, self.waited) {
            (true, _) => Way::Remote,
            (false, true) => Way::Waited,
            (false, false) => Way::AtOnce,
        }
    }

    /// A grant ends the process's place in the queue.
    pub(super) fn was_granted(&mut self) {
        self.queued = false;
        self.channel = None;
        self.too_late = 0;
    }

    fn granted(&mut self, wanted: P::Wanted, step: &P::Acquire, token: u64, done: &Done<Acquired>) -> Next<P> {
        let way = self.way();
        self.was_granted();
        let spec = self.shared.grant_spec(wanted.term(), step, (token, 0), done);
        if spec.is_over() {
            // This process may have been stopped: asking again can succeed.
            undo(&self.shared, step.owner(), step.lease(), done.echo_until);
            return Next::Ask;
        }
        match self.deliver(wanted, step, spec, way) {
            // No release of it rejoins the queue. Dropping it gives it back.
            Some(spec) if !P::Renew::LEASED => {
                drop(Delivery::new(&self.shared, self.shared.admit(spec), way));
                Next::Ask
            }
            Some(spec) => Next::GiveBack(Box::new(Unwanted { step: step.clone(), spec })),
            None if P::ONE_GRANT_ENDS => Next::Over,
            None => Next::Ask,
        }
    }

    /// Gives the grant to the first in line; returns it when nobody wants it, or something else.
    pub(super) fn deliver(&self, wanted: P::Wanted, step: &P::Acquire, spec: GrantSpec, way: Way) -> Option<GrantSpec> {
        let shared = &self.shared;
        let mut line = shared.line();
        let Some(ticket) = line.take_first(wanted) else { return Some(spec) };
        if P::ONE_GRANT_ENDS {
            line.hold(P::cohort(shared.client(), wanted, step, &spec));
        }
        drop(line);
        shared.set_obstacle(None);
        let grant = shared.admit_all(wanted, spec);
        ticket.deliver(Delivery::new(shared, grant, way));
        None
    }

    async fn give_back(&mut self, Unwanted { step, spec }: Unwanted<P>) -> Next<P> {
        let rejoin = self.shared.line().wanted().is_some() && self.shared.has_queue();
        let sent = self.shared.client().clock.now();
        let freed = self.shared.send_release(&P::release(step.owner(), rejoin)).await;
        // Without an answer it goes on beside those who wait: they are to hear that the server is away.
        if freed.is_err() || spec.echo_until.is_some() {
            undo(&self.shared, step.owner(), step.lease(), spec.echo_until);
        }
        self.queued = rejoin;
        match freed {
            Ok(Done { reply: Released::Freed { rank: Some(rank), .. }, .. }) => self.joined(rank, sent),
            _ => Next::Ask,
        }
    }

    /// What was asked for at `sent` brought no answer.
    pub(super) fn failed(&mut self, failed: Failed, sent: Tick) -> Next<P> {
        let shared = &self.shared;
        // The bytes of this attempt, or of the one before it, may have joined the queue.
        self.queued |= failed.echo_until.is_some();
        (self.waited, self.kept) = (true, None);
        // A failure that is not `away` stays, whatever the kind of its error.
        if !(failed.away && passes(failed.error.kind())) {
            shared.refuse_all(&failed.error);
            return Next::Leave;
        }
        // A timed wait rides through an outage until its own deadline; an endless wait must not hang. One that began after this
        // request is asked for by another: the error would tell it of a time that it has not waited.
        let client = shared.client();
        let since = match shared.has_queue() {
            true => sent,
            // One attempt ends sooner than `operation_timeout`.
            false => sent.minus(client.options.operation_timeout),
        };
        shared.refuse(&failed.error, |ticket| ticket.is_endless_since(since));
        shared.set_obstacle(Some(Obstacle::Outage(failed.error)));
        let pause = pace::next_poll(-1, client.options.poll_interval.min(Duration::from_millis(100)));
        Next::Sleep(SleepPlan { alarm: Alarm::exactly(client.clock.now().plus(pause)), keys_renewed: Tick(0) })
    }

    /// Nobody waits any more: leaves the queue.
    async fn leave(&mut self) -> Next<P> {
        let shared = self.shared.clone();
        let client = shared.client();
        self.channel = None;
        let owed = {
            let mut line = shared.line();
            // Leaving settles what messages said about a place, too.
            line.take_mail();
            line.settle_leaving()
        };
        if mem::take(&mut self.queued) | owed {
            let left = shared.send_cancel().await;
            if left.as_ref().is_ok_and(|done| matches!(done.reply, Cancelled::TooLate { .. }))
                && self.late_cancels < TOO_LATE_IN_A_ROW
            {
                self.late_cancels += 1;
                self.queued = true;
                return Next::Leave;
            }
            self.late_cancels = 0;
            // Bytes of an unanswered cancel may yet take the place of a later caller.
            if let Some(until) = echo_until(&left) {
                shared.look_again_after(until);
            }
            if let Err(failed) = left
                && failed.error.kind() != ErrorKind::Closed
            {
                let message = format!(
                    "the place in the queue could not be left, and is dropped as silent: {}",
                    failed.error.message()
                );
                client.events.emit(Level::Warn, Some(shared.name().as_str()), message);
            }
        }
        shared.set_obstacle(None);
        let rest = shared.line().rest();
        match rest {
            Rest::Idle => Next::Over,
            Rest::Waiting => Next::Ask,
            Rest::Queued => {
                self.queued = true;
                Next::Leave
            }
        }
    }
}

/// Whether a server recovers from errors of this kind.
fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Connection | ErrorKind::OutcomeUnknown | ErrorKind::Server)
}
