//! Operations on a port: submitted, completed once, cancelled.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use libdlock::{Error, ErrorKind, Result};

use crate::ends::HandleEnd;
use crate::handle::Handle;
use crate::outcome::Outcome;
use crate::port::{Carrier, Completion, OpEntry, PortEntry, What, Work, near};
use crate::state::State;

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
        let op = Arc::new(OpEntry::new(self, entry.queue.clone(), port, user_data, work));
        let handle = self.insert(op.clone())?;
        op.is_under(handle);
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
    pub(crate) fn abandon_operations(&self, port: Handle) -> Result<()> {
        let left = self.tables.ops.all(|op| op.port == port);
        if !left.is_empty() {
            self.within(|| left.iter().for_each(|op| op.abandon()))?;
        }
        Ok(())
    }
}

impl HandleEnd for OpEntry {
    /// It ends without a completion.
    fn freed(self: Arc<Self>, state: &'static State, _handle: Handle) -> Result<()> {
        state.within(|| self.abandon())
    }
}

impl Carrier for State {
    fn step(&'static self, op: Arc<OpEntry>) {
        self.spawn(async move { op.step() });
    }

    fn undo(&'static self, completion: Completion) {
        self.undo_completion(completion);
    }

    fn forget(&self, op: Handle) {
        let _ = self.take::<OpEntry>(op, "complete");
    }
}
