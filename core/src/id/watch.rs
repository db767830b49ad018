//! Looks, now and then, whether a generator's time and the wall clock still agree, and says so when they do not.
//!
//! The generator never follows the wall clock: its own time cannot step, so its ids stay unique and in order. But two things
//! make duplicates *between* processes possible, and only the wall clock shows them:
//! - the generator's time is far ahead: a process that starts next under the same numbers would begin before the last id;
//! - the wall clock jumped ahead: the clock was set forward, or the process was suspended, and may have been copied (a restored
//!   snapshot).

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

use super::timeline::Timeline;

/// How often the wall clock is read, at most.
const EVERY_MS: u64 = 1_000;
/// A wall clock that moves ahead by so much between two looks jumped: no drift does that.
const JUMP_MS: i64 = 1_000;
/// A generator that is so far ahead of the wall clock says so, and again at each doubling. Clocks drift by a few seconds a
/// month.
const FAR_MS: i64 = 10_000;
/// A look that took longer than this was interrupted, and says nothing.
const QUICK_MS: u64 = 100;

#[derive(Debug)]
pub(super) struct Watch {
    /// When to look next, in ms since 1970 on the generator's time.
    due_ms: AtomicU64,
    /// Wall clock minus generator, in ms, at the last look.
    lead_ms: AtomicI64,
    /// What the generator has to be ahead by to be reported.
    report_ms: AtomicI64,
}

impl Watch {
    pub(super) fn start(now_ms: u64) -> Watch {
        Watch {
            due_ms: AtomicU64::new(now_ms + EVERY_MS),
            lead_ms: AtomicI64::new(0),
            report_ms: AtomicI64::new(FAR_MS),
        }
    }

    /// Of a generator that has nothing to do with the wall clock.
    pub(super) fn never() -> Watch {
        Watch { due_ms: AtomicU64::new(u64::MAX), ..Watch::start(0) }
    }

    /// Whether it is time to look. One load: this is asked for every id.
    pub(super) fn is_due(&self, now_ms: u64) -> bool {
        now_ms >= self.due_ms.load(Ordering::Relaxed)
    }

    /// Compares the clocks. `Some` when there is something to say, to one of the threads that look at the same time.
    #[cold]
    pub(super) fn look(&self, timeline: &Timeline) -> Option<String> {
        let now_ms = timeline.now_ms();
        let due_ms = self.due_ms.load(Ordering::Relaxed);
        let next_ms = now_ms + EVERY_MS;
        if now_ms < due_ms
            || self.due_ms.compare_exchange(due_ms, next_ms, Ordering::Relaxed, Ordering::Relaxed).is_err()
        {
            return None;
        }
        let wall_ms = timeline.wall_ms();
        if timeline.now_ms().saturating_sub(now_ms) > QUICK_MS {
            return None;
        }
        let lead_ms = wall_ms as i64 - now_ms as i64;
        let jumped_ms = lead_ms - self.lead_ms.swap(lead_ms, Ordering::Relaxed);
        let ahead_ms = -lead_ms;
        let report_ms = self.report_ms.load(Ordering::Relaxed);
        if ahead_ms < report_ms / 2 {
            self.report_ms.store(FAR_MS, Ordering::Relaxed);
        }
        // A clock that was behind and is set right jumps too, which is no news.
        if jumped_ms >= JUMP_MS && lead_ms >= JUMP_MS {
            return Some(format!(
                "the wall clock jumped {:?} ahead of this id generator: the clock was set forward, or the process was \
                 suspended or restored from a snapshot. If a copy of it may be running, or have run, its ids are duplicates of these; open generators after a restore, \
                 each copy under a worker number of its own",
                Duration::from_millis(jumped_ms as u64)
            ));
        }
        if ahead_ms >= report_ms {
            self.report_ms.store(ahead_ms.saturating_mul(2), Ordering::Relaxed);
            return Some(format!(
                "this id generator is {:?} ahead of the wall clock, which was set back or runs slow; a process that starts \
                 under the same worker number before the wall clock has caught up makes duplicates of its ids. Set the clock \
                 right, or give the next process another number",
                Duration::from_millis(ahead_ms as u64)
            ));
        }
        None
    }
}
