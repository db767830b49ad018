//! What becomes of a call whose client ends meanwhile, or whose work is cut off.

use std::pin::Pin;

use crate::error::{Error, ErrorKind, Result};
use crate::task::{Life, Tasks};
use crate::time::{Clock, FORGOTTEN};

/// Runs something until it completes or the client ends. Takes it by reference: a future that is passed by value lies twice in
/// the caller's, which is copied at every call.
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

/// Runs something that waits for a time until it completes or nobody moves the [`ManualClock`](crate::ManualClock) that it waits by:
/// without this a test whose only thread waits would hang in silence. `None` for what waits for no time.
pub(crate) async fn while_moving<T>(
    op: &'static str,
    clock: Option<&Clock>,
    work: Pin<&mut impl Future<Output = T>>,
) -> Result<T> {
    let Some(clock) = clock else { return Ok(work.await) };
    tokio::select! {
        biased;
        done = work => Ok(done),
        () = clock.stands_still() => {
            let message = format!(
                "waits for a time of a ManualClock that has not moved for {FORGOTTEN:?}; move it from another thread or task while \
                 this call waits, or make the call with `run` of the clock, which does that"
            );
            Err(Error::new(ErrorKind::Clock, op, message).permanent())
        }
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
        Life::Open | Life::Closing | Life::ClosingAtOnce | Life::Closed => {
            Error::new(ErrorKind::Closed, op, "the client was closed; open a new one")
        }
    }
}

/// The error of a call whose work, such as "the release", did not come to its end: the client has ended with its runtime, or
/// the work panicked.
pub(crate) fn cut_off(op: &'static str, tasks: &Tasks, work: &str) -> Error {
    match tasks.life() {
        Life::Open | Life::Closing | Life::ClosingAtOnce => {
            Error::new(ErrorKind::Internal, op, format!("{work} was cut off by a defect in libdlock; please report it"))
        }
        life @ (Life::Failed | Life::Closed | Life::Forked) => ended(op, life),
    }
}

#[cfg(test)]
mod tests {
    use tokio::runtime::Handle;

    use super::*;
    use crate::event::Events;

    #[tokio::test]
    async fn work_that_ends_with_the_runtime_is_closed_and_no_defect() {
        let tasks = Tasks::new(Handle::current(), Events::default());
        assert_eq!(cut_off("release", &tasks, "the release").kind(), ErrorKind::Internal);
        tasks.close();
        assert_eq!(cut_off("release", &tasks, "the release").kind(), ErrorKind::Closed);
    }
}
