//! Everything global, hung off one value for each process: the runtime and the tables of handles.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use libdlock::{Error, ErrorKind, Result};
use libdlock_fork::PerProcess;
use tokio::runtime::{Builder, Runtime};

use crate::cancel::CancelEntry;
use crate::handle::{Handle, Kind, fork_bits, pack, unpack};
use crate::objects::{ClientEntry, HeldEntry, LimiterEntry, LockEntry, SnowflakeEntry};
use crate::park::Parker;
use crate::port::{OpEntry, PortEntry};
use crate::slab::{Missing, Slab};

static STATE: PerProcess<State> = PerProcess::new();

/// What libdlock keeps for this process. A forked child gets a new one with its first call; its parent's is leaked there.
pub struct State {
    generation: u32,
    /// Made by what needs it first; see [`State::runtime`].
    runtime: OnceLock<Runtime>,
    pub(crate) clients: Slab<ClientEntry>,
    pub(crate) locks: Slab<LockEntry>,
    pub(crate) helds: Slab<HeldEntry>,
    pub(crate) ports: Slab<PortEntry>,
    pub(crate) ops: Slab<OpEntry>,
    pub(crate) cancels: Slab<CancelEntry>,
    pub(crate) limiters: Slab<LimiterEntry>,
    pub(crate) snowflakes: Slab<SnowflakeEntry>,
}

/// This process's state, made on the first call and after a fork. Every exported function begins with it.
///
/// # Errors
/// `Internal` when the operating system refuses what a fork is noticed by.
pub fn enter() -> Result<&'static State> {
    libdlock_fork::watch().map_err(|error| refused(&error))?;
    STATE.get_or_try_init(State::new)
}

/// This process's state, if a call has made it.
pub(crate) fn current() -> Option<&'static State> {
    STATE.get()
}

/// Which process something was made in, of a line of forks: for hosts that keep handles in objects, whose ends come to a child
/// too. Asks the system for nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Process {
    /// This one. After the first [`enter`]: forks before it are not told apart.
    #[must_use]
    pub fn current() -> Self {
        Self(libdlock_fork::generation())
    }

    /// Whether it is this one.
    #[must_use]
    pub fn is_current(self) -> bool {
        self == Self::current()
    }
}

/// A pause in a blocking wait in which the host may say that it wants out (Python: a pending Ctrl-C).
pub struct Interrupt<'a> {
    /// How often to ask; 50 ms serves a person.
    pub every: Duration,
    /// `true` ends the wait with `Cancelled`.
    pub check: &'a mut dyn FnMut() -> bool,
}

impl State {
    fn new(generation: u32) -> Result<Self> {
        Ok(Self {
            generation,
            runtime: OnceLock::new(),
            clients: Slab::new(),
            locks: Slab::new(),
            helds: Slab::new(),
            ports: Slab::new(),
            ops: Slab::new(),
            cancels: Slab::new(),
            limiters: Slab::new(),
            snowflakes: Slab::new(),
        })
    }

    /// The fork generation that this state belongs to.
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// The runtime. It has one worker, because it only moves bytes and timers and on a small machine that is faster than two,
    /// unless the first client that is opened wants more.
    ///
    /// # Errors
    /// `Internal` when the operating system refuses a thread or a descriptor.
    pub(crate) fn runtime(&self) -> Result<&Runtime> {
        self.runtime_of(1)
    }

    /// The runtime, with so many workers if it is not there yet.
    pub(crate) fn runtime_of(&self, workers: usize) -> Result<&Runtime> {
        if let Some(runtime) = self.runtime.get() {
            return Ok(runtime);
        }
        let mut made = Builder::new_multi_thread();
        made.worker_threads(workers).thread_name("libdlock").enable_io().enable_time();
        let mut made = Some(made.build().map_err(|error| refused(&error))?);
        let runtime = self.runtime.get_or_init(|| made.take().expect("it is taken once"));
        // Somebody else was quicker. To drop it as it is would wait for its threads.
        made.into_iter().for_each(Runtime::shutdown_background);
        Ok(runtime)
    }

    /// Runs `future` to its end on the calling thread. One that is complete at once costs no wake-up.
    ///
    /// With an [`Interrupt`] the host is asked every so often whether it wants out; then the future is dropped (core leaves
    /// nothing behind) and the answer is `Cancelled`. While it is asked, the host may call the library as at any other time:
    /// a signal handler that closes a client is nothing unusual.
    pub fn wait<T>(&self, future: impl Future<Output = Result<T>>, interrupt: Option<Interrupt<'_>>) -> Result<T> {
        // Its timers are the runtime's, and what it spawns, also when it is dropped.
        let _context = self.runtime()?.enter();
        let mut future = pin!(future);
        let parker = Parker::of_this_thread();
        let waker = Waker::from(parker.clone());
        let mut context = Context::from_waker(&waker);
        // The first step may take a round trip, during which the host is not asked: its pause has begun.
        let mut interrupt = interrupt.map(|interrupt| (Instant::now() + interrupt.every, interrupt));
        loop {
            // Also after the host was asked: what it called on this thread may have taken a wake-up that was meant for this.
            if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
                return result;
            }
            let woken = parker.sleep(interrupt.as_ref().map(|(at, _)| *at));
            if !woken && let Some((at, Interrupt { every, check })) = &mut interrupt {
                if check() {
                    return Err(Error::new(ErrorKind::Cancelled, "wait", "the caller was interrupted"));
                }
                *at = Instant::now() + *every;
            }
        }
    }

    /// Starts `future` on the runtime; nobody waits for it.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        // Without a runtime there is nothing yet that could need it.
        if let Some(runtime) = self.runtime.get() {
            runtime.spawn(future);
        }
    }

    pub(crate) fn insert<T>(&self, kind: Kind, slab: &Slab<T>, value: Arc<T>) -> Result<Handle> {
        let key = slab
            .insert(value)
            .ok_or_else(|| Error::new(ErrorKind::Internal, "handle", "2^24 objects of one kind are open"))?;
        Ok(pack(kind, self.generation, key))
    }

    pub(crate) fn get<T>(&self, kind: Kind, slab: &Slab<T>, handle: Handle, op: &'static str) -> Result<Arc<T>> {
        let key = self.key(kind, handle, op)?;
        slab.get(key).map_err(|missing| explain(missing, kind, op))
    }

    pub(crate) fn remove<T>(&self, kind: Kind, slab: &Slab<T>, handle: Handle, op: &'static str) -> Result<Arc<T>> {
        let key = self.key(kind, handle, op)?;
        slab.remove(key).map_err(|missing| explain(missing, kind, op))
    }

    /// Refuses a handle of another kind, or from before a fork.
    pub(crate) fn check(&self, kind: Kind, handle: Handle, op: &'static str) -> Result<()> {
        self.key(kind, handle, op).map(drop)
    }

    fn key(&self, kind: Kind, handle: Handle, op: &'static str) -> Result<crate::slab::Key> {
        let parts = unpack(handle).ok_or_else(|| explain(Missing::NeverThere, kind, op))?;
        if parts.kind != kind {
            let message = format!("a {} was given where a {} belongs", parts.kind.as_str(), kind.as_str());
            return Err(Error::new(ErrorKind::InvalidArgument, op, message));
        }
        if parts.fork != fork_bits(self.generation) {
            let message =
                format!("this {} belongs to the process that forked this one; open a new client here", kind.as_str());
            return Err(Error::new(ErrorKind::Forked, op, message));
        }
        Ok(parts.key)
    }
}

fn explain(missing: Missing, kind: Kind, op: &'static str) -> Error {
    match missing {
        Missing::Removed => Error::new(ErrorKind::Closed, op, format!("this {} has been freed", kind.as_str())),
        Missing::NeverThere => {
            Error::new(ErrorKind::InvalidArgument, op, format!("this is no {} of libdlock", kind.as_str()))
        }
    }
}

fn refused(error: &std::io::Error) -> Error {
    let message = format!("the operating system refuses what libdlock's runtime needs: {error}");
    Error::new(ErrorKind::Internal, "start", message)
}
