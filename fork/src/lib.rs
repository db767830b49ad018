//! Noticing a fork: a counter that the child's `pthread_atfork` handler raises, for libdlock's core and bridge.
//!
//! What libdlock keeps for the whole process hangs off a [`PerProcess`], which a forked child makes anew. Asking `getpid` on
//! every call would cost 100 ns and more; reading a counter costs one. A crate of its own, because this needs unsafe code, and
//! the core, which must not make ids in a forked child that its parent makes too, forbids it.
//!
//! [`at_thread_end`] and [`without_signals`] are here for the same reason.

mod signals;
mod thread_end;

use std::convert::Infallible;
use std::ptr;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

pub use self::signals::without_signals;
pub use self::thread_end::{at_thread_end, no_thread_ends};

static GENERATION: AtomicU32 = AtomicU32::new(0);
#[cfg(unix)]
static WATCHING: AtomicBool = AtomicBool::new(false);

/// How many times the line of processes that ends in this one has forked since [`watch`] was first called.
#[inline]
pub fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Starts the count; called again it does nothing.
///
/// # Errors
/// Only when the C library has no memory for one more handler.
pub fn watch() -> std::io::Result<()> {
    #[cfg(unix)]
    watch_forks()?;
    // Nothing forks on Windows.
    Ok(())
}

#[cfg(unix)]
fn watch_forks() -> std::io::Result<()> {
    // No `Once`: a thread that was inside one when the process forked would leave it locked for ever in the child. Two
    // threads that come here together both register, and every fork then counts twice, which is as good.
    if WATCHING.load(Ordering::Acquire) {
        return Ok(());
    }
    // SAFETY: the handler lives as long as the process (libdlock.so is linked with `-z nodelete`, and the C library drops
    // the handlers of other libraries when it unloads them) and does only what is allowed between fork and exec: it adds to
    // an atomic.
    let code = unsafe { libc::pthread_atfork(None, None, Some(forked)) };
    if code != 0 {
        return Err(std::io::Error::from_raw_os_error(code));
    }
    WATCHING.store(true, Ordering::Release);
    Ok(())
}

#[cfg(unix)]
extern "C" fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// One `T` for each process of a line of forks. What the parent had is leaked in the child: its locks may be held by
/// threads that are not there any more, so it can neither be used nor dropped. No lock guards the way to it either.
pub struct PerProcess<T: 'static> {
    current: AtomicPtr<Born<T>>,
}

impl<T: Send + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

struct Born<T> {
    generation: u32,
    value: T,
}

impl<T: Send + Sync> PerProcess<T> {
    /// None yet.
    pub const fn new() -> Self {
        Self { current: AtomicPtr::new(ptr::null_mut()) }
    }

    /// This process's value, if it has been made.
    pub fn get(&self) -> Option<&'static T> {
        Self::alive(self.current.load(Ordering::Acquire)).map(|born| &born.value)
    }

    /// This process's value. Should several threads come first together, each makes one and all get the same.
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &'static T {
        match self.get_or_try_init(|_| Ok::<T, Infallible>(make())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// This process's value; `make` is told the fork generation. Should several threads come first together, each makes
    /// one and all get the same.
    pub fn get_or_try_init<E>(&self, make: impl FnOnce(u32) -> Result<T, E>) -> Result<&'static T, E> {
        let seen = self.current.load(Ordering::Acquire);
        if let Some(born) = Self::alive(seen) {
            return Ok(&born.value);
        }
        self.make(seen, make)
    }

    /// Puts another value in the place of `seen`, which stays where it is for those that have it. If several threads do so for
    /// the same value, each makes one and all get the same.
    pub fn replace<E>(&self, seen: &'static T, make: impl FnOnce(u32) -> Result<T, E>) -> Result<&'static T, E> {
        let current = self.current.load(Ordering::Acquire);
        match Self::alive(current) {
            Some(born) if !ptr::eq(&raw const born.value, seen) => Ok(&born.value),
            _ => self.make(current, make),
        }
    }

    /// A function by itself, and under this name in every build: suppressions of leak checkers find what is never freed by it.
    #[cold]
    #[inline(never)]
    fn make<E>(&self, seen: *mut Born<T>, make: impl FnOnce(u32) -> Result<T, E>) -> Result<&'static T, E> {
        let generation = generation();
        let value = make(generation)?;
        let fresh = Box::into_raw(Box::new(Born { generation, value }));
        match self.current.compare_exchange(seen, fresh, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: `fresh` came from `Box::into_raw` just above and, once published, is never freed.
            Ok(_) => Ok(unsafe { &(*fresh).value }),
            Err(winner) => {
                // SAFETY: `fresh` was not published, so this is the only pointer to it.
                drop(unsafe { Box::from_raw(fresh) });
                // SAFETY: only published, never freed pointers are ever stored, and null is never stored again.
                Ok(unsafe { &(*winner).value })
            }
        }
    }

    fn alive(pointer: *mut Born<T>) -> Option<&'static Born<T>> {
        // SAFETY: null, or published by `get_or_try_init`, which never frees what it published.
        let born = unsafe { pointer.as_ref::<'static>() }?;
        (born.generation == generation()).then_some(born)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_child_counts_one_more_and_its_parent_does_not() {
        watch().unwrap();
        let before = generation();
        // SAFETY: the child does nothing but read an atomic and leave with `_exit`, both allowed after a fork in a process
        // with threads.
        let child = unsafe {
            let pid = libc::fork();
            if pid == 0 {
                libc::_exit(i32::from(generation() == before));
            }
            pid
        };
        let mut status = -1;
        // SAFETY: waits for the child made above; `status` outlives the call.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child saw the parent's generation");
        assert_eq!(generation(), before);
    }

    /// The values that eight threads get at the same time; each gives its number.
    fn of_eight_threads(get: impl Fn(u32) -> &'static u32 + Sync) -> Vec<&'static u32> {
        let (start, get) = (&std::sync::Barrier::new(8), &get);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|n| {
                    scope.spawn(move || {
                        start.wait();
                        get(n)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }

    #[test]
    fn threads_that_come_first_together_get_the_same_value() {
        static VALUE: PerProcess<u32> = PerProcess::new();
        assert_eq!(VALUE.get(), None);
        let seen = of_eight_threads(|n| VALUE.get_or_try_init(|_| Ok::<_, ()>(n)).unwrap());
        assert!(seen.iter().all(|value| std::ptr::eq(*value, seen[0])));
        assert!(std::ptr::eq(VALUE.get().unwrap(), seen[0]));
        assert_eq!(VALUE.get_or_try_init(|_| Err(())), Ok(seen[0]), "made once");
    }

    #[test]
    fn threads_that_replace_a_value_together_get_the_same() {
        static VALUE: PerProcess<u32> = PerProcess::new();
        let first = VALUE.get_or_init(|| 100);
        assert_eq!(VALUE.replace(first, |_| Err(())), Err(()));
        let seen = of_eight_threads(|n| VALUE.replace(first, |_| Ok::<_, ()>(n)).unwrap());
        assert!(seen.iter().all(|value| std::ptr::eq(*value, seen[0])));
        assert_eq!((VALUE.get(), *first), (Some(seen[0]), 100));
    }
}
