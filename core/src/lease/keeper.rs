//! Renews everything that this client holds, and tells of every loss in time: one task, earliest deadline first.
//!
//! The task itself does no I/O. It sends renewals in chunks, each a task of its own, so that a server that does not answer
//! delays neither the other chunks nor the lost signal. What was renewed together is due together. A chunk that is not full
//! takes along what is due soon and not itself part of a full one, so that from then on they are full.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use super::schedule::{Entry, Phase, Schedule};
use super::{Grant, LossReason, OnLost, Renewal, Renewed, Watch};
use crate::backend::Backend;
use crate::event::{Events, Level};
use crate::stats::Counters;
use crate::step::Batch;
use crate::task::{Life, Tasks, fault_point};
use crate::time::{Clock, Tick};

/// The name of the task, for the fault tests.
const TASK: &str = "keeper";

/// What is due within this part of its renewal interval fills up a chunk: a tenth more renewals at most, in fewer scripts.
const AHEAD: u32 = 10;

/// How many entries are looked at to fill up a chunk, at most: full chunks and leases that are not renewed stand in between.
const LOOKED_AT: usize = 10_000;

/// How many renewals are taken out under one lock. When a process was stopped all of them are due at once.
const TAKEN_AT_ONCE: usize = 1_000;

/// So many chunks are on their way at the same time: enough that half a second's way to the server loses nothing of 100,000
/// holds, few enough that a slow server need not answer the last of them before its time is over.
const IN_FLIGHT: usize = 64;

/// How long after a renewal that failed the next one is tried: a tenth of the lease, within these.
const SHORTEST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// Clones share one schedule.
#[derive(Clone)]
pub(crate) struct Keeper(Arc<Shared>);

struct Shared {
    schedule: Mutex<Schedule>,
    changed: Notify,
    in_flight: Arc<Semaphore>,
    clock: Clock,
    events: Events,
    counters: Arc<Counters>,
}

/// A hold that is to be renewed, and for how long.
type Due = (Grant, Duration);

impl Keeper {
    pub(crate) fn new(clock: Clock, events: Events, counters: Arc<Counters>) -> Keeper {
        Keeper(Arc::new(Shared {
            schedule: Mutex::default(),
            changed: Notify::new(),
            in_flight: Arc::new(Semaphore::new(IN_FLIGHT)),
            clock,
            events,
            counters,
        }))
    }

    /// How many holds it looks after.
    pub(crate) fn held(&self) -> u64 {
        self.0.lock().len() as u64
    }

    pub(crate) fn start<R: Renewal>(&self, backend: &Arc<Backend>, tasks: &Tasks) {
        let (keeper, backend, its_tasks) = (self.clone(), backend.clone(), tasks.clone());
        tasks.spawn_vital(TASK, async move { keeper.run::<R>(backend, its_tasks).await });
        // Whatever ends the client ends what it holds, the end of the task above included.
        let (keeper, its_tasks) = (self.clone(), tasks.clone());
        tasks.spawn(async move {
            let reason = match its_tasks.over().await {
                Life::Failed => LossReason::Internal,
                Life::Open | Life::Closing | Life::Closed => LossReason::Closed,
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
        } else if schedule.put(grant.clone(), Phase::Resting) {
            self.0.changed.notify_one();
        }
    }

    /// Forgets a grant that is over.
    pub(crate) fn forget(&self, grant: &Grant) {
        self.0.lock().take(grant);
    }

    /// Ends a hold as released and begins the next one of the same owner, with another token: what the server knows, and what
    /// is under way to it, is the new grant's from here on. `None`, and nothing is changed, when `grant` is not valid any more.
    ///
    /// Runs nothing of the caller's, so that it can be called under a lock.
    pub(crate) fn hand_over(&self, grant: &Grant, token: u64, on_lost: OnLost) -> Option<Grant> {
        let mut schedule = self.0.lock();
        if schedule.ended().is_some() {
            return None;
        }
        // Under one lock: else a loss in between would find neither of the two.
        let next = grant.hand_over(token, on_lost)?;
        // It stands there no more when it has just been taken out as lost.
        let wake = !schedule.replace(&next) && schedule.put(next.clone(), Phase::Resting);
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

    async fn run<R: Renewal>(self, backend: Arc<Backend>, tasks: Tasks) {
        loop {
            fault_point(TASK);
            let next = self.0.lock().arm();
            tokio::select! {
                () = self.0.clock.sleep_until(next) => {}
                () = self.0.changed.notified() => continue,
            }
            for chunk in self.due(R::CHUNK).chunks(R::CHUNK) {
                let (keeper, backend, chunk) = (self.clone(), backend.clone(), chunk.to_vec());
                tasks.spawn(async move { keeper.renew::<R>(&backend, chunk).await });
            }
            // Where there is more, those chunks may go first.
            tokio::task::yield_now().await;
        }
    }

    /// Tells the losses that are due, and takes out what is to be renewed.
    fn due(&self, chunk: usize) -> Vec<Due> {
        let now = self.0.clock.now();
        let mut renewals = Vec::new();
        let mut lost = Vec::new();
        let mut schedule = self.0.lock();
        while renewals.len() < TAKEN_AT_ONCE
            && let Some(Entry { grant, phase }) = schedule.pop_until(now)
        {
            match grant.watch() {
                Watch::Over => {}
                Watch::Renew { lose_at, .. } | Watch::Expire { lose_at } if lose_at <= now => lost.push(grant),
                Watch::Renew { at, lease, .. } if at <= now && phase != Phase::Renewing => {
                    schedule.put(grant.clone(), Phase::Renewing);
                    renewals.push((grant, lease));
                }
                // Its time has moved on.
                _ => _ = schedule.put(grant, phase),
            }
        }
        if !renewals.is_empty() {
            let missing = renewals.len().next_multiple_of(chunk) - renewals.len();
            let soon = due_soon(&schedule, now, renewals[0].1, missing, chunk);
            for (grant, _) in &soon {
                schedule.put(grant.clone(), Phase::Renewing);
            }
            renewals.extend(soon);
        }
        drop(schedule);
        for grant in &lost {
            self.0.lose(grant, LossReason::Expired);
        }
        renewals
    }

    /// One chunk, tried twice at most; what fails is entered again, so that a hold released meanwhile is not renewed.
    async fn renew<R: Renewal>(&self, backend: &Backend, mut chunk: Vec<Due>) {
        // Nobody closes the semaphore.
        let _one_of_few = self.0.in_flight.acquire().await;
        chunk.retain(|(grant, _)| !matches!(grant.watch(), Watch::Over));
        let Some((first, _)) = chunk.first() else { return };
        let items = chunk.iter().map(|(grant, lease)| (grant.name().clone(), R::of(grant, *lease))).collect();
        let deadline = self.0.clock.now().plus(backend.attempt_budget() * 2);
        match backend.run_batch(Batch { items }, deadline).await {
            Ok(done) => {
                let prolonged = done.reply.iter().filter(|reply| matches!(reply, Renewed::Prolonged { .. })).count();
                self.0.counters.renewed(prolonged);
                for ((grant, lease), reply) in chunk.iter().zip(done.reply) {
                    self.settle(backend, grant, *lease, done.sent, reply);
                }
            }
            Err(error) => {
                let message = format!("{} renewals failed and are tried again: {}", chunk.len(), error.message());
                self.0.events.emit(Level::Warn, Some(first.name().as_str()), message);
                self.0.counters.renewals_failed(chunk.len());
                self.retry_later(&chunk);
            }
        }
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
        let same_server = backend.server_generation() == grant.server_generation();
        let reason = match reply {
            _ if !same_server => LossReason::ServerChanged,
            Renewed::Absent => LossReason::Deleted,
            Renewed::Prolonged { .. } | Renewed::Taken | Renewed::WrongType => LossReason::Taken,
        };
        let holding = self.0.lock().take(grant);
        self.0.lose(holding.as_ref().unwrap_or(grant), reason);
        false
    }

    /// Those that are still valid are tried again soon; the others are past saving, and their timers say so.
    fn retry_later(&self, chunk: &[Due]) {
        let now = self.0.clock.now();
        let mut schedule = self.0.lock();
        if schedule.ended().is_some() {
            return;
        }
        let mut wake = false;
        for (grant, lease) in chunk {
            let lose_at = match grant.watch() {
                Watch::Over => continue,
                Watch::Renew { lose_at, .. } | Watch::Expire { lose_at } => lose_at,
            };
            let pause = (*lease / 10).clamp(SHORTEST_RETRY, LONGEST_RETRY);
            let entry = Entry { grant: grant.clone(), phase: Phase::Retrying };
            wake |= schedule.put_at(now.plus(pause).min(lose_at), entry);
        }
        drop(schedule);
        if wake {
            self.0.changed.notify_one();
        }
    }
}

/// Up to `missing` holds that are due soon, as measured by `lease`, the one of a hold that is due now. Full chunks are left
/// alone: each would want to be filled up in its turn, and all be renewed a little sooner, for ever.
fn due_soon(schedule: &Schedule, now: Tick, lease: Duration, missing: usize, chunk: usize) -> Vec<Due> {
    let mut soon = Vec::new();
    if missing == 0 {
        return soon;
    }
    let entries: Vec<_> = schedule.between(now..=now.plus(lease / 3 / AHEAD)).take(LOOKED_AT).collect();
    for together in entries.chunk_by(|(at, _), (other, _)| at == other).filter(|together| together.len() < chunk) {
        let renewed = together.iter().filter(|(_, entry)| entry.phase == Phase::Resting);
        soon.extend(renewed.filter_map(|(_, Entry { grant, .. })| match grant.watch() {
            // Its own lease may be shorter, and its horizon nearer.
            Watch::Renew { at, lease, .. } if at <= now.plus(lease / 3 / AHEAD) => Some((grant.clone(), lease)),
            _ => None,
        }));
        if soon.len() >= missing {
            break;
        }
    }
    soon.truncate(missing);
    soon
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Schedule> {
        self.schedule.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, grant: &Grant, reason: LossReason) {
        if grant.lose(reason) {
            self.counters.lost();
            let message = format!("lost while held, token {}: {reason}", grant.token());
            self.events.emit(Level::Warn, Some(grant.name().as_str()), message);
        }
    }
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;
