//! Time as libdlock measures it: a monotonic clock that counts suspend, or one that a test moves by hand.

use std::sync::Arc;
use std::time::Duration;

#[cfg(unix)]
use rustix::time::{ClockId, clock_gettime};
use tokio::sync::watch;

/// An instant on the client's monotonic clock, in nanoseconds since an arbitrary start. Never wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(crate) struct Tick(pub(crate) u64);

impl Tick {
    /// Later than any instant that is ever reached: "no deadline".
    pub(crate) const NEVER: Tick = Tick(u64::MAX);

    pub(crate) fn plus(self, duration: Duration) -> Tick {
        Tick(self.0.saturating_add(nanos(duration)))
    }

    pub(crate) fn minus(self, duration: Duration) -> Tick {
        Tick(self.0.saturating_sub(nanos(duration)))
    }

    /// Time from `earlier` to `self`, zero when `earlier` is the later one.
    pub(crate) fn since(self, earlier: Tick) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// An instant on the server's clock, in microseconds since 1970, as its `TIME` tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct ServerTime(pub(crate) u64);

impl ServerTime {
    /// A time that a server has told, in microseconds; none beyond 2^53, the year 2255, which Lua and JavaScript do not count
    /// exactly, and which no sum of a time and a duration exceeds by much.
    pub(crate) fn told(us: u64) -> Option<ServerTime> {
        (us < 1 << 53).then_some(ServerTime(us))
    }

    /// Redis keeps deadlines of keys in milliseconds.
    pub(crate) fn millis(self) -> u64 {
        self.0 / 1_000
    }

    pub(crate) fn plus(self, duration: Duration) -> ServerTime {
        ServerTime(self.0.saturating_add(u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)))
    }
}

/// Whole milliseconds of a duration, for the wire.
pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// How late a timer can be after the machine was suspended.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// How long a blocking thread sleeps at a time where tokio's own clock is paused. A waiter that was dropped occupies the thread
/// for so long.
const PAUSED_SLEEP: Duration = Duration::from_millis(50);

/// Real time after which a test has forgotten to move its clock, if a call waits for it.
pub(crate) const FORGOTTEN: Duration = Duration::from_secs(10);

/// Where "now" comes from.
#[derive(Clone, Debug, Default)]
pub(crate) enum Clock {
    /// The operating system's monotonic clock; on Linux the one that goes on while the machine sleeps.
    #[default]
    System,
    /// Moved by a test.
    Manual(ManualClock),
}

impl Clock {
    pub(crate) fn now(&self) -> Tick {
        match self {
            Clock::System => system_now(),
            Clock::Manual(clock) => Tick(*clock.0.borrow()),
        }
    }

    /// Completes when a [`ManualClock`] has not moved for [`FORGOTTEN`]; never for the system's. Cancel safe.
    pub(crate) async fn stands_still(&self) {
        match self {
            Clock::System => std::future::pending().await,
            // On the heap, so that calls on a server carry nothing of it.
            Clock::Manual(clock) => Box::pin(clock.is_forgotten()).await,
        }
    }

    /// Completes when `now() >= at`; never for [`Tick::NEVER`]. Cancel safe.
    pub(crate) async fn sleep_until(&self, at: Tick) {
        if at == Tick::NEVER {
            return std::future::pending().await;
        }
        match self {
            // A timer of tokio may be early by its granularity, and late by the time that the machine slept, which it
            // does not count: hence the loop, and its short steps.
            Clock::System => loop {
                let now = system_now();
                if now >= at {
                    return;
                }
                let step = at.since(now).min(LONGEST_SLEEP);
                tokio::time::sleep(step).await;
                // A paused clock of tokio (`tokio::time::pause`) jumps ahead instead of waiting. Leases run by the machine's
                // clock, so this waits there, and does not poll without pause.
                if system_now().since(now) < step / 2 {
                    let nap = step.min(PAUSED_SLEEP);
                    let _ = tokio::task::spawn_blocking(move || std::thread::sleep(nap)).await;
                }
            },
            Clock::Manual(clock) => {
                let mut moved = clock.0.subscribe();
                // The sender lives in `self`, so the only way out is the time.
                let _ = moved.wait_for(|now| *now >= at.0).await;
            }
        }
    }
}

#[cfg(unix)]
fn system_now() -> Tick {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let now = clock_gettime(CLOCK);
    // Both parts are non-negative on a clock that counts from the machine's start.
    Tick(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// Windows counts by its performance counter, which goes on while the machine sleeps. The start is the first call's.
#[cfg(windows)]
fn system_now() -> Tick {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    // Never 0, which is the time before any other.
    Tick(nanos(START.get_or_init(std::time::Instant::now).elapsed()) + 1_000_000_000)
}

/// A clock that stands still until it is told to move: for tests on `memory://`.
///
/// Clones share one time. Starts at one second.
///
/// ```
/// use std::time::Duration;
///
/// use libdlock::lease::Lease;
/// use libdlock::lock::LockOptions;
/// use libdlock::{Client, Config, ManualClock};
///
/// let clock = ManualClock::new();
/// let mut config = Config::from_url("memory://")?;
/// config.clock(clock.clone())?;
/// let client = Client::blocking_connect_with(config)?;
/// let options = LockOptions::default().lease(Lease::Fixed(Duration::from_secs(5)));
/// let held = client.block_on(client.lock_with("orders/42", options)?.acquire())?;
/// clock.advance(Duration::from_secs(6)); // no test has to sleep
/// assert!(!held.is_valid());
/// # Ok::<(), libdlock::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock(Arc<watch::Sender<u64>>);

impl ManualClock {
    /// A clock that shows one second since its start.
    pub fn new() -> ManualClock {
        ManualClock(Arc::new(watch::Sender::new(1_000_000_000)))
    }

    async fn is_forgotten(&self) {
        let mut moved = self.0.subscribe();
        loop {
            tokio::select! {
                // The sender lives in `self`.
                _ = moved.changed() => {}
                () = Clock::System.sleep_until(system_now().plus(FORGOTTEN)) => return,
            }
        }
    }

    /// Moves the time forward and wakes whatever waited for it.
    pub fn advance(&self, by: Duration) {
        self.0.send_modify(|now| *now = Tick(*now).plus(by).0);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_never_goes_back() {
        let readings: Vec<Tick> = (0..1000).map(|_| Clock::System.now()).collect();
        assert!(readings.is_sorted());
    }

    #[tokio::test]
    async fn a_manual_clock_wakes_exactly_those_whose_time_has_come() {
        let manual = ManualClock::new();
        let clock = Clock::Manual(manual.clone());
        let early = clock.now().plus(Duration::from_secs(10));
        let late = clock.now().plus(Duration::from_secs(20));
        manual.advance(Duration::from_secs(10));
        clock.sleep_until(early).await;
        tokio::select! {
            biased;
            () = clock.sleep_until(late) => panic!("woken 10 s early"),
            () = std::future::ready(()) => {}
        }
    }
}
