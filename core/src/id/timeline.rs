//! A generator's time: the wall clock when it starts, and from then on a monotonic clock, which `watch.rs` moves slowly
//! towards the wall clock. Never a step.

#[cfg(test)]
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::time::{Clock, Tick};

/// The clocks of this machine.
#[derive(Clone, Debug)]
pub(super) enum Machine {
    Real,
    /// With the monotonic clock of a client, which a test may move.
    Of(Clock),
    /// Moved by a test.
    #[cfg(test)]
    Stepped(Arc<tests::Stepped>),
}

impl Machine {
    /// The wall clock, in nanoseconds since 1970; 0 before that.
    pub(super) fn wall(&self) -> u64 {
        match self {
            Machine::Real | Machine::Of(_) => {
                let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                u64::try_from(since_1970.as_nanos()).unwrap_or(u64::MAX)
            }
            #[cfg(test)]
            Machine::Stepped(stepped) => stepped.wall(),
        }
    }

    pub(super) fn now(&self) -> Tick {
        match self {
            Machine::Real => Clock::System.now(),
            Machine::Of(clock) => clock.now(),
            #[cfg(test)]
            Machine::Stepped(stepped) => stepped.now(),
        }
    }

    /// Blocks the thread for about that long.
    pub(super) fn sleep(&self, duration: Duration) {
        match self {
            Machine::Real | Machine::Of(_) => std::thread::sleep(duration),
            #[cfg(test)]
            Machine::Stepped(stepped) => stepped.pass(duration),
        }
    }
}

/// Time as one generator sees it.
#[derive(Debug)]
pub(super) struct Timeline {
    machine: Machine,
    /// What to add to the monotonic clock to get nanoseconds since 1970.
    offset: AtomicU64,
}

impl Timeline {
    /// Begins at what the wall clock shows now.
    pub(super) fn start(machine: Machine) -> Timeline {
        // The wall clock first: a pause between the two makes the timeline late by as much. Early it must never be: a
        // process that starts after this one's end, under the same numbers, would be given ids of this one's.
        let wall = machine.wall();
        let offset = AtomicU64::new(wall.wrapping_sub(machine.now().0));
        Timeline { machine, offset }
    }

    /// Shows `unix_ms`, of milliseconds since 1970, at the instant `at`, and no wall clock.
    pub(super) fn from(machine: Machine, unix_ms: u64, at: Tick) -> Timeline {
        Timeline { machine, offset: AtomicU64::new((unix_ms * NANOS_PER_MS).wrapping_sub(at.0)) }
    }

    /// Milliseconds since 1970.
    pub(super) fn now_ms(&self) -> u64 {
        self.now() / NANOS_PER_MS
    }

    /// Nanoseconds since 1970.
    pub(super) fn now(&self) -> u64 {
        // Relaxed: who must not miss a shift has read something that was written after it, see `Watch::due_ms`.
        self.machine.now().0.wrapping_add(self.offset.load(Ordering::Relaxed))
    }

    /// What the wall clock shows now, in nanoseconds since 1970.
    pub(super) fn wall(&self) -> u64 {
        self.machine.wall()
    }

    /// Moves this time by so many nanoseconds, for good. Only `watch.rs` knows by how much it may be.
    pub(super) fn shift(&self, nanos: i64) {
        self.offset.fetch_add(nanos as u64, Ordering::Relaxed);
    }

    /// Blocks the thread until `now_ms() >= at_ms`, or a little short of it.
    pub(super) fn sleep_until(&self, at_ms: u64) {
        let rest = at_ms.saturating_mul(NANOS_PER_MS).saturating_sub(self.now());
        self.machine.sleep(Duration::from_nanos(rest));
    }
}

pub(super) const NANOS_PER_MS: u64 = 1_000_000;

#[cfg(test)]
pub(super) mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Both clocks stand still but for what a test does to them and for sleeping, which only moves them on.
    #[derive(Debug)]
    pub(in crate::id) struct Stepped {
        wall: AtomicU64,
        tick: AtomicU64,
        slept: AtomicU64,
        stall: AtomicU64,
    }

    impl Stepped {
        pub(in crate::id) fn at_ms(unix_ms: u64) -> Arc<Stepped> {
            let wall = AtomicU64::new(unix_ms * NANOS_PER_MS);
            Arc::new(Stepped {
                wall,
                tick: AtomicU64::new(1_000_000_000),
                slept: AtomicU64::new(0),
                stall: AtomicU64::new(0),
            })
        }

        pub(in crate::id) fn machine(self: &Arc<Self>) -> Machine {
            Machine::Stepped(self.clone())
        }

        /// Time goes by.
        pub(in crate::id) fn pass(&self, duration: Duration) {
            let nanos = duration.as_nanos() as u64;
            self.wall.fetch_add(nanos, Ordering::Relaxed);
            self.tick.fetch_add(nanos, Ordering::Relaxed);
            self.slept.fetch_add(nanos, Ordering::Relaxed);
        }

        /// Somebody sets the wall clock.
        pub(in crate::id) fn step_wall_ms(&self, ms: i64) {
            self.wall.fetch_add((ms * NANOS_PER_MS as i64) as u64, Ordering::Relaxed);
        }

        /// The wall clock and the monotonic clock drift apart, by so many nanoseconds more of the wall clock.
        pub(in crate::id) fn drift(&self, nanos: i64) {
            self.wall.fetch_add(nanos as u64, Ordering::Relaxed);
        }

        /// What must never happen: a monotonic clock that goes back.
        pub(in crate::id) fn break_tick_ms(&self, ms: i64) {
            self.tick.fetch_add((ms * NANOS_PER_MS as i64) as u64, Ordering::Relaxed);
        }

        /// The caller of the next reading is stopped for so long before it can use what it read.
        pub(in crate::id) fn stall_once(&self, duration: Duration) {
            self.stall.store(duration.as_nanos() as u64, Ordering::Relaxed);
        }

        /// How long was slept, and passed, in all.
        pub(in crate::id) fn passed(&self) -> Duration {
            Duration::from_nanos(self.slept.load(Ordering::Relaxed))
        }

        pub(in crate::id) fn wall(&self) -> u64 {
            let reading = self.wall.load(Ordering::Relaxed);
            self.pass(Duration::from_nanos(self.stall.swap(0, Ordering::Relaxed)));
            reading
        }

        pub(super) fn now(&self) -> Tick {
            let reading = Tick(self.tick.load(Ordering::Relaxed));
            self.pass(Duration::from_nanos(self.stall.swap(0, Ordering::Relaxed)));
            reading
        }
    }

    #[test]
    fn between_two_looks_only_the_monotonic_clock_counts() {
        let clocks = Stepped::at_ms(1_000_000);
        let timeline = Timeline::start(clocks.machine());
        assert_eq!(timeline.now_ms(), 1_000_000);
        clocks.step_wall_ms(-3_600_000);
        assert_eq!(timeline.now_ms(), 1_000_000);
        clocks.pass(Duration::from_millis(5));
        assert_eq!(timeline.now_ms(), 1_000_005);
        timeline.sleep_until(1_000_007);
        assert_eq!(timeline.now_ms(), 1_000_007);
        timeline.sleep_until(3);
        assert_eq!(timeline.now_ms(), 1_000_007);
        timeline.shift(-1_500_000);
        assert_eq!(timeline.now(), 1_000_005_500_000);
        timeline.sleep_until(1_000_007);
        assert_eq!(timeline.now_ms(), 1_000_007);
    }

    #[test]
    fn a_start_that_is_interrupted_is_late_and_never_early() {
        let clocks = Stepped::at_ms(1_000_000);
        clocks.stall_once(Duration::from_secs(3600));
        let timeline = Timeline::start(clocks.machine());
        assert_eq!(clocks.passed(), Duration::from_secs(3600), "it was interrupted");
        assert!(timeline.now_ms() * NANOS_PER_MS <= clocks.wall(), "{} ms", timeline.now_ms());
    }

    #[test]
    fn the_real_clocks_agree_and_sleep() {
        let timeline = Timeline::start(Machine::Real);
        let begun = timeline.now_ms();
        let wall = Machine::Real.wall() / NANOS_PER_MS;
        assert!(wall.abs_diff(begun) < 1_000, "{wall} {begun}");
        timeline.sleep_until(begun + 3);
        assert!(timeline.now_ms() >= begun + 3);
    }
}
