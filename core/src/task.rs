//! Background tasks: where they run, and what happens when one of them panics.

use std::future::{Future, poll_fn};
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

use libdlock_fork::generation;
use tokio::runtime::{Handle, Runtime};
use tokio::sync::Notify;

use crate::blocking::may_block;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Events, Level};

/// Notices forks from now on.
pub(crate) fn watch_forks(op: &'static str) -> Result<()> {
    libdlock_fork::watch().map_err(|error| {
        let message = format!("the system has no memory for a fork handler: {error}");
        Error::new(ErrorKind::Internal, op, message)
    })
}

/// Spawns a client's tasks and knows whether the client is still to be trusted. Clones share one state.
#[derive(Clone)]
pub(crate) struct Tasks {
    runtime: Handle,
    /// The fork generation that the client belongs to.
    born: u32,
    state: Arc<State>,
    events: Events,
}

/// Looked at or counted in every call, so plain atomics; those who wait for a change are told of it.
#[derive(Default)]
struct State {
    /// A [`Life`].
    life: AtomicU8,
    advanced: Notify,
    /// How many operations are under way.
    operations: AtomicUsize,
    idle: Notify,
}

/// Counts as an operation under way for as long as it lives.
pub(crate) struct UnderWay {
    state: Arc<State>,
    born: u32,
}

impl UnderWay {
    fn is_forked(&self) -> bool {
        self.born != generation()
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        // In a forked child nobody waits for it, and telling that could wait for a thread that is not there.
        if !self.is_forked() && self.state.operations.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.state.idle.notify_waiters();
        }
    }
}

/// Completes with what `look` finds, as soon as it finds something after `changed` was told. Cancel safe.
async fn found<T>(changed: &Notify, look: impl Fn() -> Option<T>) -> T {
    loop {
        let mut next = pin!(changed.notified());
        // From here on no change is missed.
        next.as_mut().enable();
        if let Some(found) = look() {
            return found;
        }
        next.await;
    }
}

/// Work that is done where it is awaited, without the way to another task and back, and that goes on in a task when it is
/// dropped before its end. `None` when it panicked, which ends only itself.
pub(crate) struct Operation<T: Send + 'static> {
    work: Option<Work<T>>,
    runtime: Handle,
}

/// What an operation does, and that it is under way. Side by side: an `async` block around the work would have room for it
/// twice.
type Work<T> = (Pin<Box<dyn Future<Output = T> + Send>>, UnderWay);

impl<T: Send + 'static> Future for Operation<T> {
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        let Some((work, _)) = &mut self.work else { return Poll::Ready(None) };
        let done = match catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(context))) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(done)) => Some(done),
            Err(_) => None,
        };
        self.work = None;
        Poll::Ready(done)
    }
}

impl<T: Send + 'static> Drop for Operation<T> {
    fn drop(&mut self) {
        if let Some((work, under_way)) = self.work.take() {
            if under_way.is_forked() {
                // As the client: leaked in a forked child.
                mem::forget(work);
                return;
            }
            drop(self.runtime.spawn(async move {
                drop(work.await);
                drop(under_way);
            }));
        }
    }
}

/// The stages of a client, in the only order in which they can follow one another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Life {
    Open,
    /// Being closed by a caller who wants everything released first: nothing new begins, waits end.
    Closing,
    /// Being closed by a caller that waits for no more than a moment: holds are over, and what is owed is done now or never.
    ClosingAtOnce,
    /// A background task panicked: what it looked after can no longer be trusted.
    Failed,
    Closed,
    /// This process is a forked child of the client's. Its threads are not here, and what they had locked stays locked: nothing
    /// of the client may be touched, or dropped.
    Forked,
}

impl Tasks {
    pub(crate) fn new(runtime: Handle, events: Events) -> Tasks {
        Tasks { runtime, born: generation(), state: Arc::default(), events }
    }

    pub(crate) fn is_forked(&self) -> bool {
        self.born != generation()
    }

    /// In a forked child, has a part of the client outlive its user, which is being dropped: what is in it may be locked by a
    /// thread that is not here. Whether this is one.
    pub(crate) fn leak_if_forked<T>(&self, part: &Arc<T>) -> bool {
        let forked = self.is_forked();
        if forked {
            mem::forget(part.clone());
        }
        forked
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    pub(crate) fn life(&self) -> Life {
        if self.is_forked() {
            return Life::Forked;
        }
        [Life::Open, Life::Closing, Life::ClosingAtOnce, Life::Failed, Life::Closed]
            [usize::from(self.state.life.load(Ordering::SeqCst))]
    }

    pub(crate) fn begin_to_close(&self) {
        self.advance(Life::Closing);
    }

    pub(crate) fn begin_to_close_at_once(&self) {
        self.advance(Life::ClosingAtOnce);
    }

    pub(crate) fn close(&self) {
        self.advance(Life::Closed);
    }

    fn advance(&self, to: Life) {
        if self.is_forked() {
            return;
        }
        if self.state.life.fetch_max(to as u8, Ordering::SeqCst) < to as u8 {
            self.state.advanced.notify_waiters();
        }
    }

    async fn reached(&self, there: impl Fn(Life) -> bool) -> Life {
        found(&self.state.advanced, || Some(self.life()).filter(|life| there(*life))).await
    }

    /// Completes when the client has left [`Life::Open`], and says for what. Cancel safe.
    pub(crate) async fn ended(&self) -> Life {
        self.reached(|life| life != Life::Open).await
    }

    /// Completes when holds can no longer be looked after, and says why. Cancel safe.
    pub(crate) async fn over(&self) -> Life {
        self.reached(|life| life > Life::Closing).await
    }

    /// Completes when the client closes within a moment, or was closed, and says which. Cancel safe.
    pub(crate) async fn closing_at_once(&self) -> Life {
        self.reached(|life| matches!(life, Life::ClosingAtOnce | Life::Closed)).await
    }

    /// Completes when the client was closed. Cancel safe.
    pub(crate) async fn closed(&self) {
        self.reached(|life| life == Life::Closed).await;
    }

    /// Runs an operation on the server to its end, whatever happens to those who wait for it. A panic ends only itself.
    pub(crate) fn spawn_operation(&self, task: impl Future<Output = ()> + Send + 'static) {
        // Boxed here: on its way into the runtime it is moved several times, and it is large.
        let (task, under_way) = (Box::pin(task), self.under_way());
        self.spawn(async move {
            task.await;
            drop(under_way);
        });
    }

    /// An operation on the server that is carried out by whoever awaits it; see [`Operation`].
    pub(crate) fn operation<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Operation<T> {
        Operation { work: Some((Box::pin(work), self.under_way())), runtime: self.runtime.clone() }
    }

    pub(crate) fn under_way(&self) -> UnderWay {
        self.state.operations.fetch_add(1, Ordering::SeqCst);
        UnderWay { state: self.state.clone(), born: self.born }
    }

    /// Whether no operation is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.state.operations.load(Ordering::SeqCst) == 0
    }

    /// Completes when no operation is under way. Cancel safe.
    pub(crate) async fn idle(&self) {
        found(&self.state.idle, || self.is_idle().then_some(())).await;
    }

    /// Runs a future to its end on the calling thread, which may block. What is complete at once costs no more than its one
    /// poll.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        let poll = |context: &mut Context<'_>, work: Pin<&mut _>| may_block(|| Future::poll(work, context));
        {
            let _context = self.runtime.enter();
            if let Poll::Ready(done) = poll(&mut Context::from_waker(Waker::noop()), work.as_mut()) {
                return done;
            }
        }
        self.runtime.block_on(poll_fn(|context| poll(context, work.as_mut())))
    }

    /// Runs a task that nothing waits for. A panic in it ends only itself.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(task));
    }

    /// Runs a task that the client depends on until the client is closed. When it panics the client has failed: holds are
    /// lost, waiters are told, the process lives.
    pub(crate) fn spawn_vital(&self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        let tasks = self.clone();
        let inner = self.runtime.spawn(task);
        let stop = inner.abort_handle();
        self.spawn(async move {
            tokio::select! {
                outcome = inner => {
                    if outcome.is_err_and(|error| error.is_panic()) {
                        let message = format!("the background task {name:?} of libdlock panicked; close this client and open a new one");
                        tasks.events.emit(Level::Error, None, message);
                        tasks.advance(Life::Failed);
                    }
                }
                () = tasks.closed() => stop.abort(),
            }
        });
    }
}

/// A runtime that ends when it is dropped, without waiting: the last reference to a client may go in one of its tasks.
pub(crate) struct OwnRuntime(Option<Runtime>);

impl OwnRuntime {
    pub(crate) fn new(runtime: Runtime) -> OwnRuntime {
        OwnRuntime(Some(runtime))
    }

    pub(crate) fn get(&self) -> &Runtime {
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(Runtime::shutdown_background);
    }
}

/// Panics where a fault test asks for it: in a debug build, when the file that the environment's
/// `DLOCK_PANIC_TASK_FILE` names exists and holds `name`.
#[cfg(debug_assertions)]
pub(crate) fn fault_point(name: &str) {
    let wanted = std::env::var_os("DLOCK_PANIC_TASK_FILE").and_then(|path| std::fs::read_to_string(path).ok());
    if wanted.is_some_and(|wanted| wanted.trim() == name) {
        panic!("injected into {name}");
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn fault_point(_name: &str) {}
