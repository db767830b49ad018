//! Looks, now and then, at the wall clock: the generator's time follows it slowly, and says so when the two are far apart.
//!
//! A generator's time never steps, whatever the wall clock does, so its ids stay unique and in order. At each look, once a
//! second at most, it is moved towards the wall clock by at most 500 millionths ([`SLEW_PPM`]) of the time since the last look.
//! That is more than clocks drift apart, so a generator keeps within a millisecond of a clock that runs steadily. A wall clock
//! that was *set* is followed at the same pace: 2,000 s for a second, 83 days for an hour.
//!
//! No id is ever taken at a time that a shift has left behind: a caller first reads when to look, then the time. If it is not
//! time to look, the shift of the last look was in what it read; if it is, it waits for whoever looks, and reads the time anew.
//! So no time that is read is further behind the last id than one millisecond's ids, a borrowing brother, and half a
//! millisecond of shift explain, even if an hour without ids has made the shift a second long.
//!
//! Two things make duplicates *between* processes possible, only the wall clock shows them, and following it slowly does not
//! cure them at once. So they are reported:
//! - the generator's time is far ahead: a process that starts next under the same numbers would begin before the last id;
//! - the wall clock jumped ahead: the clock was set forward, or the process was suspended, and may have been copied (a restored
//!   snapshot).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::timeline::{NANOS_PER_MS, Timeline};

/// How often the wall clock is read, at most.
const EVERY_MS: u64 = 1_000;
/// By how many nanoseconds in a million the generator's time may run fast or slow to follow the wall clock: as Linux and NTP
/// bound the correction of a clock's rate.
const SLEW_PPM: i64 = 500;
/// A wall clock that moves ahead by so much between two looks jumped: no drift does that.
const JUMP: i64 = 1_000 * NANOS_PER_MS as i64;
/// A generator that is so far ahead of the wall clock says so, and again at each doubling.
const FAR: i64 = 10_000 * NANOS_PER_MS as i64;
/// A look that took longer than this was interrupted. It says nothing and moves nothing.
const QUICK: u64 = 100 * NANOS_PER_MS;

#[derive(Debug)]
pub(super) struct Watch {
    /// When to look next, in ms since 1970 on the generator's time. Written after a shift (release), and read before the time
    /// (acquire).
    due_ms: AtomicU64,
    seen: Mutex<Seen>,
}

/// What the last look left behind, in nanoseconds.
#[derive(Debug)]
struct Seen {
    /// When it was, on the generator's time.
    at: u64,
    /// Wall clock minus generator.
    lead: i64,
    /// What the generator has to be ahead by to be reported: twice of what it was since the last report at the least.
    report: i64,
}

impl Watch {
    pub(super) fn start(now_ms: u64) -> Watch {
        let seen = Seen { at: now_ms * NANOS_PER_MS, lead: 0, report: FAR };
        Watch { due_ms: AtomicU64::new(now_ms + EVERY_MS), seen: Mutex::new(seen) }
    }

    /// From when on it is time to look, on the generator's time. One load: this is asked for every id, before the time is read.
    pub(super) fn due_ms(&self) -> u64 {
        self.due_ms.load(Ordering::Acquire)
    }

    /// Of a generator that has nothing to do with the wall clock.
    pub(super) fn never() -> Watch {
        Watch { due_ms: AtomicU64::new(u64::MAX), ..Watch::start(0) }
    }

    /// Compares the clocks, and moves the generator's time towards the wall clock. `Some` when there is something to say, to one
    /// of the threads that look at the same time; the others wait for it. The time has to be read anew then.
    #[cold]
    pub(super) fn look(&self, timeline: &Timeline) -> Option<String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let before = timeline.now();
        if before / NANOS_PER_MS < self.due_ms.load(Ordering::Relaxed) {
            return None;
        }
        let wall = timeline.wall();
        let after = timeline.now();
        let said =
            (after.saturating_sub(before) <= QUICK).then(|| seen.compare(timeline, before, wall, after)).flatten();
        self.due_ms.store(timeline.now_ms() + EVERY_MS, Ordering::Release);
        said
    }
}

impl Seen {
    /// The wall clock showed `wall` at some time between `before` and `after`.
    fn compare(&mut self, timeline: &Timeline, before: u64, wall: u64, after: u64) -> Option<String> {
        // The nearest to zero that it can be: what the reading took is no reason to move.
        let (least, most) = (wall.wrapping_sub(after) as i64, wall.wrapping_sub(before) as i64);
        let lead = if least > 0 { least } else { most.min(0) };
        let since = i64::try_from(before.saturating_sub(self.at)).unwrap_or(i64::MAX);
        let pace = since / 1_000_000 * SLEW_PPM;
        let shift = lead.clamp(-pace, pace);
        timeline.shift(shift);
        self.at = before.wrapping_add_signed(shift);
        let jumped = lead - std::mem::replace(&mut self.lead, lead - shift);
        self.report(lead, jumped)
    }

    fn report(&mut self, lead: i64, jumped: i64) -> Option<String> {
        let ahead = -lead;
        // A clock that was behind and is set right jumps too, which is no news.
        if jumped >= JUMP && lead >= JUMP {
            return Some(format!(
                "the wall clock jumped {:?} ahead of this id generator: the clock was set forward, or the process was \
                 suspended or restored from a snapshot. If a copy of it may be running, or have run, its ids are duplicates of \
                 these; open generators after a restore, each copy under a worker number of its own",
                whole_ms(jumped)
            ));
        }
        let far = std::mem::replace(&mut self.report, ahead.saturating_mul(2).max(FAR));
        if ahead >= far {
            return Some(format!(
                "this id generator is {:?} ahead of the wall clock, which was set back; a process that starts under the same \
                 worker number before the wall clock has caught up makes duplicates of its ids. Set the clock right, or give the \
                 next process another number",
                whole_ms(ahead)
            ));
        }
        self.report = self.report.min(far);
        None
    }
}

fn whole_ms(nanos: i64) -> Duration {
    Duration::from_millis(nanos.unsigned_abs() / NANOS_PER_MS)
}
