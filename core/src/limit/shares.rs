//! The buckets of this process alone, for limiters whose policy is a local share. They outlive the limiter objects, which a
//! program may make anew for each request.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::rate::Rate;
use super::step::Gcra;
use super::tat::Span;
use crate::name::ObjectName;
use crate::time::Tick;

/// When there are so many, those that are full again are dropped: they say no more than one that is not there.
const SWEEP_AT: usize = 1024;

/// What a client decides without its server.
#[derive(Default)]
pub(crate) struct Shares {
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
    tat: Span,
    unit: u64,
}

impl Shares {
    /// Charges the bucket of `name`; whether it had the tokens, and what it lacks then, in parts.
    pub(super) fn charge(&self, name: &ObjectName, rate: Rate, step: &Gcra, now: Tick) -> (bool, u128) {
        let now = Span { us: now.0 / 1_000, part: 0 };
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let share = buckets.by_name.get(name).copied().unwrap_or_default();
        let (allowed, tat, write) = step.judge(share.tat.into_unit(share.unit, rate.unit()), now);
        if let Some(tat) = write {
            buckets.by_name.insert(name.clone(), Share { tat, unit: rate.unit() });
            buckets.sweep(now);
        }
        (allowed, tat.work(rate.unit()).saturating_sub(now.work(rate.unit())))
    }

    /// Notes who decides; true when that has changed.
    pub(super) fn set_alone(&self, alone: bool) -> bool {
        // The common case must not write to memory that every caller shares.
        self.alone.load(Ordering::Relaxed) != alone && self.alone.swap(alone, Ordering::Relaxed) != alone
    }
}

impl Buckets {
    fn sweep(&mut self, now: Span) {
        if self.by_name.len() >= self.sweep_at.max(SWEEP_AT) {
            self.by_name.retain(|_, share| share.tat > now);
            self.sweep_at = self.by_name.len() * 2;
        }
    }
}
