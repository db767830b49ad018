//! Everything global, hung off one value for each process: the runtime and the tables of handles.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use libdlock::embed::may_block;
use libdlock::{Error, ErrorKind, Result};
use libdlock_fork::PerProcess;

use crate::ending::elsewhere;
use crate::engine::{Engine, Using};
use crate::handle::{Handle, life_bits, pack, unpack};
use crate::holder::Threads;
use crate::kinds::{Entry, HandleKind, Tables};
use crate::park::Parker;
use crate::refused::refused;
use crate::slab::Missing;

static STATE: PerProcess<State> = PerProcess::new();
/// Restarts after a shutdown, in the line of forks that ends in this process.
static RESTARTS: AtomicU32 = AtomicU32::new(0);

/// The objects and threads of libdlock in this process. A forked child gets a new one with its first call; its parent's is leaked
/// there. A restart leaks the one that a shutdown has ended: late calls of other threads find there that it has ended.
pub struct State {
    /// The fork generation.
    generation: u32,
    /// No other state has this number of those that can meet: of this process, and of those that it was forked from.
    life: u32,
    /// That of this process's first state.
    first_life: u32,
    /// Ended, by a shutdown that is complete.
    pub(crate) over: AtomicBool,
    /// So that leak checkers reach it.
    _before: Option<&'static State>,
    pub(crate) engine: Engine,
    pub(crate) tables: Tables,
    pub(crate) threads: Threads,
}

/// This process's state, made on the first call and after a fork. Every exported function begins with it.
///
/// # Errors
/// `Internal` when the operating system refuses what a fork is noticed by; `Closed` after [`shutdown`](crate::shutdown).
pub fn enter() -> Result<&'static State> {
    let state = known()?;
    state.engine.check()?;
    Ok(state)
}

/// As [`enter`], for a call that needs no object from before: after a [`shutdown`](crate::shutdown) that is complete, it starts
/// libdlock again, with a state like that of a forked child.
///
/// # Errors
/// As [`enter`]; `Closed` while a shutdown is under way.
pub fn enter_or_restart() -> Result<&'static State> {
    let state = known()?;
    if state.over.load(Ordering::Acquire) {
        STATE.replace(state, |generation| state.next(generation))?;
    }
    enter()
}

/// As [`enter`], also after [`shutdown`](crate::shutdown).
#[inline]
pub(crate) fn known() -> Result<&'static State> {
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
        let life = generation.wrapping_add(RESTARTS.load(Ordering::Relaxed));
        Ok(Self {
            generation,
            life,
            first_life: life,
            over: AtomicBool::new(false),
            _before: None,
            engine: Engine::default(),
            tables: Tables::new(),
            threads: Threads::default(),
        })
    }

    /// The state after this one, in the same process or in a forked child.
    fn next(&'static self, generation: u32) -> Result<Self> {
        RESTARTS.fetch_add(1, Ordering::Relaxed);
        let mut next = Self::new(generation)?;
        if generation == self.generation {
            (next.first_life, next._before) = (self.first_life, Some(self));
        }
        Ok(next)
    }

    /// The runtime, for as long as the caller keeps what it gets.
    ///
    /// # Errors
    /// `Internal` when the operating system refuses a thread or a descriptor; `Closed` after [`shutdown`](crate::shutdown).
    pub(crate) fn runtime(&self) -> Result<Using<'_>> {
        self.engine.using(1)
    }

    /// Runs `future` to its end on the calling thread, which may block: it does a round trip itself where it can. One that is
    /// complete at once costs no wake-up.
    ///
    /// With an [`Interrupt`] the host is asked every so often whether it wants out; then the future is dropped (core leaves
    /// nothing behind) and the answer is `Cancelled`. While it is asked, the host may call the library as at any other time:
    /// a signal handler that closes a client is nothing unusual.
    ///
    /// On a thread that is ending (see `ending.rs`) another thread runs it, and no host is asked.
    pub fn wait<T: Send>(
        &self,
        future: impl Future<Output = Result<T>> + Send,
        interrupt: Option<Interrupt<'_>>,
    ) -> Result<T> {
        match Parker::of_this_thread() {
            Some(parker) => self.wait_parked(&parker, future, interrupt),
            None => elsewhere(|| match Parker::of_this_thread() {
                Some(parker) => self.wait_parked(&parker, future, None),
                None => unreachable!("a thread that has just begun has all of its values"),
            })?,
        }
    }

    fn wait_parked<T>(
        &self,
        parker: &Arc<Parker>,
        future: impl Future<Output = Result<T>>,
        interrupt: Option<Interrupt<'_>>,
    ) -> Result<T> {
        if parker.enlist(self.life) {
            self.engine.enlist(parker);
        }
        // Its timers are the runtime's, and what it spawns, also when it is dropped.
        let runtime = self.runtime()?;
        let _context = runtime.enter();
        let mut future = pin!(future);
        let waker = Waker::from(parker.clone());
        let mut context = Context::from_waker(&waker);
        // The first step may take a round trip, during which the host is not asked: its pause has begun.
        let mut interrupt = interrupt.map(|interrupt| (Instant::now() + interrupt.every, interrupt));
        loop {
            self.engine.check()?;
            // Also after the host was asked: what it called on this thread may have taken a wake-up that was meant for this.
            if let Poll::Ready(result) = may_block(|| future.as_mut().poll(&mut context)) {
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

    /// Does `work` within the runtime, for what starts tasks or timers there: on the calling thread, or for one that is ending
    /// on another.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let here = || {
            let runtime = self.runtime()?;
            let _context = runtime.enter();
            Ok(work())
        };
        if Parker::none_here() { elsewhere(here)? } else { here() }
    }

    /// Starts `future` on the runtime; nobody waits for it.
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        // Without a runtime there is nothing yet that could need it.
        if let Some(runtime) = self.engine.made() {
            runtime.spawn(future);
        }
    }

    /// Gives an object its handle.
    pub(crate) fn insert<E: Entry>(&self, object: Arc<E>) -> Result<Handle> {
        let Some(key) = E::table(&self.tables).insert(object) else {
            // The end of the library closes its tables.
            self.engine.check()?;
            return Err(Error::new(ErrorKind::Internal, "handle", "2^24 objects of one kind are open"));
        };
        Ok(pack(E::KIND as u8, self.life, key))
    }

    pub(crate) fn get<E: Entry>(&self, handle: Handle, op: &'static str) -> Result<Arc<E>> {
        let key = self.key(E::KIND, handle, op)?;
        E::table(&self.tables).get(key).map_err(|missing| explain(missing, E::KIND, op))
    }

    /// Takes an object out of its table: of several callers one gets it.
    pub(crate) fn take<E: Entry>(&self, handle: Handle, op: &'static str) -> Result<Arc<E>> {
        let key = self.key(E::KIND, handle, op)?;
        E::table(&self.tables).remove(key).map_err(|missing| explain(missing, E::KIND, op))
    }

    /// The number of this state; see the field.
    pub(crate) fn life(&self) -> u32 {
        self.life
    }

    /// Refuses a handle of another kind, or from before a fork or a shutdown.
    pub(crate) fn check(&self, kind: HandleKind, handle: Handle, op: &'static str) -> Result<()> {
        self.key(kind, handle, op).map(drop)
    }

    fn key(&self, kind: HandleKind, handle: Handle, op: &'static str) -> Result<crate::slab::Key> {
        let never = || if handle == 0 { not_given(kind, op) } else { explain(Missing::NeverThere, kind, op) };
        let parts = unpack(handle).ok_or_else(never)?;
        let given = HandleKind::of(parts).ok_or_else(never)?;
        if given != kind {
            let message = format!("a {} was given where a {} belongs", given.as_str(), kind.as_str());
            return Err(Error::new(ErrorKind::InvalidArgument, op, message));
        }
        let ago = life_bits(self.life.wrapping_sub(parts.life));
        if ago > 0 && ago <= self.life.wrapping_sub(self.first_life) {
            let message = format!("dlock_shutdown() has ended this {}", kind.as_str());
            return Err(Error::new(ErrorKind::Closed, op, message));
        }
        if ago > 0 {
            let message =
                format!("this {} belongs to the process that forked this one; open a new client here", kind.as_str());
            return Err(Error::new(ErrorKind::Forked, op, message));
        }
        Ok(parts.key)
    }
}

/// C has NULL for an object that it has not opened, and C++ for one that was moved from or released.
fn not_given(kind: HandleKind, op: &'static str) -> Error {
    let kind = kind.as_str();
    let message = format!("null was given where a {kind} belongs: it was not made, or it was moved from or released");
    Error::new(ErrorKind::InvalidArgument, op, message)
}

fn explain(missing: Missing, kind: HandleKind, op: &'static str) -> Error {
    match missing {
        Missing::Removed => Error::new(ErrorKind::Closed, op, format!("this {} has been freed", kind.as_str())),
        Missing::NeverThere => {
            Error::new(ErrorKind::InvalidArgument, op, format!("this is no {} of libdlock", kind.as_str()))
        }
    }
}
