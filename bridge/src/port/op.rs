//! An operation that was submitted: carried on step by step, completed once.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use libdlock::Result;

use super::near;
use super::pending::{Advance, Pending};
use super::queue::Queue;
use super::{Completion, What};
use crate::guard::internal;
use crate::handle::Handle;
use crate::outcome::Outcome;

/// The work of an operation.
pub(crate) type Work = Pin<Box<dyn Future<Output = Result<Outcome>> + Send>>;

/// What an operation needs of the process that carries it out.
pub(crate) trait Carrier: Sync {
    /// Takes the operation's next step on the runtime.
    fn step(&'static self, op: Arc<OpEntry>);
    /// Lets go of what a completion that nobody gets has brought.
    fn undo(&'static self, completion: Completion);
    /// The handle of an operation that is over is no use any more; whoever ended it first takes it away.
    fn forget(&self, op: Handle);
}

/// An operation that was submitted. It is its own waker: what it waits for calls it, and it takes its next step, on the
/// thread that submits something just then, or else on the runtime.
pub(crate) struct OpEntry {
    pub(crate) pending: Pending<Completion, Work>,
    pub(crate) user_data: u64,
    pub(crate) port: Handle,
    carrier: &'static dyn Carrier,
    /// Its own handle; 0 until it has one.
    handle: AtomicU64,
    /// A step is about to be taken.
    woken: AtomicBool,
}

impl OpEntry {
    pub(crate) fn new(
        carrier: &'static dyn Carrier,
        queue: Arc<Queue<Completion>>,
        port: Handle,
        user_data: u64,
        work: Work,
    ) -> Self {
        Self {
            pending: Pending::new(queue, work),
            user_data,
            port,
            carrier,
            handle: AtomicU64::new(0),
            woken: AtomicBool::new(false),
        }
    }

    /// Says what its handle is.
    pub(crate) fn is_under(&self, handle: Handle) {
        self.handle.store(handle, Ordering::Release);
    }

    /// Takes one step. Within the runtime's context.
    pub(crate) fn step(self: &Arc<Self>) {
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
            Advance::Undelivered(completion) => self.carrier.undo(completion),
        }
        self.forget();
    }

    /// Its next step is the runtime's to take.
    pub(super) fn step_elsewhere(self: Arc<Self>) {
        let carrier = self.carrier;
        carrier.step(self);
    }

    pub(crate) fn abandon(&self) {
        drop(self.pending.abandon());
        self.forget();
    }

    /// Takes its handle away: it is over.
    pub(crate) fn forget(&self) {
        self.carrier.forget(self.handle.load(Ordering::Acquire));
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
