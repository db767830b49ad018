//! What becomes of a call whose client ends meanwhile, or whose work is cut off.

use std::pin::Pin;

use crate::error::{Error, ErrorKind, Result};
use crate::task::{Life, Tasks};

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

/// The error of a call whose work, such as "the release", did not come to its end: its runtime was shut down, or it panicked.
pub(crate) fn cut_off(op: &'static str, work: &str) -> Error {
    let message = format!("{work} was cut off: its runtime was shut down, or libdlock has a defect");
    Error::new(ErrorKind::Internal, op, message)
}
