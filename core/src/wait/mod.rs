//! Waiting for a name: who of this process may contend, when to look again, and until when.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::error::{Error, ErrorKind, Result};
use crate::task::{Life, Tasks};

/// The local FIFO of one name: whoever has the turn holds the name or contends for it, for the whole process. A place in
/// the queue is given up by dropping the future that waits for it.
pub(crate) struct LocalQueue {
    turn: Arc<Semaphore>,
}

/// The right to contend. Dropping it lets the next local waiter go on.
pub(crate) type Turn = OwnedSemaphorePermit;

impl LocalQueue {
    pub(crate) fn new() -> LocalQueue {
        LocalQueue { turn: Arc::new(Semaphore::new(1)) }
    }

    /// The turn, if nobody has it and nobody waits for it.
    pub(crate) fn try_turn(&self) -> Option<Turn> {
        self.turn.clone().try_acquire_owned().ok()
    }

    /// Waits for the turn, first come, first served. Cancel safe: dropping the future gives up the place.
    pub(crate) async fn turn(&self) -> Turn {
        match self.turn.clone().acquire_owned().await {
            Ok(turn) => turn,
            // Nobody closes the semaphore.
            Err(_) => std::future::pending().await,
        }
    }
}

/// No timer is shorter than this: a lock that expires "now" must not be asked for without pause.
const FLOOR: Duration = Duration::from_millis(20);

/// When a waiter looks again by itself: when the lease in the way has run out, at the latest after the poll interval,
/// with jitter so that many waiters do not come together.
pub(crate) fn next_look(ttl_ms: i64, poll_interval: Duration) -> Duration {
    let poll = poll_interval.mul_f64(0.8 + 0.4 * fastrand::f64());
    let expiry = u64::try_from(ttl_ms).map_or(poll, |ttl| Duration::from_millis(ttl.saturating_add(1)));
    poll.min(expiry).max(FLOOR)
}

/// Runs something until it completes or the client ends.
pub(crate) async fn while_open<T>(op: &'static str, tasks: &Tasks, work: impl Future<Output = T>) -> Result<T> {
    tokio::select! {
        biased;
        life = tasks.ended() => Err(ended(op, life)),
        done = work => Ok(done),
    }
}

/// The error of a call on a client that has ended.
pub(crate) fn ended(op: &'static str, life: Life) -> Error {
    match life {
        Life::Failed => {
            let message =
                "a background task of this client panicked, a defect in libdlock; close the client and open a new one";
            Error::new(ErrorKind::Internal, op, message)
        }
        Life::Open | Life::Closing | Life::Closed => {
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

    #[tokio::test]
    async fn the_turn_goes_round_in_order_and_a_cancelled_waiter_leaves_no_gap() {
        let queue = LocalQueue::new();
        let first = queue.turn().await;
        let mut second = Box::pin(queue.turn());
        let mut third = Box::pin(queue.turn());
        assert!(futures_poll(&mut second).is_none() && futures_poll(&mut third).is_none());
        drop(second);
        drop(first);
        assert!(futures_poll(&mut third).is_some());
    }

    fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut context) {
            std::task::Poll::Ready(value) => Some(value),
            std::task::Poll::Pending => None,
        }
    }
}
