//! The runtime of a process: made by the first call that needs it, ended by `dlock_shutdown`, and in between not taken away
//! under a call.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, TryLockError, Weak};
use std::task::Wake;
use std::thread;
use std::time::{Duration, Instant};

use libdlock::{Error, ErrorKind, Result};
use libdlock_fork::without_signals;
use tokio::runtime::{Builder, Runtime};

use crate::park::Parker;
use crate::refused::refused;
use crate::sync::lock;

/// How long the end waits for the calls of other threads. They are all woken; what is left may read one last answer.
const LEAVING: Duration = Duration::from_secs(5);
/// How long it then waits for the runtime's threads: one may be asking the system for a host's address.
const STOPPING: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(crate) struct Engine {
    /// Calls that use the runtime hold it for reading.
    runtime: RwLock<Option<Runtime>>,
    /// Held while the runtime is made. So nobody waits to write while a call reads, until the end.
    making: Mutex<()>,
    ended: AtomicBool,
    /// Held by the one thread that carries the end out.
    turn: Mutex<()>,
    /// The threads that have waited for something, to be woken at the end.
    parkers: Mutex<Vec<Weak<Parker>>>,
}

/// The runtime, which stays for as long as this is kept.
pub(crate) struct Using<'a>(RwLockReadGuard<'a, Option<Runtime>>);

impl Deref for Using<'_> {
    type Target = Runtime;

    fn deref(&self) -> &Runtime {
        self.0.as_ref().expect("checked when this was made")
    }
}

impl Engine {
    /// Refuses what is called after the end.
    pub(crate) fn check(&self) -> Result<()> {
        if self.ended.load(Ordering::Acquire) { Err(ended()) } else { Ok(()) }
    }

    /// The runtime, if there is one.
    pub(crate) fn made(&self) -> Option<Using<'_>> {
        let guard = match self.runtime.try_read() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The end waits for those who are in. A nested reader that waited for it in turn would never return.
            Err(TryLockError::WouldBlock) if self.ended.load(Ordering::Acquire) => return None,
            Err(TryLockError::WouldBlock) => self.runtime.read().unwrap_or_else(PoisonError::into_inner),
        };
        guard.is_some().then(|| Using(guard))
    }

    /// The runtime, with so many workers if it is not there yet. It has one by default, because it only moves bytes and timers
    /// and on a small machine that is faster than two.
    ///
    /// # Errors
    /// `Internal` when the operating system refuses a thread or a descriptor; `Closed` after the end.
    pub(crate) fn using(&self, workers: usize) -> Result<Using<'_>> {
        loop {
            if let Some(using) = self.made() {
                return Ok(using);
            }
            let _making = lock(&self.making);
            self.check()?;
            if self.made().is_none() {
                let mut builder = Builder::new_multi_thread();
                builder.worker_threads(workers).thread_name("libdlock").enable_io().enable_time();
                let made = without_signals(|| builder.build()).map_err(|error| refused(&error))?;
                *self.runtime.write().unwrap_or_else(PoisonError::into_inner) = Some(made);
            }
        }
    }

    /// Has the end wake the calling thread. A thread that finds no end afterwards will be woken by it.
    pub(crate) fn enlist(&self, parker: &Arc<Parker>) {
        let mut parkers = lock(&self.parkers);
        if parkers.len() == parkers.capacity() {
            parkers.retain(|parker| parker.strong_count() > 0);
        }
        parkers.push(Arc::downgrade(parker));
    }

    /// From here on nothing begins, and those who wait are woken to find out.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::Release);
        // Who makes the runtime now does so before or not at all.
        drop(lock(&self.making));
        lock(&self.parkers).iter().filter_map(Weak::upgrade).for_each(|parker| parker.wake());
    }

    /// Keeps other threads from carrying the end out too.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        lock(&self.turn)
    }

    /// Stops the runtime once no call uses it any more, after [`Engine::end`].
    ///
    /// # Errors
    /// `Busy` when a call of another thread does not end.
    pub(crate) fn stop(&self) -> Result<()> {
        let deadline = Instant::now() + LEAVING;
        let mut guard = loop {
            match self.runtime.try_write() {
                Ok(guard) => break guard,
                Err(TryLockError::Poisoned(poisoned)) => break poisoned.into_inner(),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => thread::sleep(Duration::from_millis(1)),
                Err(TryLockError::WouldBlock) => {
                    let message = "a call of another thread has not ended after 5 s; nothing new begins, but the \
                                   runtime goes on until you call this again";
                    return Err(Error::new(ErrorKind::Busy, "shutdown", message));
                }
            }
        };
        if let Some(runtime) = guard.take() {
            runtime.shutdown_timeout(STOPPING);
        }
        *lock(&self.parkers) = Vec::new();
        Ok(())
    }
}

pub(crate) fn ended() -> Error {
    let message = "dlock_shutdown() has ended libdlock in this process; call it after everything else";
    Error::new(ErrorKind::Closed, "enter", message)
}
