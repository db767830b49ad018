//! How a client ends: what becomes of its waiters, its holds and its tasks.

use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::JoinSet;

use super::Context;
use crate::ended::ended;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{HolderId, LossReason};
use crate::task::{Life, Tasks};
use crate::wait::by_deadline;

/// How long a client that closes may take to leave queues.
const LEAVING: Duration = Duration::from_millis(50);

impl Context {
    /// Fails all waiters, ends all holds as lost, and leaves the queues in [`LEAVING`].
    pub(crate) async fn close(self: &Arc<Context>) {
        if self.tasks.is_forked() {
            return;
        }
        self.tasks.begin_to_close_at_once();
        self.refuse_waiters(Life::ClosingAtOnce);
        self.keeper.end(LossReason::Closed);
        let context = self.clone();
        let closing = self.tasks.runtime().spawn(async move {
            // A place that is not left costs the waiter behind it seconds.
            let _ = tokio::time::timeout(LEAVING, context.tasks.idle()).await;
            context.tasks.close();
        });
        // A runtime that is shut down cuts this off, and leaves nothing to close.
        let _ = closing.await;
    }

    /// Fails all waiters, releases all holds, then closes. The first release that failed.
    pub(crate) async fn close_releasing(self: &Arc<Context>) -> Result<()> {
        let context = self.clone();
        if context.tasks.is_forked() {
            return Err(ended("close", Life::Forked));
        }
        // From here on: an object that its last user drops now must still be released, and not abandoned.
        let objects = context.objects.all();
        let closing = self.tasks.runtime().spawn(async move {
            let _objects = objects;
            context.tasks.begin_to_close();
            context.refuse_waiters(Life::Closing);
            let first = context.release_all().await;
            // Attempts that were under way may have been granted since. A server that does not answer holds nothing up:
            // each operation has its own deadline, and this is the latest of them.
            by_deadline(&context.clock, context.operation_deadline(), pin!(context.tasks.idle())).await;
            let released = first.and(context.release_all().await);
            context.end();
            released
        });
        let cut_off = |_| {
            let message =
                "the runtime of the client was shut down before everything was released; leases run out by themselves";
            Err(Error::new(ErrorKind::Closed, "close", message))
        };
        closing.await.unwrap_or_else(cut_off)
    }

    /// Ends every hold of a holder that went away, without telling the server.
    pub(crate) fn abandon(&self, holder: HolderId) {
        if !self.tasks.is_forked() {
            self.objects.all().iter().for_each(|object| object.abandon(holder));
        }
    }

    /// Has no hold keep its object alive any longer.
    pub(crate) fn let_go(&self) {
        if !self.tasks.is_forked() {
            self.objects.all().iter().for_each(|object| object.let_go());
        }
    }

    /// Closes when its last user is gone: after what is under way, such as the release of a grant that nobody wants.
    pub(super) fn close_unused(&self) {
        let end = CloseOnDrop::new(&self.tasks);
        if self.tasks.is_forked() || self.tasks.is_idle() {
            return;
        }
        let (tasks, clock) = (self.tasks.clone(), self.clock.clone());
        // The last release of what may arrive late begins one `operation_timeout` from now at the latest.
        let deadline = self.operation_deadline().plus(self.options.operation_timeout);
        self.tasks.spawn(async move {
            by_deadline(&clock, deadline, pin!(tasks.idle())).await;
            drop(end);
        });
    }

    fn end(&self) {
        self.tasks.close();
        self.keeper.end(LossReason::Closed);
    }

    fn refuse_waiters(&self, life: Life) {
        let error = ended("acquire", life);
        self.objects.all().iter().for_each(|object| object.refuse_waiters(&error));
    }

    /// Releases everything that is held, all at once; the first error of any.
    async fn release_all(&self) -> Result<()> {
        let mut releases = JoinSet::new();
        for release in self.objects.all().into_iter().flat_map(|object| object.release_all()) {
            releases.spawn_on(release, self.tasks.runtime());
        }
        releases.join_all().await.into_iter().collect()
    }
}

/// Closes a client whose runtime is shut down. It belongs to a task that otherwise lives until the client was closed.
pub(super) struct EndWithRuntime(Weak<Context>);

impl EndWithRuntime {
    /// Fails the waiters of a client as soon as it ends, in whatever way.
    pub(super) fn watch(context: &Arc<Context>) {
        let (end, tasks) = (EndWithRuntime(Arc::downgrade(context)), context.tasks.clone());
        context.tasks.spawn(async move {
            let life = tasks.ended().await;
            end.0.upgrade().into_iter().for_each(|context| context.refuse_waiters(life));
            tasks.closed().await;
            drop(end);
        });
    }
}

impl Drop for EndWithRuntime {
    fn drop(&mut self) {
        if let Some(context) = self.0.upgrade()
            && !matches!(context.tasks.life(), Life::Closed | Life::Forked)
        {
            context.tasks.begin_to_close();
            context.refuse_waiters(Life::Closing);
            context.end();
        }
    }
}

/// Ends the tasks of a client whose connect failed, or that nobody uses any more.
pub(super) struct CloseOnDrop(Option<Tasks>);

impl CloseOnDrop {
    pub(super) fn new(tasks: &Tasks) -> CloseOnDrop {
        CloseOnDrop(Some(tasks.clone()))
    }

    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for CloseOnDrop {
    fn drop(&mut self) {
        if let Some(tasks) = &self.0 {
            tasks.close();
        }
    }
}
