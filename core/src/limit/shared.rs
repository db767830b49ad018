//! What one client knows of one limiter: its line of waiters, what the server said last, its share for bad times.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::decision::Decision;
use super::rate::Rate;
use super::step::{Gcra, Judged};
use super::tat::Span;
use crate::client::Inner;
use crate::name::ObjectName;
use crate::time::Tick;
use crate::wait::LocalQueue;

pub(crate) struct LimitShared {
    name: ObjectName,
    client: Arc<Inner>,
    line: LocalQueue,
    seen: Mutex<Option<Seen>>,
    share: Mutex<Share>,
    /// Whether the last decision was a policy's.
    alone: AtomicBool,
}

/// The server's last answer, and when it came.
#[derive(Clone, Copy)]
struct Seen {
    judged: Judged,
    at: Tick,
}

/// The bucket of this process alone: its theoretical arrival time on the client's clock, in the unit of the rate that wrote it.
#[derive(Default)]
struct Share {
    tat: Span,
    unit: u64,
}

impl LimitShared {
    pub(crate) fn new(name: ObjectName, client: Arc<Inner>) -> LimitShared {
        LimitShared {
            name,
            client,
            line: LocalQueue::new(),
            seen: Mutex::default(),
            share: Mutex::default(),
            alone: AtomicBool::new(false),
        }
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(super) fn client(&self) -> &Inner {
        &self.client
    }

    pub(super) fn line(&self) -> &LocalQueue {
        &self.line
    }

    pub(super) fn saw(&self, judged: Judged, at: Tick) {
        *lock(&self.seen) = Some(Seen { judged, at });
    }

    /// The answer to one whose time was over before its turn came: as far as is known without asking.
    pub(super) fn refused_in_line(&self, rate: Rate, cost: u64, now: Tick) -> Decision {
        let used = lock(&self.seen).map_or(0, |Seen { judged, at }| {
            let then = Span::at(judged.now.plus(now.since(at)));
            // Whole microseconds are enough here: the other rate's unit may have written the parts.
            judged.tat.us.saturating_sub(then.us)
        });
        Decision::from_used(rate, cost, false, u128::from(used) * u128::from(rate.unit()))
    }

    /// Charges this process's own bucket; whether it had the tokens, and what it lacks then, in parts.
    pub(super) fn charge_share(&self, rate: Rate, step: &Gcra) -> (bool, u128) {
        let now = Span { us: self.client.clock.now().0 / 1_000, part: 0 };
        let mut share = lock(&self.share);
        let stored = share.tat.into_unit(share.unit, rate.unit());
        let (allowed, tat, write) = step.judge(stored, now);
        if let Some(tat) = write {
            *share = Share { tat, unit: rate.unit() };
        }
        (allowed, tat.work(rate.unit()).saturating_sub(now.work(rate.unit())))
    }

    /// Notes who decides; true when that has changed.
    pub(super) fn set_alone(&self, alone: bool) -> bool {
        // The common case must not write to memory that every caller shares.
        self.alone.load(Ordering::Relaxed) != alone && self.alone.swap(alone, Ordering::Relaxed) != alone
    }
}

impl Drop for LimitShared {
    fn drop(&mut self) {
        self.client.limits.forget(&self.name);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
