//! How a thread sleeps until what it waits for wakes it: on a futex, without the way through a runtime's entry.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;

thread_local! {
    static OWN: Option<Arc<Parker>> = {
        // Values are destroyed in the reverse order of their making. With those of tokio and std made before it, this one is
        // the first to go.
        let gone = Handle::try_current().is_err_and(|error| error.is_thread_local_destroyed());
        (!gone).then(|| Arc::new(Parker::new()))
    };
}

/// A thread's sleep. It wakes the thread it was made on.
pub(crate) struct Parker {
    woken: AtomicBool,
    thread: Thread,
    /// The life of the library whose end wakes it, and one more; 0 is none.
    enlisted: AtomicU32,
}

impl Parker {
    /// The calling thread's own, made on first use. `None` on a thread that is ending: its thread-local values are destroyed,
    /// or some of them, and neither std nor tokio can do without theirs.
    pub(crate) fn of_this_thread() -> Option<Arc<Self>> {
        OWN.try_with(Option::clone).ok().flatten()
    }

    /// Whether the calling thread is ending: it has no parker.
    pub(crate) fn none_here() -> bool {
        !OWN.try_with(Option::is_some).unwrap_or(false)
    }

    fn new() -> Self {
        Self { woken: AtomicBool::new(false), thread: thread::current(), enlisted: AtomicU32::new(0) }
    }

    /// Says that the end of this process's state wakes it; false when that was said before. On its own thread.
    pub(crate) fn enlist(&self, life: u32) -> bool {
        let mark = life.wrapping_add(1);
        let new = self.enlisted.load(Ordering::Relaxed) != mark;
        if new {
            self.enlisted.store(mark, Ordering::Relaxed);
        }
        new
    }

    /// Sleeps until it is woken, and forgets that it was, or until `at`: then false. It may have been woken before. On its own
    /// thread.
    pub(crate) fn sleep(&self, at: Option<Instant>) -> bool {
        while !self.woken.swap(false, Ordering::Acquire) {
            match at.map(|at| at.saturating_duration_since(Instant::now())) {
                None => thread::park(),
                Some(Duration::ZERO) => return false,
                Some(left) => thread::park_timeout(left),
            }
        }
        true
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.woken.swap(true, Ordering::Release) {
            self.thread.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wake_before_the_sleep_counts_once() {
        let parker = Parker::of_this_thread().unwrap();
        parker.wake_by_ref();
        parker.wake_by_ref();
        assert!(parker.sleep(None));
        let at = Instant::now() + Duration::from_millis(20);
        assert!(!parker.sleep(Some(at)), "it was forgotten");
        assert!(Instant::now() >= at);
    }

    #[test]
    fn another_thread_wakes_it_before_its_time_is_over() {
        let parker = Parker::of_this_thread().unwrap();
        let theirs = parker.clone();
        let waking = thread::spawn(move || theirs.wake());
        assert!(parker.sleep(Some(Instant::now() + Duration::from_secs(60))));
        waking.join().unwrap();
    }
}
