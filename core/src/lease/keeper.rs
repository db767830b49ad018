//! Renews everything that this client holds, and tells of every loss in time: one task, earliest deadline first.
//!
//! The task itself does no I/O. It sends renewals in chunks, each a task of its own, so that a server that does not answer
//! delays neither the other chunks nor the lost signal.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Grant, LossReason, Renewal, Renewed, Watch};
use crate::backend::Backend;
use crate::event::{Events, Level};
use crate::stats::Counters;
use crate::step::Batch;
use crate::task::{Life, Tasks, fault_point};
use crate::time::{Clock, Tick};

/// The name of the task, for the fault tests.
const TASK: &str = "keeper";

/// Renewals that are due this soon go along with the one that is due now: fewer scripts, hardly more renewals.
const GATHER: Duration = Duration::from_millis(20);

/// How long after a renewal that failed the next one is tried: a tenth of the lease, within these.
const SHORTEST_RETRY: Duration = Duration::from_millis(10);
const LONGEST_RETRY: Duration = Duration::from_secs(1);

/// Clones share one schedule.
#[derive(Clone)]
pub(crate) struct Keeper(Arc<Shared>);

struct Shared {
    schedule: Mutex<Schedule>,
    changed: Notify,
    clock: Clock,
    events: Events,
    counters: Arc<Counters>,
}

/// What is to be looked at when: each grant once, known by the address that its entry keeps alive.
#[derive(Default)]
struct Schedule {
    due: BTreeMap<(Tick, usize), Entry>,
    places: HashMap<usize, Tick>,
    /// Set when the client has ended: nothing is kept any more.
    ended: Option<LossReason>,
}

struct Entry {
    grant: Grant,
    /// A renewal of it is on its way: only its loss is to be watched.
    in_flight: bool,
}

impl Keeper {
    pub(crate) fn new(clock: Clock, events: Events, counters: Arc<Counters>) -> Keeper {
        Keeper(Arc::new(Shared { schedule: Mutex::default(), changed: Notify::new(), clock, events, counters }))
    }

    /// How many holds it looks after.
    pub(crate) fn held(&self) -> u64 {
        self.0.lock().places.len() as u64
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
        if let Some(reason) = schedule.ended {
            drop(schedule);
            self.0.lose(grant, reason);
        } else if schedule.put(grant.clone(), false) {
            self.0.changed.notify_one();
        }
    }

    /// Forgets a grant that is over.
    pub(crate) fn forget(&self, grant: &Grant) {
        self.0.lock().take(grant);
    }

    /// Ends all holds, those that come later too. The first reason stands.
    pub(crate) fn end(&self, reason: LossReason) {
        let mut schedule = self.0.lock();
        let reason = *schedule.ended.get_or_insert(reason);
        schedule.places.clear();
        let all = std::mem::take(&mut schedule.due);
        drop(schedule);
        for entry in all.into_values() {
            self.0.lose(&entry.grant, reason);
        }
    }

    async fn run<R: Renewal>(self, backend: Arc<Backend>, tasks: Tasks) {
        loop {
            fault_point(TASK);
            let next = self.0.lock().due.first_key_value().map_or(Tick::NEVER, |((at, _), _)| *at);
            tokio::select! {
                () = self.0.clock.sleep_until(next) => {}
                () = self.0.changed.notified() => continue,
            }
            for chunk in self.due().chunks(R::CHUNK) {
                let (keeper, backend, chunk) = (self.clone(), backend.clone(), chunk.to_vec());
                tasks.spawn(async move { keeper.renew::<R>(&backend, &chunk).await });
            }
        }
    }

    /// Tells the losses that are due, and takes out what is to be renewed, each with the lease to renew it for.
    fn due(&self) -> Vec<(Grant, Duration)> {
        let now = self.0.clock.now();
        let mut renewals = Vec::new();
        let mut lost = Vec::new();
        let mut schedule = self.0.lock();
        while let Some((at, entry)) = schedule.pop_until(now.plus(GATHER)) {
            match entry.grant.watch() {
                Watch::Over => {}
                Watch::Renew { lose_at, .. } | Watch::Expire { lose_at } if lose_at <= now => lost.push(entry.grant),
                Watch::Renew { at, lease, .. } if at <= now.plus(GATHER) && !entry.in_flight => {
                    schedule.put(entry.grant.clone(), true);
                    renewals.push((entry.grant, lease));
                }
                // Its time has moved on.
                _ if at <= now => {
                    schedule.put(entry.grant, entry.in_flight);
                }
                // A loss that is near but not yet due, and with it everything behind it, waits for its time.
                _ => {
                    schedule.put_at(at, entry);
                    break;
                }
            }
        }
        drop(schedule);
        lost.iter().for_each(|grant| self.0.lose(grant, LossReason::Expired));
        renewals
    }

    /// One chunk, tried twice at most; what fails is entered again, so that a hold released meanwhile is not renewed.
    async fn renew<R: Renewal>(&self, backend: &Backend, chunk: &[(Grant, Duration)]) {
        let items = chunk.iter().map(|(grant, lease)| (grant.name().clone(), R::of(grant, *lease))).collect();
        let deadline = self.0.clock.now().plus(backend.attempt_budget() * 2);
        match backend.run_batch(Batch { items }, deadline).await {
            Ok(done) => {
                let prolonged = done.reply.iter().filter(|reply| **reply == Renewed::Prolonged).count();
                self.0.counters.renewed(prolonged);
                for ((grant, lease), reply) in chunk.iter().zip(done.reply) {
                    self.settle(backend, grant, *lease, done.sent, reply);
                }
            }
            Err(error) => {
                let message = format!("{} renewals failed and are tried again: {}", chunk.len(), error.message());
                self.0.events.emit(Level::Warn, Some(chunk[0].0.name().as_str()), message);
                self.0.counters.renewals_failed(chunk.len());
                self.retry_later(chunk);
            }
        }
    }

    /// What the server's answer to a renewal that was sent at `sent` means for the hold; true when it is still held.
    pub(crate) fn settle(&self, backend: &Backend, grant: &Grant, lease: Duration, sent: Tick, reply: Renewed) -> bool {
        if reply == Renewed::Prolonged {
            let held = grant.confirm(sent, lease);
            if held {
                self.watch(grant);
            }
            return held;
        }
        let same_server = backend.server_generation() == grant.server_generation();
        let reason = match reply {
            _ if !same_server => LossReason::ServerChanged,
            Renewed::Absent => LossReason::Deleted,
            Renewed::Prolonged | Renewed::Taken | Renewed::WrongType => LossReason::Taken,
        };
        self.forget(grant);
        self.0.lose(grant, reason);
        false
    }

    /// Those that are still valid are tried again soon; the others are past saving, and their timers say so.
    fn retry_later(&self, chunk: &[(Grant, Duration)]) {
        let now = self.0.clock.now();
        let mut schedule = self.0.lock();
        if schedule.ended.is_some() {
            return;
        }
        for (grant, lease) in chunk {
            let lose_at = match grant.watch() {
                Watch::Over => continue,
                Watch::Renew { lose_at, .. } | Watch::Expire { lose_at } => lose_at,
            };
            let pause = (*lease / 10).clamp(SHORTEST_RETRY, LONGEST_RETRY);
            schedule.put_at(now.plus(pause).min(lose_at), Entry { grant: grant.clone(), in_flight: false });
        }
        drop(schedule);
        self.0.changed.notify_one();
    }
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

impl Schedule {
    /// Enters a grant at its next event; true when that is the first of all.
    fn put(&mut self, grant: Grant, in_flight: bool) -> bool {
        let at = match grant.watch() {
            Watch::Over => {
                self.take(&grant);
                return false;
            }
            Watch::Renew { at, lose_at, .. } if !in_flight => at.min(lose_at),
            Watch::Renew { lose_at, .. } | Watch::Expire { lose_at } => lose_at,
        };
        self.put_at(at, Entry { grant, in_flight });
        self.due.first_key_value().is_some_and(|((first, _), _)| *first == at)
    }

    fn put_at(&mut self, at: Tick, entry: Entry) {
        self.take(&entry.grant);
        let id = entry.grant.address();
        self.places.insert(id, at);
        self.due.insert((at, id), entry);
    }

    fn take(&mut self, grant: &Grant) {
        let id = grant.address();
        if let Some(at) = self.places.remove(&id) {
            self.due.remove(&(at, id));
        }
    }

    /// The earliest entry, if it is due by then.
    fn pop_until(&mut self, limit: Tick) -> Option<(Tick, Entry)> {
        let first = self.due.first_entry().filter(|first| first.key().0 <= limit)?;
        let ((at, id), entry) = first.remove_entry();
        self.places.remove(&id);
        Some((at, entry))
    }
}
