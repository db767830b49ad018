//! How long a call may take: a wait as the caller says it, and the instant at which it is over.

use std::pin::Pin;
use std::time::Duration;

use crate::time::{Clock, Tick};

/// How long a call may wait: an acquire, a limiter's decision, or
/// [`Grant::lost_within`](crate::lease::Grant::lost_within).
///
/// ```
/// use std::time::Duration;
///
/// use libdlock::lock::AcquireOptions;
/// use libdlock::Wait;
///
/// let patient = AcquireOptions::default(); // as long as it takes
/// let quick = AcquireOptions::default().wait(Wait::For(Duration::from_millis(500)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: one attempt.
    Try,
    /// This long, from the call on. Zero is the same as [`Wait::Try`].
    For(Duration),
    /// Without bound.
    #[default]
    Forever,
}

/// A caller that waited for less than this without an answer cannot tell whether the server is away: the answer may be on its
/// way. After a longer wait the server counts as away. A snapshot stops a server for about half of this.
pub(crate) const ON_ITS_WAY: Duration = Duration::from_millis(100);

impl Wait {
    /// The instant at which a wait that begins now is over; `None` for a call that does not wait.
    pub(crate) fn until(self, now: Tick) -> Option<Tick> {
        match self {
            Wait::Try | Wait::For(Duration::ZERO) => None,
            // Beyond the clock's range, some centuries, it is without bound.
            Wait::For(wait) => Some(now.plus(wait)),
            Wait::Forever => Some(Tick::NEVER),
        }
    }
}

/// Runs something until it completes or the time is over (`None`). By reference as in [`while_open`](crate::ended::while_open).
pub(crate) async fn by_deadline<T>(
    clock: &Clock,
    deadline: Tick,
    work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep_until(deadline) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::ManualClock;

    #[test]
    fn a_wait_may_be_as_long_as_a_duration() {
        let now = Clock::Manual(ManualClock::new()).now();
        let days = Duration::from_secs(2 * 24 * 3600);
        assert_eq!(Wait::For(days).until(now), Some(now.plus(days)));
        assert_eq!(Wait::For(Duration::MAX).until(now), Some(Tick::NEVER));
        assert_eq!(Wait::Forever.until(now), Some(Tick::NEVER));
        assert_eq!(Wait::For(Duration::ZERO).until(now), None);
    }
}
