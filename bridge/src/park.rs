//! How a thread sleeps until what it waits for wakes it: on a futex, without the way through a runtime's entry.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Wake;
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// A thread's sleep. It wakes the thread it was made on.
pub(crate) struct Parker {
    woken: AtomicBool,
    thread: Thread,
}

impl Parker {
    /// The calling thread's own, made on first use.
    pub(crate) fn of_this_thread() -> Arc<Self> {
        thread_local! {
            static OWN: Arc<Parker> = Arc::new(Parker::new());
        }
        // A thread that is ending has none to keep.
        OWN.try_with(Arc::clone).unwrap_or_else(|_| Arc::new(Self::new()))
    }

    fn new() -> Self {
        Self { woken: AtomicBool::new(false), thread: thread::current() }
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
        let parker = Parker::of_this_thread();
        parker.wake_by_ref();
        parker.wake_by_ref();
        assert!(parker.sleep(None));
        let at = Instant::now() + Duration::from_millis(20);
        assert!(!parker.sleep(Some(at)), "it was forgotten");
        assert!(Instant::now() >= at);
    }

    #[test]
    fn another_thread_wakes_it_before_its_time_is_over() {
        let parker = Parker::of_this_thread();
        let theirs = parker.clone();
        let waking = thread::spawn(move || theirs.wake());
        assert!(parker.sleep(Some(Instant::now() + Duration::from_secs(60))));
        waking.join().unwrap();
    }
}
