//! Renews everything that this client holds, and tells of every loss in time: one task, earliest deadline first.
//!
//! The task itself does no I/O. It sends renewals in chunks, each a task of its own, so that a server that does not answer
//! delays neither the other chunks nor the lost signal. By which step a hold is renewed, the hold says (`renewal`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use super::due::{AllDue, Chunk, TAKEN_AT_ONCE};
use super::renewal::{Renewal, RenewedBy, ToRenew};
use super::schedule::{Entry, Progress, Schedule};
use super::verify::VerifyPace;
use super::{Grant, LossReason, Renewed, Watch};
use crate::backend::{Backend, Failed};
use crate::event::{Events, Level};
use crate::stats::{Counters, HoldCounts};
use crate::task::{Life, Tasks, fault_point};
use crate::time::{Clock, Tick};

/// The name of the task, for the fault tests.
const TASK: &str = "keeper";

/// So many chunks are on their way to a server at the same time: enough that half a second's way to the server loses nothing of 100,000
/// holds, few enough that a slow server need not answer the last of them before its time is over.
const IN_FLIGHT: usize = 64;

/// As how many chunks one that is heavier than a full one counts at most: a server that is busy with some of these for longer
/// than `response_timeout` would lose them all.
const HEAVIEST: usize = IN_FLIGHT / 4;

/// How long after a renewal that failed the next one is tried: a tenth of the lease, within these.
const SHORTEST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// Clones share one schedule.
#[derive(Clone)]
pub(crate) struct Keeper(Arc<Shared>);

struct Shared {
    schedule: Mutex<Schedule>,
    verify_pace: Mutex<VerifyPace>,
    changed: Notify,
    /// To each server: one that hangs holds up no other's.
    in_flight: Mutex<HashMap<u64, Arc<Semaphore>>>,
    clock: Clock,
    events: Events,
    counters: Arc<Counters>,
}

impl Keeper {
    pub(crate) fn new(clock: Clock, events: Events, counters: Arc<Counters>) -> Keeper {
        Keeper(Arc::new(Shared {
            schedule: Mutex::default(),
            verify_pace: Mutex::default(),
            changed: Notify::new(),
            in_flight: Mutex::default(),
            clock,
            events,
            counters,
        }))
    }

    /// How many holds that are renewed by `R` it looks after.
    pub(crate) fn held<R: Renewal>(&self) -> u64 {
        self.0.lock().count(RenewedBy::of::<R>())
    }

    /// Starts its task.
    pub(crate) fn start(&self, backend: &Arc<Backend>, tasks: &Tasks) {
        let (keeper, backend, its_tasks) = (self.clone(), backend.clone(), tasks.clone());
        tasks.spawn_vital(TASK, async move { keeper.run(backend, its_tasks).await });
        // Whatever ends the client ends what it holds, the end of the task above included.
        let (keeper, its_tasks) = (self.clone(), tasks.clone());
        tasks.spawn(async move {
            let reason = match its_tasks.over().await {
                Life::Failed => LossReason::Internal,
                Life::Open | Life::Closing | Life::ClosingAtOnce | Life::Closed | Life::Forked => LossReason::Closed,
            };
            keeper.end(reason);
        });
    }

    /// Looks after a grant until it is over. To be called again when something about it has changed.
    pub(crate) fn watch(&self, grant: &Grant) {
        let mut schedule = self.0.lock();
        if let Some(reason) = schedule.ended() {
            drop(schedule);
            self.0.lose(grant, reason);
        } else if schedule.put(grant.clone(), Progress::Resting) {
            self.0.changed.notify_one();
        }
    }

    /// Renews a hold at once, to learn whether the server still shows it. What it learns can end the hold; else it is the same
    /// renewal as ever, only sooner, or one that asks for nothing when the watchdog does not renew the hold. Calls in quick
    /// succession make one.
    pub(crate) fn verify(&self, grant: &Grant) {
        grant.tenure().doubt();
        if self.0.lock().hurry(grant.tenure()) {
            self.0.changed.notify_one();
        }
    }

    /// As [`Keeper::verify`], for all holds: at once, or as soon as a second has passed since the last time.
    pub(crate) fn verify_all(&self) {
        self.0.verify_pace().ask();
        if !self.verify_all_if_asked() {
            self.0.changed.notify_one();
        }
    }

    /// Verifies all holds if that was asked for and its time has come.
    fn verify_all_if_asked(&self) -> bool {
        if !self.0.verify_pace().begin(self.0.clock.now()) {
            return false;
        }
        let all = self.0.lock().tenures();
        for some in all.chunks(TAKEN_AT_ONCE) {
            let mut schedule = self.0.lock();
            let late = some.iter().fold(false, |late, tenure| {
                tenure.doubt();
                schedule.hurry(tenure) | late
            });
            drop(schedule);
            if late {
                self.0.changed.notify_one();
            }
        }
        true
    }

    /// Forgets a grant that is over.
    pub(crate) fn forget(&self, grant: &Grant) {
        self.0.lock().take(grant);
    }

    /// Ends a hold as released and begins the next one of the same owner, with another token: what the server knows, and what
    /// is under way to it, is the new grant's from here on. `None`, and nothing is changed, when `grant` is not valid any more.
    ///
    /// Runs nothing of the caller's, so that it can be called under a lock.
    pub(crate) fn hand_over(&self, grant: &Grant, token: u64) -> Option<Grant> {
        let mut schedule = self.0.lock();
        if schedule.ended().is_some() {
            return None;
        }
        // Under one lock: else a loss in between would find neither of the two.
        let next = grant.hand_over(token)?;
        // It stands there no more when it has just been taken out as lost.
        let wake = !schedule.replace(&next) && schedule.put(next.clone(), Progress::Resting);
        drop(schedule);
        grant.was_handed_over();
        if wake {
            self.0.changed.notify_one();
        }
        Some(next)
    }

    /// Ends all holds, those that come later too. The first reason stands.
    pub(crate) fn end(&self, reason: LossReason) {
        let (all, reason) = self.0.lock().end(reason);
        for grant in &all {
            self.0.lose(grant, reason);
        }
    }

    async fn run(self, backend: Arc<Backend>, tasks: Tasks) {
        let mut moves = backend.last_move();
        loop {
            fault_point(TASK);
            let next = self.0.lock().arm();
            let verify_at = self.0.verify_pace().next();
            tokio::select! {
                () = self.0.clock.sleep_until(next) => {}
                () = self.0.clock.sleep_until(verify_at) => drop(self.verify_all_if_asked()),
                () = self.0.changed.notified() => continue,
                now = backend.moved_since(moves) => {
                    let seen = std::mem::replace(&mut moves, now);
                    self.ask_for(|grant| backend.moves(grant.name()) > seen).await;
                }
            }
            for chunk in self.due(&backend) {
                let (keeper, backend) = (self.clone(), backend.clone());
                tasks.spawn(async move { keeper.renew(&backend, chunk).await });
            }
            // Where there is more, those chunks may go first.
            tokio::task::yield_now().await;
        }
    }

    /// Another server may not know what is held: renews these at once, and verifies those that are not renewed.
    async fn ask_for(&self, has_moved: impl Fn(&Grant) -> bool) {
        let now = self.0.clock.now();
        let mut from = (now, 0);
        loop {
            // A statement of its own: the lock is not held while others run.
            let next = self.0.lock().hasten(now, from, TAKEN_AT_ONCE, &has_moved);
            let Some(next) = next else { return };
            from = next;
            tokio::task::yield_now().await;
        }
    }

    /// Tells the losses that are due, and takes out what is to be renewed.
    fn due(&self, backend: &Backend) -> Vec<Chunk> {
        let now = self.0.clock.now();
        let mut schedule = self.0.lock();
        let batch_of = |grant: &Grant| backend.batch_of(grant.name());
        let mut due = schedule.take_due(now, batch_of);
        match backend.has_batches() {
            true => schedule.take_along(&mut due, now, batch_of),
            false => schedule.fill_up(&mut due.chunks, now),
        }
        drop(schedule);
        let AllDue { chunks, lost, .. } = due;
        for grant in &lost {
            self.0.lose(grant, LossReason::Expired);
        }
        chunks
    }

    /// One chunk, tried twice at most; what fails is entered again, so that a hold released meanwhile is not renewed.
    async fn renew(&self, backend: &Backend, chunk: Chunk) {
        let Some((first, _)) = chunk.holds.first() else { return };
        let in_flight = self.0.in_flight_to(backend.server_of(first.name()));
        // Nobody closes the semaphore.
        let _some_of_few = in_flight.acquire_many(chunk.size().min(HEAVIEST) as u32).await;
        let Chunk { by, mut holds, .. } = chunk;
        holds.retain(|(grant, _)| !matches!(grant.watch(), Watch::Over));
        if holds.is_empty() {
            return;
        }
        let moves: Vec<u64> = holds.iter().map(|(grant, _)| backend.moves(grant.name())).collect();
        let deadline = self.0.clock.now().plus(backend.attempt_budget() * 2);
        let counts = (by.counts)(&self.0.counters);
        match by.send(backend, &holds, deadline).await {
            Ok(done) => {
                let prolonged = done.reply.iter().filter(|reply| matches!(reply, Renewed::Prolonged { .. })).count();
                counts.renewed(prolonged);
                let undecided: Vec<_> = holds
                    .iter()
                    .zip(done.reply)
                    .filter_map(|(hold, reply)| {
                        let (grant, lease) = hold;
                        self.settle(backend, grant, *lease, done.sent, reply);
                        (reply == Renewed::Undecided).then_some(hold)
                    })
                    .collect();
                self.failed(counts, &undecided, "too few servers have renewed them");
                // It may have been the server before that answered.
                let moved = holds.iter().zip(moves).filter(|((grant, _), moves)| backend.moves(grant.name()) != *moves);
                self.ask_again(moved.map(|(hold, _)| hold), |_| Duration::ZERO);
            }
            Err(Failed { error, .. }) => self.failed(counts, &holds.iter().collect::<Vec<_>>(), error.message()),
        }
    }

    /// Tells that these were not renewed, and has them tried again.
    fn failed(&self, counts: &HoldCounts, holds: &[&ToRenew], why: &str) {
        let Some((first, _)) = holds.first() else { return };
        let message = format!("{} renewals failed and are tried again: {why}", holds.len());
        self.0.events.emit_of(Level::Warn, first.for_event(), message);
        counts.renewals_failed(holds.len());
        self.ask_again(holds.iter().copied(), |lease| (lease / 10).clamp(SHORTEST_RETRY, LONGEST_RETRY));
    }

    /// What the server's answer to a renewal that was sent at `sent` means for the hold, or for the one that it was handed
    /// over to meanwhile; true when it is still held.
    pub(crate) fn settle(&self, backend: &Backend, grant: &Grant, lease: Duration, sent: Tick, reply: Renewed) -> bool {
        if let Renewed::Prolonged { left_ms } = reply {
            let held = grant.tenure().confirm(sent, lease, Duration::from_millis(left_ms));
            if held {
                self.watch(grant);
            }
            return held;
        }
        if reply == Renewed::Undecided {
            return grant.is_valid();
        }
        let same_server = backend.server_generation(grant.name()) == grant.server_generation();
        let reason = match reply {
            _ if !same_server => LossReason::ServerChanged,
            Renewed::Gone => LossReason::Deleted,
            _ => LossReason::Taken,
        };
        self.end_as(grant, reason);
        false
    }

    /// Ends a hold, or the one that it was handed over to meanwhile, as lost.
    pub(crate) fn end_as(&self, grant: &Grant, reason: LossReason) {
        let holding = self.0.lock().take(grant);
        self.0.lose(holding.as_ref().unwrap_or(grant), reason);
    }

    /// Ends a grant whose lease is over, should its timer not have come to it yet. Its entry goes when that timer comes.
    pub(crate) fn expire(&self, grant: &Grant, now: Tick) {
        if grant.loss_at(now) == Some(LossReason::Expired) {
            self.0.lose(grant, LossReason::Expired);
        }
    }

    /// Those that are still valid are tried again after a pause; the others are past saving, and their timers say so. The
    /// pause follows from the lease that a hold has: what the renewal asked for may be next to nothing.
    fn ask_again<'a>(&self, holds: impl Iterator<Item = &'a ToRenew>, pause: impl Fn(Duration) -> Duration) {
        let now = self.0.clock.now();
        let mut schedule = self.0.lock();
        if schedule.ended().is_some() {
            return;
        }
        let mut wake = false;
        for (grant, _) in holds {
            let lose_at = match grant.watch() {
                Watch::Over => continue,
                Watch::Renew { lose_at, .. } | Watch::Expire { lose_at } => lose_at,
            };
            let entry = Entry { grant: grant.clone(), progress: Progress::Asked };
            wake |= schedule.put_at(now.plus(pause(grant.lease())).min(lose_at), entry);
        }
        drop(schedule);
        if wake {
            self.0.changed.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn in_flight_to(&self, server: u64) -> Arc<Semaphore> {
        let mut in_flight = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        in_flight.entry(server).or_insert_with(|| Arc::new(Semaphore::new(IN_FLIGHT))).clone()
    }

    fn verify_pace(&self) -> MutexGuard<'_, VerifyPace> {
        self.verify_pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, grant: &Grant, reason: LossReason) {
        grant.lose(reason, || {
            grant.counts(&self.counters).lost();
            let message = format!("lost while held, {}: {reason}", grant.which());
            self.events.emit_of(Level::Warn, grant.for_event(), message);
        });
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
