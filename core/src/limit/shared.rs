//! What one client knows of one limiter: its line of waiters, and what the server said last.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::decision::Decision;
use super::rate::Rate;
use super::step::Judged;
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
    /// Until when the first in line sleeps.
    head_until: Mutex<Option<Tick>>,
}

/// The server's last answer, and when it came.
#[derive(Clone, Copy)]
struct Seen {
    judged: Judged,
    at: Tick,
}

impl LimitShared {
    pub(crate) fn new(name: ObjectName, client: Arc<Inner>) -> LimitShared {
        LimitShared { name, client, line: LocalQueue::new(), seen: Mutex::default(), head_until: Mutex::default() }
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

    pub(super) fn head_waits_until(&self, at: Tick) {
        *lock(&self.head_until) = Some(at);
    }

    /// The answer to one whose time was over before its turn came: as far as is known without asking. It cannot be served
    /// before those in front of it, of whom the first has a time.
    pub(super) fn refused_in_line(&self, rate: Rate, cost: u64, now: Tick) -> Decision {
        let used = lock(&self.seen).map_or(rate.work(rate.limit()), |Seen { judged, at }| {
            let then = Span::at(judged.now.plus(now.since(at)));
            // Whole microseconds are enough here: the other rate's unit may have written the parts.
            u128::from(judged.tat.us.saturating_sub(then.us)) * u128::from(rate.unit())
        });
        let decision = Decision::from_used(rate, cost, false, used);
        let head = lock(&self.head_until).map_or(Duration::ZERO, |at| at.since(now));
        let soonest = head.max(Duration::from_micros(1));
        Decision { retry_after: decision.retry_after.map(|after| after.max(soonest)), ..decision }
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
