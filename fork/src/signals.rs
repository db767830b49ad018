//! Threads that no signal reaches.

#[cfg(unix)]
use std::{mem::MaybeUninit, ptr};

/// Runs `spawn` while the calling thread blocks signals, so that threads which it makes block them for their whole life: the
/// kernel then gives a signal of the process to a thread of the program, where its handlers and `sigwait` expect it. The calling
/// thread has its mask back afterwards.
///
/// Signals that a fault of the thread itself raises stay as they are: blocked, they would end the process, and a JVM needs
/// them in each thread that runs its code.
#[cfg(unix)]
pub fn without_signals<T>(spawn: impl FnOnce() -> T) -> T {
    let _restored = Mask::block();
    spawn()
}

/// Runs `spawn`: Windows sends a thread no signals.
#[cfg(windows)]
pub fn without_signals<T>(spawn: impl FnOnce() -> T) -> T {
    spawn()
}

/// The signals that the calling thread blocked before; blocks them again, and no others, when it is dropped.
#[cfg(unix)]
struct Mask(libc::sigset_t);

#[cfg(unix)]
impl Mask {
    fn block() -> Mask {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: `sigfillset` initializes `set`, which the other calls then change and read; `pthread_sigmask` fills
        // `before` with the mask of this thread. None of them can fail with a valid set, a valid signal and a valid operation.
        unsafe {
            libc::sigfillset(set.as_mut_ptr());
            for fault in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS] {
                libc::sigdelset(set.as_mut_ptr(), fault);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), before.as_mut_ptr());
            Mask(before.assume_init())
        }
    }
}

#[cfg(unix)]
impl Drop for Mask {
    fn drop(&mut self) {
        // SAFETY: the set is the one that `pthread_sigmask` wrote in `block`.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Whether the calling thread blocks a signal.
    fn blocks(signal: libc::c_int) -> bool {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: with no new set `pthread_sigmask` only writes the mask of this thread to `set`, which is read afterwards.
        unsafe {
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr());
            libc::sigismember(set.as_ptr(), signal) == 1
        }
    }

    #[test]
    fn a_thread_blocks_signals_but_no_faults() {
        let masks =
            without_signals(|| std::thread::spawn(|| [libc::SIGTERM, libc::SIGCHLD, libc::SIGSEGV].map(blocks)));
        assert_eq!(masks.join().unwrap(), [true, true, false]);
        assert!(!blocks(libc::SIGTERM));
        // The mask comes back when the closure panics, too.
        assert!(std::panic::catch_unwind(|| without_signals(|| panic!("no thread"))).is_err());
        assert!(!blocks(libc::SIGTERM));
    }
}
