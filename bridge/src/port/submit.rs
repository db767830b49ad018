//! Operations on a port: submitted, completed once, cancelled.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use libdlock::{Error, ErrorKind, Result};
use tokio::sync::Notify;

use super::pending::Pending;
use super::{Completion, What};
use crate::guard::internal;
use crate::handle::{Handle, Kind};
use crate::ops::Outcome;
use crate::state::State;

pub(crate) struct OpEntry {
    pending: Pending<Completion>,
    user_data: u64,
    cancelled: Notify,
}

impl State {
    /// Starts `future` on the runtime; its result is drained from `port`, together with `user_data`.
    ///
    /// # Errors
    /// As for a port that is not there. Then nothing is started and no completion comes.
    pub fn submit<F>(&'static self, port: Handle, user_data: u64, future: F) -> Result<Handle>
    where
        F: Future<Output = Result<Outcome>> + Send + 'static,
    {
        let port = self.port(port)?;
        let entry =
            Arc::new(OpEntry { pending: Pending::new(port.queue.clone()), user_data, cancelled: Notify::new() });
        let op = self.insert(Kind::Op, &self.ops, entry.clone())?;
        let mut closed = port.closed.subscribe();
        self.spawn(async move {
            // Whatever ends the wait also drops the future: core then leaves nothing behind.
            let result = tokio::select! {
                biased;
                () = entry.cancelled.notified() => None,
                _ = closed.wait_for(|closed| *closed) => None,
                result = caught(future) => Some(result),
            };
            // Before the completion can be drained, so that a host never meets a live handle of a finished operation. Only
            // this task removes it.
            let _ = self.remove(Kind::Op, &self.ops, op, "complete");
            if let Some(result) = result {
                let completion = Completion { op, user_data, what: What::Done(result) };
                if let Err(late) = entry.pending.complete(completion) {
                    self.undo(late);
                }
            }
        });
        Ok(op)
    }

    /// Cancels an operation: it completes at once with `Cancelled`. `false` when it was too late, that is, when its one
    /// completion has already been queued.
    pub fn cancel(&self, op: Handle) -> Result<bool> {
        let entry = match self.get(Kind::Op, &self.ops, op, "cancel") {
            Ok(entry) => entry,
            Err(error) if error.kind() == ErrorKind::Closed => return Ok(false),
            Err(error) => return Err(error),
        };
        let error = Error::new(ErrorKind::Cancelled, "cancel", "the operation was cancelled");
        let completion = Completion { op, user_data: entry.user_data, what: What::Done(Err(error)) };
        let cancelled = entry.pending.complete(completion).is_ok();
        entry.cancelled.notify_one();
        Ok(cancelled)
    }
}

/// `future`, with a panic turned into an `Internal` error: an operation that dies must still complete.
async fn caught<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let mut future = Box::pin(future);
    poll_fn(move |context| {
        catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)))
            .unwrap_or_else(|panic| std::task::Poll::Ready(Err(internal("operation", &*panic))))
    })
    .await
}
