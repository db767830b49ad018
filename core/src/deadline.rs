//! How long a call may take: a wait as the caller says it, and the instant at which it is over.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::time::{Clock, Tick};

/// How long an acquire may wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Not at all: one attempt.
    Try,
    /// This long, from the call on, at most 24 h. Zero is the same as [`Wait::Try`].
    For(Duration),
    /// Without bound.
    #[default]
    Forever,
}

impl Wait {
    /// The instant at which the wait is over; `None` for a call that does not wait.
    pub(crate) fn until(self, op: &'static str, clock: &Clock) -> Result<Option<Tick>> {
        match self {
            Wait::Try | Wait::For(Duration::ZERO) => Ok(None),
            Wait::For(wait) if wait <= MAX_WAIT => Ok(Some(clock.now().plus(wait))),
            Wait::For(wait) => {
                let message = format!("a wait of {wait:?} is not possible; it is 0 to 24 h, or without bound");
                Err(Error::new(ErrorKind::InvalidArgument, op, message))
            }
            Wait::Forever => Ok(Some(Tick::NEVER)),
        }
    }
}

/// The longest wait with a bound; a longer one is taken for a mistake of units.
const MAX_WAIT: Duration = Duration::from_secs(24 * 3600);

/// Runs something until it completes or the time is over (`None`).
pub(crate) async fn by_deadline<T>(clock: &Clock, deadline: Tick, work: impl Future<Output = T>) -> Option<T> {
    tokio::select! {
        biased;
        done = work => Some(done),
        () = clock.sleep_until(deadline) => None,
    }
}
