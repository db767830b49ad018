//! Operations on a port: submitted, completed once, cancelled.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};

use libdlock::{Error, ErrorKind, Result};
use tokio::task::AbortHandle;

use super::pending::{Advance, Pending};
use super::{Completion, What};
use crate::guard::internal;
use crate::handle::{Handle, Kind};
use crate::ops::Outcome;
use crate::state::State;

type Work = Pin<Box<dyn Future<Output = Result<Outcome>> + Send>>;

pub(crate) struct OpEntry {
    pending: Pending<Completion, Work>,
    user_data: u64,
    /// What carries the operation on, if it was not over at once.
    task: OnceLock<AbortHandle>,
}

impl State {
    /// Starts `future`; its result is drained from `port`, together with `user_data`.
    ///
    /// It has begun when this returns: it was polled once, here. So the handles that it needs have been looked up and may
    /// be freed, and what needs no I/O is complete.
    ///
    /// # Errors
    /// As for a port that is not there. Then nothing is started and no completion comes.
    pub fn submit<F, T>(&'static self, port: Handle, user_data: u64, future: F) -> Result<Handle>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Into<Outcome>,
    {
        let port = self.port(port)?;
        let runtime = self.runtime()?;
        let work: Work = Box::pin(async move { future.await.map(Into::into) });
        let pending = Pending::new(port.queue.clone(), work);
        let entry = Arc::new(OpEntry { pending, user_data, task: OnceLock::new() });
        let op = self.insert(Kind::Op, &self.ops, entry.clone())?;
        let _context = runtime.enter();
        // The task polls again with a waker of its own, so that this one need not wake anybody.
        if self.advance(op, &entry, &mut Context::from_waker(Waker::noop())).is_ready() {
            return Ok(op);
        }
        let mut closed = port.closed.subscribe();
        let working = entry.clone();
        let task = runtime.spawn(async move {
            tokio::select! {
                biased;
                _ = closed.wait_for(|closed| *closed) => {
                    drop(working.pending.abandon());
                    self.forget(op);
                }
                () = poll_fn(|context| self.advance(op, &working, context)) => {}
            }
        });
        // Empty until here: there is one submission.
        let _ = entry.task.set(task.abort_handle());
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
        let Some(work) = entry.pending.end(completion) else {
            return Ok(false);
        };
        // Whatever it was waiting for, core now leaves nothing behind; for that it needs the runtime.
        let _context = self.runtime()?.enter();
        drop(work);
        if let Some(task) = entry.task.get() {
            task.abort();
        }
        self.forget(op);
        Ok(true)
    }

    /// Takes one step of an operation.
    fn advance(&'static self, op: Handle, entry: &OpEntry, context: &mut Context<'_>) -> Poll<()> {
        let advanced = entry.pending.advance(|work| match poll(work, context) {
            Poll::Pending => None,
            Poll::Ready(result) => Some(Completion { op, user_data: entry.user_data, what: What::Done(result) }),
        });
        match advanced {
            Advance::Pending => return Poll::Pending,
            Advance::Over => {}
            Advance::Undelivered(completion) => self.undo(completion),
        }
        self.forget(op);
        Poll::Ready(())
    }

    /// The handle of an operation that is over is no use any more; whoever ended it first takes it away.
    fn forget(&self, op: Handle) {
        let _ = self.remove(Kind::Op, &self.ops, op, "complete");
    }
}

/// A panic becomes an `Internal` error: an operation that dies must still complete.
fn poll(work: &mut Work, context: &mut Context<'_>) -> Poll<Result<Outcome>> {
    catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
        .unwrap_or_else(|panic| Poll::Ready(Err(internal("operation", &*panic))))
}
