//! Waiting for a name: when to look again, and until when.

use std::pin::Pin;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::task::{Life, Tasks};

/// No timer is shorter than this: a lock that expires "now" must not be asked for without pause.
pub(crate) const FLOOR: Duration = Duration::from_millis(20);

/// By how much a poll interval varies, to both sides.
pub(crate) const JITTER_PERCENT: u64 = 20;

/// When a waiter looks again by itself: when the lease in the way has run out, at the latest after the poll interval,
/// with jitter so that many waiters do not come together.
pub(crate) fn next_look(ttl_ms: i64, poll_interval: Duration) -> Duration {
    let jitter = JITTER_PERCENT as f64 / 100.0;
    let poll = poll_interval.mul_f64(1.0 - jitter + 2.0 * jitter * fastrand::f64());
    let expiry = u64::try_from(ttl_ms).map_or(poll, |ttl| Duration::from_millis(ttl.saturating_add(1)));
    poll.min(expiry).max(FLOOR)
}

/// Runs something until it completes or the client ends. Takes it by reference: a future that is passed by value lies twice in the
/// caller's, which is copied at every call.
pub(crate) async fn while_open<T>(
    op: &'static str,
    tasks: &Tasks,
    work: Pin<&mut impl Future<Output = T>>,
) -> Result<T> {
    tokio::select! {
        biased;
        life = tasks.ended() => Err(ended(op, life)),
        done = work => Ok(done),
    }
}

/// The error of a call on a client that has ended.
pub(crate) fn ended(op: &'static str, life: Life) -> Error {
    match life {
        Life::Forked => {
            let message = "this client belongs to the process that forked this one; open a new one here";
            Error::new(ErrorKind::Forked, op, message)
        }
        Life::Failed => {
            let message =
                "a background task of this client panicked, a defect in libdlock; close the client and open a new one";
            Error::new(ErrorKind::Internal, op, message)
        }
        Life::Open | Life::Closing | Life::Leaving | Life::Closed => {
            Error::new(ErrorKind::Closed, op, "the client was closed; open a new one")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_keep_their_floor_and_their_ceiling() {
        for _ in 0..1000 {
            assert_eq!(next_look(0, Duration::from_secs(1)), FLOOR);
            assert_eq!(next_look(300, Duration::from_secs(1)), Duration::from_millis(301));
            let polled = next_look(60_000, Duration::from_secs(1));
            assert!((Duration::from_millis(800)..=Duration::from_millis(1200)).contains(&polled), "{polled:?}");
            // A foreign key without expiry: only the poll is left.
            assert!(next_look(-1, Duration::from_secs(1)) >= Duration::from_millis(800));
        }
    }
}
