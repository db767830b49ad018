//! A forked child has no part in what its parent has fetched ahead: both would use the same tokens.
//!
//! In a process to itself: a fork takes only the calling thread along.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use libdlock::limit::LimiterOptions;
use libdlock::{Client, ErrorKind, Rate, RateLimiter};

#[test]
fn a_child_uses_nothing_that_its_parent_has_fetched() {
    libdlock_testkit::own_process!();
    let client = Client::blocking_connect("memory://").unwrap();
    let rate = Rate::new(1_000_000, Duration::from_secs(1));
    let limiter = client.rate_limiter_with("api", LimiterOptions::new(rate).prefetch(0.1)).unwrap();
    let fetched = (0..1_000).any(|_| {
        assert!(client.block_on(limiter.try_acquire(1)).unwrap().allowed);
        limiter.try_acquire_now(1).is_some()
    });
    assert!(fetched);
    // SAFETY: the child runs only this test's code on its one thread and leaves by `_exit`. The allocator is usable in it:
    // glibc and musl see to that.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: no handler is installed, so the signal ends a child that hangs.
        unsafe { libc::alarm(20) };
        let code = std::panic::catch_unwind(AssertUnwindSafe(|| in_the_child(&client, limiter))).map_or(1, |()| 0);
        // SAFETY: ends the child without running the parent's exit handlers.
        unsafe { libc::_exit(code) };
    }
    let mut status = -1;
    // SAFETY: waits for the child made above; `status` outlives the call.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child's assertions failed, or it hung; see above");
}

fn in_the_child(client: &Client, limiter: RateLimiter) {
    assert!(limiter.try_acquire_now(1).is_none());
    assert_eq!(client.block_on(limiter.try_acquire(1)).unwrap_err().kind(), ErrorKind::Forked);
    drop(limiter);
}
