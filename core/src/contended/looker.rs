//! Looks at the objects that this client waits for, many in one script: one task for all contenders that sleep.
//!
//! A contender that has to look again soon is taken along by one whose time has come. A client that waits for few objects has
//! each contender ask by itself, at its own time; one that waits for very many looks at each less often, as often as keeps its
//! places.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

use super::object::{Contended, Obstacle};
use super::order::{MutexOrder, Ordered, OrderedGuard};
use super::server::ServerHandle;
use super::sleepers::{Alarm, Answered, DueSleeper, Sleepers, WakeReason, Work};
use super::{Look, Looked, LookedAt, Primitive, is_ours, pace};
use crate::backend::Failed;
use crate::config::Options;
use crate::objects::Object;
use crate::task::{Tasks, fault_point};
use crate::time::{Clock, Tick};

/// The name of the task, and of what it starts for each look, for the fault tests.
const TASK: &str = "looker";
const LOOK: &str = "look";

/// What is due within this part of its interval fills up a chunk.
const AHEAD: u32 = 10;

/// A chunk smaller than this is not worth a look: its contenders ask by themselves.
const FEW: usize = 8;

/// How many may ask by themselves in a row, and how soon another may: so 100 in a second. Beyond that small chunks are sent
/// too.
const SINGLES: u32 = 16;
const SINGLE_EVERY: Duration = Duration::from_millis(10);

/// The pause between two looks: 285 in a second, half of it when the looker is late by `BEHIND`. So a client that looks at
/// everything at once, after a reconnect, leaves the server time for others.
const PACE: Duration = Duration::from_micros(3_500);
const BEHIND: Duration = Duration::from_millis(300);

/// How many pauses a looker that was woken late may make up for.
const MADE_UP: u32 = 4;

/// A client that waits for more than this a second looks less often than its options say.
const LOCKS_PER_SECOND: u32 = 20_000;

/// How long the queue's keys may go without a new time to live.
const KEEP: Duration = Duration::from_millis(pace::KEEP_MS);

/// How many contenders ask at a time after a look did not find their objects held.
const ASKING: usize = 64;

/// How long a contender waits for its turn to ask before it sleeps, and is looked for, again.
const TURN: Duration = Duration::from_millis(500);

/// Clones share one task.
pub(super) struct Looker<P: Primitive>(Arc<Shared<P>>);

struct Shared<P: Primitive> {
    sleepers: Ordered<Sleepers<Contended<P>>>,
    changed: Notify,
    asking: Arc<Semaphore>,
    clock: Clock,
    client: Arc<str>,
    /// How often the first two of a queue look, and those behind them.
    intervals: [Duration; 2],
    operation_timeout: Duration,
    /// The server has confirmed the client's inbox, and the connection is there.
    hears: AtomicBool,
}

/// A contender's entry among the sleepers; dropping it removes the entry.
pub(super) struct SleeperEntry<P: Primitive> {
    looker: Looker<P>,
    id: u64,
}

impl<P: Primitive> Clone for Looker<P> {
    fn clone(&self) -> Self {
        Looker(self.0.clone())
    }
}

impl<P: Primitive> Drop for SleeperEntry<P> {
    fn drop(&mut self) {
        self.looker.0.lock().remove(self.id);
    }
}

impl<P: Primitive> SleeperEntry<P> {
    /// Why the looker has woken the contender since it was last asked.
    pub(super) fn take_reason(&self) -> Option<WakeReason> {
        self.looker.0.lock().take_reason(self.id)
    }

    /// Has the looker look at `at` at the latest. False when the contender was woken for a reason that it has not taken.
    pub(super) fn hurry(&self, at: Tick) -> bool {
        let (wake, woken) = {
            let mut sleepers = self.looker.0.lock();
            (sleepers.hurry(self.id, at), sleepers.is_woken(self.id))
        };
        self.looker.0.wake_if(wake);
        !woken
    }
}

impl<P: Primitive> Looker<P> {
    pub(super) fn new(clock: Clock, client: &str, options: &Options) -> Looker<P> {
        Looker(Arc::new(Shared {
            sleepers: Ordered::new(MutexOrder::Sleepers),
            changed: Notify::new(),
            asking: Arc::new(Semaphore::new(ASKING)),
            clock,
            client: client.into(),
            intervals: [pace::at_the_front(options), pace::at_rank(pace::FRONT, options)],
            operation_timeout: options.operation_timeout,
            hears: AtomicBool::new(false),
        }))
    }

    pub(super) fn start(&self, server: ServerHandle, tasks: &Tasks) {
        let (looker, its_tasks) = (self.clone(), tasks.clone());
        tasks.spawn_vital(TASK, async move { looker.run(server, its_tasks).await });
    }

    /// True when the server has confirmed the client's inbox; false when it refused it, or the connection for messages broke.
    /// Without an inbox no contender sleeps for longer than a queue head does.
    pub(super) fn set_hears(&self, hears: bool) {
        self.0.hears.store(hears, Ordering::Relaxed);
        if !hears {
            let soon = self.0.clock.now().plus(self.0.intervals[0]);
            let wake = self.0.lock().hurry_all(soon);
            self.0.wake_if(wake);
        }
    }

    /// When a contender looks again whose request of `sent` was answered: held for `ttl`, its process at `rank`.
    pub(super) fn alarm(&self, ttl: i64, rank: u64, sent: Tick) -> Alarm {
        let crowd = self.0.lock().len();
        self.0.alarm(crowd, ttl, rank, sent)
    }

    /// A contender goes to sleep. `keys_renewed` is when it last renewed the time to live of the queue's keys; `foreign` says that it
    /// listens for a foreign holder.
    pub(super) fn enter(
        &self,
        object: &Arc<Contended<P>>,
        alarm: Alarm,
        keys_renewed: Tick,
        foreign: bool,
    ) -> SleeperEntry<P> {
        object.open_slot_inbox();
        let (id, wake) = self.0.lock().enter(object.clone(), alarm, keys_renewed, foreign);
        self.0.wake_if(wake);
        SleeperEntry { looker: self.clone(), id }
    }

    /// The turn to ask, for one of many contenders that a look has told to. `None`: too many ask, or the server does not
    /// answer.
    pub(super) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        let until = self.0.clock.now().plus(TURN);
        tokio::select! {
            // Nobody closes the semaphore.
            turn = self.0.asking.clone().acquire_owned() => turn.ok(),
            () = self.0.clock.sleep_until(until) => None,
        }
    }

    async fn run(self, server: ServerHandle, tasks: Tasks) {
        let shared = &self.0;
        // Looks, and contenders that ask by themselves, as a bucket with a level in time.
        let (mut ready, mut singles_spent) = (Tick(0), Tick(0));
        loop {
            fault_point(TASK);
            let next = shared.lock().arm();
            tokio::select! {
                () = shared.clock.sleep_until(next) => {}
                () = shared.changed.notified() => continue,
            }
            if shared.clock.now() < ready {
                shared.clock.sleep_until(ready).await;
            }
            let now = shared.clock.now();
            singles_spent = singles_spent.max(now.minus(SINGLE_EVERY * SINGLES));
            let singles = now.since(singles_spent).as_millis() / SINGLE_EVERY.as_millis();
            // A statement of its own: nothing below runs, or is dropped, under the lock.
            let work = shared.lock().take(now, P::Looks::CHUNK, FEW, singles as usize, KEEP);
            match work {
                Work::Nothing => {}
                Work::Few(objects) => {
                    singles_spent = singles_spent.plus(SINGLE_EVERY * objects.len() as u32);
                    objects.iter().for_each(|object| object.wake_contender());
                }
                Work::Many { chunk, late } => {
                    let pace = if late < BEHIND { PACE } else { PACE / 2 };
                    ready = ready.max(now.minus(PACE * MADE_UP)).plus(pace);
                    for chunk in by_batch(&server, chunk) {
                        let (looker, server) = (self.clone(), server.clone());
                        tasks.spawn(async move { looker.look(&server, chunk).await });
                    }
                }
            }
        }
    }

    /// Sends one script.
    async fn look(&self, server: &ServerHandle, chunk: Vec<DueSleeper<Contended<P>>>) {
        let shared = &self.0;
        let mut looked_for = LookedFor { shared, chunk };
        fault_point(LOOK);
        let sent = shared.clock.now();
        let of = |due: &DueSleeper<Contended<P>>| (due.object.name().clone(), Look::new(&shared.client, due.keep));
        let items = looked_for.chunk.iter().map(of).collect();
        let deadline = sent.plus(shared.operation_timeout);
        let looked = server.send_looks::<P>(items, deadline).await;
        match looked.map_err(|failed| failed.naming_timeout(shared.operation_timeout, deadline, shared.clock.now())) {
            Ok(done) => {
                shared.answered(&looked_for.chunk, done.reply, sent);
                looked_for.chunk.clear();
            }
            Err(Failed { error, away: true, .. }) => {
                looked_for.tell(|| WakeReason::Failed { error: error.clone(), sent });
            }
            // One of the names may be the cause: its own acquire will say so.
            Err(_) => {}
        }
    }
}

/// Only here is decided which names go together: on a cluster, those of one slot.
fn by_batch<P: Primitive>(
    server: &ServerHandle,
    mut chunk: Vec<DueSleeper<Contended<P>>>,
) -> Vec<Vec<DueSleeper<Contended<P>>>> {
    let batch_of = |due: &DueSleeper<Contended<P>>| server.batch_of(due.object.name());
    chunk.sort_by_key(batch_of);
    let (mut batches, mut last): (Vec<Vec<_>>, _) = (Vec::new(), None);
    for due in chunk {
        let batch = batch_of(&due);
        match batches.last_mut() {
            Some(present) if last == Some(batch) => present.push(due),
            _ => batches.push(vec![due]),
        }
        last = Some(batch);
    }
    batches
}

/// The contenders that a look is on its way for. Dropping this has those without an answer ask by themselves.
struct LookedFor<'a, P: Primitive> {
    shared: &'a Shared<P>,
    chunk: Vec<DueSleeper<Contended<P>>>,
}

impl<P: Primitive> LookedFor<'_, P> {
    fn tell(&mut self, reason: impl Fn() -> WakeReason) {
        let chunk = std::mem::take(&mut self.chunk);
        let woken: Vec<_> = {
            let mut sleepers = self.shared.lock();
            chunk.iter().filter(|due| sleepers.tell(due.id, reason())).collect()
        };
        woken.iter().for_each(|due| due.object.wake_contender());
    }
}

impl<P: Primitive> Drop for LookedFor<'_, P> {
    fn drop(&mut self) {
        self.tell(|| WakeReason::AskInTurn);
    }
}

impl<P: Primitive> Shared<P> {
    fn lock(&self) -> OrderedGuard<'_, Sleepers<Contended<P>>> {
        self.sleepers.lock()
    }

    fn wake_if(&self, wake: bool) {
        if wake {
            self.changed.notify_one();
        }
    }

    /// As [`Looker::alarm`], with so many sleepers.
    fn alarm(&self, crowd: usize, ttl: i64, rank: u64, sent: Tick) -> Alarm {
        // A client without an inbox is not told that it moves up, and other clients take it for dead unless it looks.
        let rank = if self.hears.load(Ordering::Relaxed) { rank } else { 0 };
        let crowded = Duration::from_secs(1) * crowd as u32 / LOCKS_PER_SECOND;
        let usual = self.intervals[usize::from(rank >= pace::FRONT)];
        let poll = pace::next_poll(-1, usual).max(crowded.min(pace::when_crowded(rank)));
        match u64::try_from(ttl).map(|ttl| Duration::from_millis(ttl.saturating_add(1))) {
            Ok(expiry) if expiry < poll => Alarm::exactly(sent.plus(expiry.max(P::SHORTEST_TIMER))),
            _ => Alarm { from: sent.plus(poll - poll / AHEAD), at: sent.plus(poll) },
        }
    }

    fn answered(&self, chunk: &[DueSleeper<Contended<P>>], replies: Vec<Looked>, sent: Tick) {
        let mut woken = Vec::new();
        let mut overtaken = Vec::new();
        let mut sleepers = self.lock();
        let crowd = sleepers.len();
        for (due, looked) in chunk.iter().zip(replies) {
            let is_foreign = |rank, holder: &str| rank == 0 && !is_ours(holder);
            let alarm = |ttl, rank| self.alarm(crowd, ttl, rank, sent);
            match (sleepers.answered(due, &looked, sent, is_foreign, alarm), looked) {
                (Answered::Settled, Looked::Held { ttl, holder, .. }) => {
                    due.object.set_obstacle(Some(Obstacle::Holder { holder, ttl }));
                }
                (Answered::Settled, _) => {}
                (Answered::Wake, _) => woken.push(due),
                (Answered::Overtaken, looked) => overtaken.push((due, looked)),
            }
        }
        drop(sleepers);
        // An answer may have set a time that is earlier than the looker's alarm.
        self.changed.notify_one();
        woken.iter().for_each(|due| due.object.wake_contender());
        for (due, looked) in overtaken {
            // No message tells the process that it is head or next now.
            if !matches!(looked, Looked::Held { rank, .. } if rank >= pace::FRONT) {
                due.object.look_again();
            }
        }
    }
}
