//! The buckets of this client alone, for limiters whose policy is a local share. They outlive the limiter objects, which a
//! program may make anew for each request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::rate::Rate;
use super::step::{Gcra, GiveBack};
use super::tat::{Span, Stored};
use crate::name::ObjectName;
use crate::time::Tick;

/// When there are so many, those that are full again are dropped: they say no more than one that is not there.
const SWEEP_AT: usize = 1024;

/// What a client decides without its server.
#[derive(Default)]
pub(super) struct Shares {
    buckets: Mutex<Buckets>,
    /// Whether the last decision was a policy's.
    alone: AtomicBool,
}

#[derive(Default)]
struct Buckets {
    by_name: HashMap<ObjectName, Share>,
    sweep_at: usize,
}

/// A theoretical arrival time on the client's clock, in the unit of the rate that wrote it.
#[derive(Clone, Copy, Default)]
struct Share {
    stored: Stored,
    unit: u64,
}

impl Share {
    fn in_unit(self, unit: u64) -> Stored {
        Stored { tat: self.stored.tat.into_unit(self.unit, unit), ..self.stored }
    }
}

impl Shares {
    /// Charges the bucket of `name`: whether it did, and what the server would answer, with a `now` of the client's clock.
    pub(super) fn charge(&self, name: &ObjectName, rate: Rate, step: &Gcra, now: Tick) -> (bool, Span, Span) {
        let now = span(now);
        let mut buckets = self.buckets();
        let share = buckets.by_name.get(name).copied().unwrap_or_default();
        let (allowed, tat, write) = step.judge(share.in_unit(rate.unit()), now);
        buckets.write(name, rate, write, now);
        (allowed, now, tat)
    }

    /// See [`GiveBack`].
    pub(super) fn give_back(&self, name: &ObjectName, rate: Rate, step: &GiveBack, now: Tick) -> bool {
        let now = span(now);
        let mut buckets = self.buckets();
        let Some(share) = buckets.by_name.get(name).copied() else { return true };
        let (given, write) = step.judge(share.in_unit(rate.unit()), now);
        buckets.write(name, rate, write, now);
        given
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
        // The common case must not write to memory that every caller shares.
        self.alone.load(Ordering::Relaxed) != alone && self.alone.swap(alone, Ordering::Relaxed) != alone
    }
}

fn span(now: Tick) -> Span {
    Span { us: now.0 / 1_000, part: 0 }
}

impl Buckets {
    fn write(&mut self, name: &ObjectName, rate: Rate, stored: Option<Stored>, now: Span) {
        if let Some(stored) = stored {
            self.by_name.insert(name.clone(), Share { stored, unit: rate.unit() });
            self.sweep(now);
        }
    }

    fn sweep(&mut self, now: Span) {
        if self.by_name.len() >= self.sweep_at.max(SWEEP_AT) {
            self.by_name.retain(|_, share| share.stored.tat > now);
            self.sweep_at = self.by_name.len() * 2;
        }
    }
}
