//! The buckets of this client alone, for limiters whose policy is a local share. They outlive the limiter objects, which a
//! program may make anew for each request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::step::LimitState;
use super::tat;
use crate::name::ObjectName;
use crate::step::{Attempt, Expires, Outbox, Step, WrongType};
use crate::time::{ServerTime, Tick};

/// When there are so many, those that are full again are dropped: they say no more than one that is not there.
const SWEEP_AT: usize = 1024;

/// What a client decides without its server.
#[derive(Default)]
pub(super) struct Shares {
    buckets: Mutex<Buckets>,
    /// Whether the last decision was a policy's.
    alone: AtomicBool,
    /// Whether the server has been asked in vain, for so long that limiters without a policy wait no more.
    failing: AtomicBool,
}

#[derive(Default)]
struct Buckets {
    by_name: HashMap<ObjectName, LimitState>,
    sweep_at: usize,
}

impl Shares {
    /// Runs a step on the state of `name` that this client has for itself, by its own clock: see [`instant`].
    pub(super) fn run<S: Step<State = LimitState>>(
        &self,
        name: &ObjectName,
        step: &S,
        now: Tick,
    ) -> Result<S::Reply, WrongType> {
        let now = server_time(now);
        let mut buckets = self.buckets();
        let mut state = buckets.by_name.remove(name).unwrap_or_default();
        state.expire(now);
        let kept = state.clone();
        let reply = step.apply(name, Attempt { not_after: now }, &mut state, now, &mut Outbox::new(&|_| false));
        let mut state = if reply.is_ok() { state } else { kept };
        if !state.expire(now) {
            buckets.by_name.insert(name.clone(), state);
            buckets.sweep(now);
        }
        reply
    }

    fn buckets(&self) -> MutexGuard<'_, Buckets> {
        self.buckets.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the last decision was a policy's: the server is known to be away until it answers again.
    pub(super) fn is_alone(&self) -> bool {
        self.alone.load(Ordering::Relaxed)
    }

    /// Notes who decides; true when that has changed.
    pub(super) fn set_alone(&self, alone: bool) -> bool {
        changes(&self.alone, alone)
    }

    /// Whether limiters without a policy know that the server is away.
    pub(super) fn is_failing(&self) -> bool {
        self.failing.load(Ordering::Relaxed)
    }

    pub(super) fn set_failing(&self, failing: bool) {
        changes(&self.failing, failing);
    }
}

/// Sets a flag; true when that has changed it.
fn changes(flag: &AtomicBool, to: bool) -> bool {
    // The common case must not write to memory that every caller shares.
    flag.load(Ordering::Relaxed) != to && flag.swap(to, Ordering::Relaxed) != to
}

/// The client's clock as if it were a server's.
fn server_time(now: Tick) -> ServerTime {
    ServerTime(tat::EPOCH_US + 1).plus(Duration::from_nanos(now.0))
}

/// What a step that was run on it at `now` takes for the present, in us since 2025.
pub(super) fn instant(now: Tick) -> u64 {
    tat::since_2025(server_time(now))
}

impl Buckets {
    fn sweep(&mut self, now: ServerTime) {
        if self.by_name.len() >= self.sweep_at.max(SWEEP_AT) {
            self.by_name.retain(|_, state| !state.expire(now));
            self.sweep_at = self.by_name.len() * 2;
        }
    }
}
