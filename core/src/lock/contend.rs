//! Contending on the server for everybody of this process who waits for one lock.
//!
//! One task for each lock that somebody waits for. It asks, stands in the queue between processes, sleeps until its inbox or
//! its timer says to ask again, and gives what it is granted to the first in line. `tests/model` checks these rules.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::{Attempt, Came};
use super::line::Rest;
use super::release::undo;
use super::shared::{Delivery, LockShared, Obstacle};
use super::step::{self, Acquired, Cancel, Cancelled, Release, Released};
use crate::backend::{Begun, Done, Failed, Subscription, echo_until};
use crate::error::ErrorKind;
use crate::event::Level;
use crate::lease::{GrantSpec, Lease};
use crate::stats::Way;
use crate::task::fault_point;
use crate::time::Tick;
use crate::wait::next_look;

/// The name of the task, for the fault tests.
const TASK: &str = "contender";

/// Attempts that come back stale are repeated at once, but not without end: the server's clock may be jumping.
const STALE_IN_A_ROW: u32 = 3;

/// Ranks in the queue that look often: the head, and the one that will be.
const FRONT: u64 = 2;

/// Whoever stands in the queue says so at least this often, whatever the options say: one that is silent for 15 s is taken
/// for dead.
const LONGEST_SILENCE: Duration = Duration::from_secs(10);

/// How a contender begins.
pub(super) enum First {
    Ask {
        /// A release may have joined the queue.
        queued: bool,
    },
    /// The first attempt was made by the caller.
    Begun(Attempt),
    /// A release has joined the queue, at this rank.
    Joined { rank: u64, sent: Tick },
    /// Nobody waits, but there may be a place in the queue that has to be left.
    Leave,
}

/// What the contender does next.
enum Next {
    Ask,
    /// Until then at the latest.
    Sleep(Tick),
    /// Free a grant that came for nobody.
    GiveBack(Box<Unwanted>),
    /// Nobody waits any more.
    Leave,
    Over,
}

/// A grant that nobody wants any more, and what was asked for.
struct Unwanted {
    step: step::Acquire,
    spec: GrantSpec,
}

struct Contender {
    shared: Arc<LockShared>,
    /// The process may stand in the queue.
    queued: bool,
    /// Somebody had to wait already.
    waited: bool,
    /// The lock's own channel, which a foreign holder's release is told on.
    channel: Option<Subscription>,
    stale: u32,
}

/// Leaves nobody behind, should whoever contends die.
pub(super) struct Guard(Option<Arc<LockShared>>);

impl Guard {
    pub(super) fn new(shared: &Arc<LockShared>) -> Guard {
        Guard(Some(shared.clone()))
    }

    pub(super) fn disarm(&mut self) {
        self.0 = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(shared) = &self.0 {
            shared.cut_off();
        }
    }
}

/// Starts the contender of a line whose phase has just become [`Phase::Contending`].
pub(super) fn start(shared: &Arc<LockShared>, first: First) {
    let shared = shared.clone();
    let tasks = shared.client().tasks.clone();
    tasks.spawn_operation(async move {
        let mut guard = Guard::new(&shared);
        let queued = !matches!(first, First::Ask { queued: false });
        let contender = Contender { shared, queued, waited: queued, channel: None, stale: 0 };
        contender.run(first).await;
        guard.disarm();
    });
}

/// Starts a contender for what a line has left to do.
pub(super) fn go_on(shared: &Arc<LockShared>, rest: Rest) {
    match rest {
        Rest::Idle => {}
        Rest::Waiting => start(shared, First::Ask { queued: false }),
        Rest::Queued => start(shared, First::Leave),
    }
}

impl Contender {
    async fn run(mut self, first: First) {
        let mut next = match first {
            First::Ask { .. } => Next::Ask,
            First::Begun(Attempt { kind, step, sent, came: Came::Outcome(outcome) }) => {
                self.came(kind, &step, sent, outcome)
            }
            First::Begun(Attempt { kind, step, sent, came: Came::Nothing(begun) }) => {
                self.send(kind, step, sent, Some(begun)).await
            }
            First::Joined { rank, sent } => self.joined(rank, sent),
            First::Leave => Next::Leave,
        };
        loop {
            next = match next {
                Next::Ask => self.ask().await,
                Next::Sleep(until) => self.sleep(until).await,
                Next::GiveBack(unwanted) => self.give_back(*unwanted).await,
                Next::Leave => self.leave().await,
                Next::Over => return,
            };
        }
    }

    async fn ask(&mut self) -> Next {
        fault_point(TASK);
        let (kind, alone) = {
            let mut line = self.shared.line();
            // What is asked for now is newer than any message so far.
            if line.wanted().is_some() {
                line.take_mail();
            }
            (line.wanted(), line.len() < 2)
        };
        let Some(kind) = kind else { return Next::Leave };
        let (step, sent) = (self.shared.acquire_step(kind, true, alone), self.shared.client().clock.now());
        self.send(kind, step, sent, None).await
    }

    async fn send(&mut self, kind: Lease, step: step::Acquire, sent: Tick, begun: Option<Begun>) -> Next {
        let shared = &self.shared;
        let client = shared.client();
        let outcome = client.backend.run_from(shared.name(), &step, client.operation_deadline(), begun).await;
        self.came(kind, &step, sent, outcome)
    }

    fn came(&mut self, kind: Lease, step: &step::Acquire, sent: Tick, outcome: Result<Done<Acquired>, Failed>) -> Next {
        self.shared.undo_unless_granted(step, &outcome);
        match outcome {
            Ok(done) => self.answered(kind, step, sent, done),
            Err(failed) => self.failed(failed),
        }
    }

    fn answered(&mut self, kind: Lease, step: &step::Acquire, sent: Tick, done: Done<Acquired>) -> Next {
        if !matches!(done.reply, Acquired::Stale { .. }) {
            self.stale = 0;
        }
        match done.reply {
            Acquired::Granted { token, .. } => self.granted(kind, step, token, &done),
            Acquired::Stale { .. } if self.stale < STALE_IN_A_ROW => {
                self.stale += 1;
                Next::Ask
            }
            Acquired::Stale { .. } => {
                self.shared.refuse_all(&self.shared.stale());
                Next::Leave
            }
            Acquired::Busy { ttl, holder, rank, .. } => {
                let rank = rank.unwrap_or(FRONT);
                self.listen(rank == 0 && !is_ours(&holder));
                self.in_the_way(Obstacle::Holder { holder, ttl });
                self.queue_up(ttl, self.interval(rank), sent)
            }
            Acquired::NotYourTurn { .. } => {
                self.listen(false);
                self.in_the_way(Obstacle::Queue);
                // The head may be dead, and so may those be who follow it: whoever has seen that sees to it, at any rank.
                self.queue_up(-1, self.shared.client().options.poll_interval, sent)
            }
        }
    }

    fn in_the_way(&mut self, obstacle: Obstacle) {
        self.waited = true;
        self.shared.set_obstacle(Some(obstacle));
    }

    /// Listens to the inbox, and to the lock's own channel while the head waits for a foreign holder, who tells nowhere else.
    fn listen(&mut self, foreign: bool) {
        self.shared.listen();
        match (foreign, &self.channel) {
            (false, _) => self.channel = None,
            (true, Some(_)) => {}
            (true, None) => self.channel = Some(self.shared.listen_on_channel()),
        }
    }

    /// How often a process at that rank looks while somebody holds the lock.
    fn interval(&self, rank: u64) -> Duration {
        let options = &self.shared.client().options;
        if rank < FRONT { options.poll_interval } else { options.queue_poll_interval }
    }

    /// The process has a place in the queue, and looks again when the lease in the way is over or the interval is.
    fn queue_up(&mut self, ttl: i64, interval: Duration, sent: Tick) -> Next {
        self.queued = true;
        let mail = {
            let mut line = self.shared.line();
            // This answer is newer than what may have cost an older place.
            line.settle_leaving();
            line.take_mail()
        };
        // `next` counts as well: the answer may be older than the message.
        if mail.ask || mail.next {
            return Next::Ask;
        }
        // Counted from the sending: a process that was stopped must not sleep on an answer of then.
        Next::Sleep(sent.plus(next_look(ttl, interval.min(LONGEST_SILENCE))))
    }

    fn joined(&mut self, rank: u64, sent: Tick) -> Next {
        // Nobody tells who is first that he is, and nobody could before the inbox is heard.
        if rank == 0 || self.shared.listen() {
            return Next::Ask;
        }
        self.queue_up(-1, self.interval(rank), sent)
    }

    async fn sleep(&mut self, until: Tick) -> Next {
        let client = self.shared.client();
        let mut until = until;
        loop {
            {
                let mut line = self.shared.line();
                if line.wanted().is_none() {
                    return Next::Leave;
                }
                let mail = line.take_mail();
                if mail.ask {
                    return Next::Ask;
                }
                if mail.next {
                    let poll = client.options.poll_interval.min(LONGEST_SILENCE);
                    until = until.min(client.clock.now().plus(next_look(-1, poll)));
                }
            }
            tokio::select! {
                biased;
                () = self.shared.noted() => {}
                () = client.clock.sleep_until(until) => return Next::Ask,
            }
        }
    }

    fn granted(&mut self, kind: Lease, step: &step::Acquire, token: u64, done: &Done<Acquired>) -> Next {
        let way = if self.queued {
            Way::Remote
        } else if self.waited {
            Way::Waited
        } else {
            Way::AtOnce
        };
        self.queued = false;
        self.channel = None;
        let spec = self.shared.grant_spec(kind, step, token, done);
        if spec.is_over(self.shared.client().clock.now()) {
            // This process may have been stopped: neither the server nor the way to it is at fault for good.
            undo(&self.shared, step.owner.clone(), step.lease, done.echo_until);
            return Next::Ask;
        }
        match self.deliver(kind, step, spec, way) {
            Some(spec) => Next::GiveBack(Box::new(Unwanted { step: step.clone(), spec })),
            None => Next::Over,
        }
    }

    /// Gives the grant to the first in line; returns it when nobody wants it, or one of another kind.
    fn deliver(&self, kind: Lease, step: &step::Acquire, spec: GrantSpec, way: Way) -> Option<GrantSpec> {
        let shared = &self.shared;
        let mut line = shared.line();
        let Some(ticket) = line.take_first(kind) else { return Some(spec) };
        let tenure = shared.tenure(kind, step, &spec);
        line.hold(tenure);
        drop(line);
        shared.set_obstacle(None);
        let grant = shared.admit(spec);
        ticket.deliver(Delivery::new(shared, grant, way));
        None
    }

    async fn give_back(&mut self, Unwanted { step, spec }: Unwanted) -> Next {
        let client = self.shared.client();
        let rejoin = self.shared.line().wanted().is_some();
        let sent = client.clock.now();
        let release = Release { owner: step.owner.clone(), rejoin };
        let freed = client.backend.run(self.shared.name(), &release, sent.plus(step.lease)).await;
        if spec.echo_until.is_some() {
            undo(&self.shared, step.owner, step.lease, spec.echo_until);
        }
        self.queued = rejoin;
        match freed {
            Ok(Done { reply: Released::Freed { rank: Some(rank), .. }, .. }) => self.joined(rank, sent),
            _ => Next::Ask,
        }
    }

    fn failed(&mut self, failed: Failed) -> Next {
        let shared = &self.shared;
        // Its bytes may have joined the queue, and so may those of the attempt before it.
        self.queued |= failed.echo_until.is_some();
        self.waited = true;
        if !passes(failed.error.kind()) {
            shared.refuse_all(&failed.error);
            return Next::Leave;
        }
        // A timed wait rides through an outage until its own deadline; an endless one may not hang.
        shared.refuse(&failed.error, |ticket| ticket.is_endless());
        shared.set_obstacle(Some(Obstacle::Outage(failed.error)));
        let client = shared.client();
        let pause = next_look(-1, client.options.poll_interval.min(Duration::from_millis(100)));
        Next::Sleep(client.clock.now().plus(pause))
    }

    /// Nobody waits any more: leaves the queue.
    async fn leave(&mut self) -> Next {
        let shared = self.shared.clone();
        let client = shared.client();
        self.channel = None;
        let owed = {
            let mut line = shared.line();
            // What a message said of a place is settled by this, too.
            line.take_mail();
            line.settle_leaving()
        };
        if std::mem::take(&mut self.queued) | owed {
            let step = Cancel { client: client.id().to_owned() };
            let left = client.backend.run(shared.name(), &step, client.operation_deadline()).await;
            if left.as_ref().is_ok_and(|done| matches!(done.reply, Cancelled::Stale { .. }))
                && self.stale < STALE_IN_A_ROW
            {
                self.stale += 1;
                self.queued = true;
                return Next::Leave;
            }
            // Bytes of an unanswered one may yet take the place of somebody who comes after it.
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

/// Whether an owner is a client of libdlock: its id is a UUID of version 8.
fn is_ours(owner: &str) -> bool {
    owner.as_bytes().get(14) == Some(&b'8') && owner.as_bytes().get(36) == Some(&b':')
}

/// Errors that a server gets over.
fn passes(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Connection | ErrorKind::OutcomeUnknown | ErrorKind::Server)
}
