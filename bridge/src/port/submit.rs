//! Operations on a port: submitted, completed once, cancelled.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use libdlock::{Error, ErrorKind, Result};

use super::near;
use super::pending::{Advance, Pending};
use super::{Completion, PortEntry, What};
use crate::guard::internal;
use crate::handle::Handle;
use crate::kinds::Object;
use crate::ops::Outcome;
use crate::state::State;

type Work = Pin<Box<dyn Future<Output = Result<Outcome>> + Send>>;

/// An operation that was submitted. It is its own waker: what it waits for calls it, and it takes its next step, on the
/// thread that submits something just then, or else on the runtime.
pub(crate) struct OpEntry {
    pending: Pending<Completion, Work>,
    user_data: u64,
    port: Handle,
    state: &'static State,
    /// Its own handle; 0 until it has one.
    handle: AtomicU64,
    /// A step is about to be taken.
    woken: AtomicBool,
}

impl State {
    /// Starts `future`; its result is drained from `port`, together with `user_data`.
    ///
    /// It has begun when this returns: it was polled once, here. So the handles that it needs have been looked up and may
    /// be freed, and what needs no I/O is complete. What that has woken among the operations of this process is carried on
    /// here too: a lock that is handed from one caller of an event loop to another needs no other thread.
    ///
    /// # Errors
    /// As for a port that is not there. Then nothing is started and no completion comes.
    pub fn submit<F, T>(&'static self, port: Handle, user_data: u64, future: F) -> Result<Handle>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Into<Outcome>,
    {
        let entry = self.port(port)?;
        self.submit_to(&entry, port, user_data, future)
    }

    /// As [`State::submit`] and [`State::drain`] in one, for a host whose thread in this call is the one that drains: what this
    /// call completes it returns, and the port does not ring for it.
    ///
    /// # Errors
    /// As [`State::submit`]; then nothing was drained either.
    pub fn submit_and_drain<F, T>(
        &'static self,
        port: Handle,
        user_data: u64,
        future: F,
        max: usize,
    ) -> Result<(Handle, Vec<Completion>)>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Into<Outcome>,
    {
        let entry = self.port(port)?;
        let _coming = entry.queue.coming();
        let op = self.submit_to(&entry, port, user_data, future)?;
        Ok((op, entry.take(max)))
    }

    fn submit_to<F, T>(&'static self, entry: &PortEntry, port: Handle, user_data: u64, future: F) -> Result<Handle>
    where
        F: Future<Output = Result<T>> + Send + 'static,
        T: Into<Outcome>,
    {
        // An `async` block around it would have room for it twice.
        let mut future = Box::pin(future);
        let work: Work = Box::pin(poll_fn(move |context| future.as_mut().poll(context).map_ok(Into::into)));
        let op = Arc::new(OpEntry {
            pending: Pending::new(entry.queue.clone(), work),
            user_data,
            port,
            state: self,
            handle: AtomicU64::new(0),
            woken: AtomicBool::new(false),
        });
        let handle = self.insert(op.clone())?;
        op.handle.store(handle, Ordering::Release);
        let begun = self.within(|| near::while_submitting(|| op.step()));
        if let Err(error) = begun {
            op.abandon();
            return Err(error);
        }
        // The port may have gone before this operation was there to be found.
        if entry.closed.load(Ordering::SeqCst) {
            op.abandon();
        }
        Ok(handle)
    }

    /// Cancels an operation: it completes at once with `Cancelled`. `false` when it was too late, that is, when its one
    /// completion has already been queued.
    pub fn cancel(&self, op: Handle) -> Result<bool> {
        let entry = match self.get::<OpEntry>(op, "cancel") {
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
        self.within(|| drop(work))?;
        entry.forget();
        Ok(true)
    }

    /// Ends the operations of a port that has gone, without completions.
    pub(super) fn abandon_operations(&self, port: Handle) -> Result<()> {
        let left = self.tables.ops.all(|op| op.port == port);
        if !left.is_empty() {
            self.within(|| left.iter().for_each(|op| op.abandon()))?;
        }
        Ok(())
    }
}

impl Object for OpEntry {
    /// It ends without a completion.
    fn freed(self: Arc<Self>, state: &'static State, _handle: Handle) -> Result<()> {
        state.within(|| self.abandon())
    }
}

impl OpEntry {
    /// Takes one step. Within the runtime's context.
    pub(super) fn step(self: &Arc<Self>) {
        // From here on whoever wakes it wants another step.
        self.woken.store(false, Ordering::SeqCst);
        let waker = Waker::from(self.clone());
        let mut context = Context::from_waker(&waker);
        let advanced = self.pending.advance(|work| match poll(work, &mut context) {
            Poll::Pending => None,
            Poll::Ready(result) => {
                let op = self.handle.load(Ordering::Acquire);
                Some(Completion { op, user_data: self.user_data, what: What::Done(result) })
            }
        });
        match advanced {
            Advance::Pending => return,
            Advance::Over => {}
            Advance::Undelivered(completion) => self.state.undo_completion(completion),
        }
        self.forget();
    }

    /// Its next step is the runtime's to take.
    pub(super) fn step_elsewhere(self: Arc<Self>) {
        let state = self.state;
        state.spawn(async move { self.step() });
    }

    pub(crate) fn abandon(&self) {
        drop(self.pending.abandon());
        self.forget();
    }

    /// The handle of an operation that is over is no use any more; whoever ended it first takes it away.
    fn forget(&self) {
        let _ = self.state.take::<Self>(self.handle.load(Ordering::Acquire), "complete");
    }
}

impl Wake for OpEntry {
    fn wake(self: Arc<Self>) {
        if !self.woken.swap(true, Ordering::SeqCst)
            && let Some(op) = near::keep(self)
        {
            op.step_elsewhere();
        }
    }
}

/// A panic becomes an `Internal` error: an operation that dies must still complete.
fn poll(work: &mut Work, context: &mut Context<'_>) -> Poll<Result<Outcome>> {
    catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context)))
        .unwrap_or_else(|panic| Poll::Ready(Err(internal("operation", &*panic))))
}
